import type { DataUIPart } from "ai";
import { Chevron, Data } from "../icons";
import { brief, titleOf, Value } from "./Value";

type AnyData = DataUIPart<Record<string, unknown>>;

/** Data of a kind that only the agent's own page would know how to draw: its name, and what is in it. */
export function DataPart({ part }: { part: AnyData }) {
  const name = part.type.slice("data-".length);
  return (
    <div className="tool" data-testid="data" data-name={name}>
      <details>
        <summary>
          <Data />
          <span className="tool-name">{titleOf(name)}</span>
          <span className="tool-brief">{brief(part.data)}</span>
          <Chevron />
        </summary>
        <dl>
          <Value label="Data" value={part.data} />
        </dl>
      </details>
    </div>
  );
}
