import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import { plainText } from "./parts/plainText";
import { titleOf } from "./parts/Value";
import { clientTools } from "./tools/clientTools";
import type { Phase, Turn } from "./turn";

/** Longer answers are announced by their beginning; the rest is in the conversation. */
const SPOKEN_CHARS = 600;

const PHASE_WORDS: Partial<Record<Phase, string>> = {
  waiting: "Waiting for the answer.",
  recovering: "The answer is being picked up where it left off.",
  interrupted: "The connection is gone. The answer goes on when it is back.",
};

/** What a call asks of the visitor. */
function question(part: UIMessage["parts"][number]): string[] {
  if (!isToolUIPart(part)) return [];
  const name = part.title ?? titleOf(getToolName(part));
  if (part.state === "approval-requested") return [`${name} needs your approval.`];
  return part.state === "input-available" && clientTools[getToolName(part)]?.Ask ? [`${name} waits for you.`] : [];
}

/** Tells screen readers how the turn goes, and reads the answer once it is complete instead of in pieces. */
export function Announcer({ turn }: { turn: Turn }) {
  const [words, setWords] = useState("");
  const before = useRef<Phase>("idle");
  useEffect(() => {
    const was = before.current;
    before.current = turn.phase;
    if (was === turn.phase) return;
    const last = turn.messages.at(-1);
    if (turn.phase !== "idle") setWords(PHASE_WORDS[turn.phase] ?? "");
    else if (!turn.error && last?.role === "assistant") setWords([plainText(last).slice(0, SPOKEN_CHARS), ...last.parts.flatMap(question)].join(" "));
  }, [turn]);
  return (
    <p className="sr-only" role="status">
      {words}
    </p>
  );
}
