import type { UIMessage } from "ai";
import { Again, Alert } from "./icons";
import { Message, type MessageStatus } from "./Message";
import { joinedMessages } from "./parts/joined";
import { hasUnfinishedText, isVisible } from "./parts/visible";
import type { Phase, Turn } from "./turn";

/** What the line below the messages says while a turn is going on but no words come. */
const WAITING_WORDS: Record<Phase, string> = {
  idle: "",
  streaming: "",
  waiting: "Thinking…",
  recovering: "Picking up where it left off…",
  interrupted: "The connection is gone. The answer goes on by itself when it is back.",
};

export function Messages({ turn }: { turn: Turn }) {
  const messages = joinedMessages(turn.messages, turn.phase !== "idle");
  const last = messages.at(-1);
  const answering = last?.role === "assistant";
  // After a failure "Try again" does the same.
  const canRegenerate = turn.phase === "idle" && turn.connection === "connected" && !turn.error;
  const words = WAITING_WORDS[turn.phase] || (turn.phase === "streaming" && !(answering && isVisible(last)) ? WAITING_WORDS.waiting : "");
  return (
    <>
      <h1 className="sr-only">Conversation</h1>
      <ol className="messages" role="list" data-testid="messages">
        {messages.map((message) => {
          const isLast = message === last;
          return (
            <Message
              key={message.id}
              message={message}
              status={statusOf(message, isLast, turn)}
              connected={turn.connection === "connected"}
              actions={turn.tools}
              onRegenerate={isLast && answering && canRegenerate ? turn.regenerate : undefined}
            />
          );
        })}
      </ol>
      {words && (
        <p className="waiting" data-testid="waiting" data-phase={turn.phase}>
          <span className="dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          {words}
        </p>
      )}
      {turn.error && <TurnError text={turn.error} onRetry={turn.connection === "connected" ? turn.regenerate : undefined} />}
    </>
  );
}

function statusOf(message: UIMessage, isLast: boolean, turn: Turn): MessageStatus {
  if (message.role !== "assistant") return "done";
  if (isLast && turn.phase !== "idle") return "streaming";
  if (isLast && turn.error) return "failed";
  return hasUnfinishedText(message) ? "stopped" : "done";
}

function TurnError({ text, onRetry }: { text: string; onRetry?: () => void }) {
  return (
    <div className="error" role="alert" data-testid="error">
      <Alert />
      <div>
        <strong>The answer could not be finished.</strong>
        <p data-testid="error-text">{text}</p>
      </div>
      <button type="button" onClick={onRetry} disabled={!onRetry} data-testid="retry">
        <Again />
        Try again
      </button>
    </div>
  );
}
