import type { UIMessage } from "ai";
import { memo, useEffect, useState } from "react";
import { Again, Check, Copy } from "./icons";
import { Parts } from "./parts/Parts";
import { plainText } from "./parts/plainText";
import type { ToolActions } from "./parts/ToolPart";
import { cutShort, usageOf } from "./usage";

export type MessageStatus = "streaming" | "done" | "stopped" | "failed";

interface MessageProps {
  message: UIMessage;
  status: MessageStatus;
  /** The node can be told something at the moment. */
  connected: boolean;
  actions: ToolActions;
  /** Present where the message can be answered anew. */
  onRegenerate?: () => void;
}

/** The handlers are new in each render but do the same; a message is drawn again only if what it shows has changed. */
export const Message = memo(MessageBody, (a, b) => a.message === b.message && a.status === b.status && a.connected === b.connected && !a.onRegenerate === !b.onRegenerate);

function MessageBody({ message, status, connected, actions, onRegenerate }: MessageProps) {
  const mine = message.role === "user";
  const text = plainText(message);
  const usage = mine ? "" : usageOf(message);
  const cut = mine || status === "streaming" ? "" : cutShort(message);
  return (
    <li className={`message ${mine ? "mine" : "theirs"}`} data-testid="message" data-role={message.role} data-status={status} data-id={message.id}>
      <span className="sr-only">{mine ? "You said:" : "The assistant said:"}</span>
      <Parts message={message} streaming={status === "streaming"} connected={connected} {...actions} />
      {status === "stopped" && <p className="stopped">Stopped here.</p>}
      {cut && <p className="stopped">{cut}</p>}
      {!mine && status !== "streaming" && (
        <div className="tools">
          {text && <CopyButton text={text} />}
          {onRegenerate && (
            <button type="button" className="quiet small" onClick={onRegenerate} data-testid="regenerate">
              <Again />
              Regenerate
            </button>
          )}
          {usage && (
            <span className="usage" data-testid="usage">
              {usage}
            </span>
          )}
        </div>
      )}
    </li>
  );
}

function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  // Only a secure context has a clipboard; a node on plain http in the local network has none.
  if (!navigator.clipboard) return null;
  return (
    <button type="button" className="quiet small" onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}>
      {copied ? <Check /> : <Copy />}
      {copied ? "Copied" : "Copy"}
    </button>
  );
}
