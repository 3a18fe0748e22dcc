import { DefaultChatTransport } from "ai-6";
import { useChat } from "ai-sdk-react-3";
import { start } from "./page.jsx";

void start({ useChat, DefaultChatTransport });
