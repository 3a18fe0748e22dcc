import { getToolName, type DynamicToolUIPart, type ToolUIPart } from "ai";
import { Chevron, Tool } from "../icons";

type AnyTool = ToolUIPart | DynamicToolUIPart;

const STATE_WORDS: Record<AnyTool["state"], string> = {
  "input-streaming": "Preparing…",
  "input-available": "Running…",
  "approval-requested": "Needs your approval",
  "approval-responded": "Answered",
  "output-available": "Done",
  "output-error": "Failed",
  "output-denied": "Denied",
};

export function ToolPart({ part, onApprove }: { part: AnyTool; onApprove: (approvalId: string, approved: boolean) => void }) {
  const running = part.state === "input-streaming" || part.state === "input-available";
  return (
    <div className="tool" data-testid="tool" data-state={part.state}>
      <details>
        <summary>
          <Tool />
          <span className="tool-name">{part.title ?? getToolName(part)}</span>
          <span className={running ? "tool-state shimmer" : "tool-state"}>{STATE_WORDS[part.state]}</span>
          <Chevron />
        </summary>
        <dl>
          <Value label="Input" value={part.input} />
          {part.state === "output-available" && <Value label={part.preliminary ? "Output so far" : "Output"} value={part.output} />}
          {part.state === "output-error" && <Value label="Error" value={part.errorText} />}
        </dl>
      </details>
      {part.state === "approval-requested" && (
        <div className="row approval">
          <button type="button" className="primary" onClick={() => onApprove(part.approval.id, true)} data-testid="approve">
            Approve
          </button>
          <button type="button" onClick={() => onApprove(part.approval.id, false)} data-testid="deny">
            Deny
          </button>
        </div>
      )}
    </div>
  );
}

function Value({ label, value }: { label: string; value: unknown }) {
  if (value === undefined) return null;
  return (
    <>
      <dt>{label}</dt>
      <dd>
        <pre tabIndex={0}>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
      </dd>
    </>
  );
}
