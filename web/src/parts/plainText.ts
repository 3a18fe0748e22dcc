import type { UIMessage } from "ai";

/** The words of a message, without reasoning and tools. */
export function plainText(message: UIMessage): string {
  return message.parts.flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("\n\n");
}
