import { getToolName, type DynamicToolUIPart, type ToolUIPart } from "ai";
import { useState } from "react";
import { Chevron, Tool } from "../icons";
import { clientTools } from "../tools/clientTools";
import { Approval } from "./Approval";
import { progressOf } from "./progress";
import { brief, titleOf, Value } from "./Value";

export type AnyTool = ToolUIPart | DynamicToolUIPart;

export interface ToolActions {
  /** Decides on a call that waits for approval; a reason goes with a denial only. */
  approve: (call: { toolCallId: string; approvalId: string }, approved: boolean, reason?: string) => void;
  /** Gives a call of the page's own its output. */
  answer: (call: { toolCallId: string; toolName: string }, output: unknown) => void;
}

interface ToolPartProps extends ToolActions {
  part: AnyTool;
  /** The turn that this call belongs to is going on. */
  going: boolean;
  /** The node can be told something at the moment. */
  connected: boolean;
}

export function ToolPart({ part, going, connected, approve, answer }: ToolPartProps) {
  const name = getToolName(part);
  const asked = part.state === "approval-requested";
  const [choice, setChoice] = useState<boolean | null>(null);
  const open = choice ?? asked; // who decides sees what about
  const working = going && ["input-streaming", "input-available", "approval-responded"].includes(part.state);
  const Ask = part.state === "input-available" ? clientTools[name]?.Ask : undefined;
  return (
    <div className="tool" data-testid="tool" data-tool={name} data-state={part.state} data-call={part.toolCallId} data-preliminary={isPreliminary(part) || undefined}>
      <details open={open}>
        <summary
          onClick={(event) => {
            event.preventDefault();
            setChoice(!open);
          }}
        >
          <Tool />
          <span className="tool-name">{part.title ?? titleOf(name)}</span>
          <span className="tool-brief">{open || Ask ? "" : brief(part.input)}</span>
          <span className={working || isPreliminary(part) ? "tool-state shimmer" : "tool-state"}>{stateWords(part, going)}</span>
          <Chevron />
        </summary>
        <dl>
          <Value label="Input" value={part.input} />
          {part.state === "output-available" && <Value label={part.preliminary ? "Output so far" : "Output"} value={part.output} />}
        </dl>
      </details>
      {isPreliminary(part) && going && <Progress output={part.output} />}
      {part.state === "output-error" && <p className="tool-note failed" data-testid="tool-error">{part.errorText}</p>}
      {part.state === "output-denied" && part.approval?.reason && <p className="tool-note" data-testid="tool-reason">“{part.approval.reason}”</p>}
      {asked && <Approval disabled={!connected} onDecide={(approved, reason) => approve({ toolCallId: part.toolCallId, approvalId: part.approval.id }, approved, reason)} />}
      {Ask && <Ask input={part.input} disabled={!connected} onAnswer={(output) => answer({ toolCallId: part.toolCallId, toolName: name }, output)} />}
    </div>
  );
}

function isPreliminary(part: AnyTool): part is AnyTool & { state: "output-available" } {
  return part.state === "output-available" && part.preliminary === true;
}

/** The node says when a call has been cut off; until it does, a call of a turn that has ended waits for someone. */
function stateWords(part: AnyTool, going: boolean): string {
  switch (part.state) {
    case "input-streaming":
      return going ? "Preparing…" : "Cut off";
    case "input-available":
      if (clientTools[getToolName(part)]?.Ask) return "Waiting for you";
      return going ? "Running…" : "Waiting";
    case "approval-requested":
      return "Needs your approval";
    case "approval-responded":
      if (!part.approval.approved) return "Denied"; // until the node has said so
      return going ? "Approved, running…" : "Approved";
    case "output-available":
      if (part.preliminary) return going ? "Running…" : "Cut off";
      return "Done";
    case "output-error":
      return "Failed";
    case "output-denied":
      return "Denied";
  }
}

function Progress({ output }: { output: unknown }) {
  const { fraction, text } = progressOf(output);
  return (
    <div className="tool-progress" data-testid="tool-progress">
      {fraction !== undefined && <progress max={1} value={fraction} aria-label="Progress" />}
      {text && <span>{text}</span>}
    </div>
  );
}
