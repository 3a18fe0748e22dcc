import type { UIMessage } from "ai";
import { joinedTexts } from "./joined";

/** The words of a message, without reasoning and tools. */
export function plainText(message: UIMessage): string {
  return joinedTexts(message.parts).flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("\n\n");
}
