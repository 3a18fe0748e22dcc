import { useState } from "react";
import { Chevron } from "../icons";
import { Markdown } from "./Markdown";

/** Open while the model thinks, closed once it speaks, unless the reader has decided otherwise. */
export function Reasoning({ text, live }: { text: string; live: boolean }) {
  const [choice, setChoice] = useState<boolean | null>(null);
  const open = choice ?? live;
  return (
    <details className="reasoning" open={open} data-testid="reasoning">
      <summary
        onClick={(event) => {
          event.preventDefault();
          setChoice(!open);
        }}
      >
        <Chevron />
        {live ? <span className="shimmer">Thinking…</span> : "Thought it over"}
      </summary>
      <Markdown text={text} live={live} />
    </details>
  );
}
