import { isDataUIPart, isToolUIPart, type UIMessage } from "ai";

/** Whether a message has anything to look at yet. */
export function isVisible(message: UIMessage): boolean {
  return message.parts.some((part) => isToolUIPart(part) || isDataUIPart(part) || part.type === "file" || ((part.type === "text" || part.type === "reasoning") && part.text !== ""));
}

/** Whether the last words were begun and never ended: the mark that a stopped turn leaves in its message. */
export function hasUnfinishedText(message: UIMessage): boolean {
  const spoken = message.parts.findLast((part) => part.type === "text" || part.type === "reasoning");
  return spoken?.state === "streaming";
}

/** Whether a message ends with a call, behind which its turn may go on. */
export function endsWithCall(message: UIMessage): boolean {
  const last = message.parts.findLast((part) => part.type !== "step-start");
  return last !== undefined && isToolUIPart(last);
}
