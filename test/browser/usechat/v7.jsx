import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { start } from "./page.jsx";

void start({ useChat, DefaultChatTransport });
