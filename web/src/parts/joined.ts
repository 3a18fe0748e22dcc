import { isToolUIPart, type UIMessage } from "ai";
import { endsWithCall, hasUnfinishedText } from "./visible";

type Part = UIMessage["parts"][number];

/**
 * An answer that was cut off goes on in a part of its own, in the middle of a sentence: texts with nothing but the mark of a step
 * between them are one text.
 */
export function joinedTexts(parts: Part[]): Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    if (part.type === "step-start") continue;
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text") joined[joined.length - 1] = { ...last, text: last.text + part.text, state: part.state };
    else joined.push(part);
  }
  return joined;
}

/**
 * While such an answer goes on, or one whose call has been answered, the hook holds what was added as a message of its own, until the
 * whole is stored. Shown are both as the one that they will be.
 */
export function joinedMessages(messages: UIMessage[], goingOn: boolean): UIMessage[] {
  const [before, last] = messages.slice(-2);
  if (!goingOn || before?.role !== "assistant" || last?.role !== "assistant") return messages;
  if (!hasUnfinishedText(before) && !endsWithCall(before)) return messages;
  return [...messages.slice(0, -2), { ...before, parts: withAdded(before.parts, last.parts) }];
}

/** The outcome of a call comes behind the call once more; it is shown in its place. */
function withAdded(parts: Part[], added: Part[]): Part[] {
  const news = new Map(added.flatMap((part) => (isToolUIPart(part) ? [[part.toolCallId, part]] : [])));
  const old = new Set(parts.flatMap((part) => (isToolUIPart(part) ? [part.toolCallId] : [])));
  return [...parts.map((part) => (isToolUIPart(part) ? (news.get(part.toolCallId) ?? part) : part)), ...added.filter((part) => !isToolUIPart(part) || !old.has(part.toolCallId))];
}
