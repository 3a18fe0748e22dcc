import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import type { Connection } from "./connection";
import { ArrowUp, Square } from "./icons";
import type { Phase } from "./turn";

interface ComposerProps {
  room: string;
  phase: Phase;
  connection: Connection;
  onSend: (text: string) => void;
  onStop: () => void;
}

export function Composer({ room, phase, connection, onSend, onStop }: ComposerProps) {
  const [text, setText] = useDraft(room);
  const box = useAutosize(text);
  const busy = phase !== "idle";
  const ready = !busy && connection === "connected";

  const send = () => {
    if (!ready || text.trim() === "") return;
    onSend(text.trim());
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While an input method composes a word, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  const stop = () => {
    onStop();
    box.current?.focus();
  };

  return (
    <footer className="foot">
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <textarea
          ref={box}
          rows={1}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder="Write a message"
          aria-label="Message"
          aria-describedby="composer-hint"
          data-testid="composer"
        />
        {busy ? (
          <button type="button" className="round stop" onClick={stop} disabled={connection !== "connected"} aria-label="Stop the answer" title="Stop" data-testid="stop">
            <Square />
          </button>
        ) : (
          <button type="submit" className="round" disabled={!ready || text.trim() === ""} aria-label="Send" title="Send" data-testid="send">
            <ArrowUp />
          </button>
        )}
      </form>
      <p className="hint" id="composer-hint">
        {hint(phase, connection)}
      </p>
    </footer>
  );
}

function hint(phase: Phase, connection: Connection): string {
  if (connection === "refused") return "The node closed this conversation and does not want to be called again.";
  if (connection === "reconnecting") return "You can send again as soon as the connection is back. What you write here is kept.";
  if (phase !== "idle") return "You can write on; the next message goes out when the answer is complete.";
  return "Enter sends, Shift + Enter starts a new line";
}

/** What was typed but not sent, kept for this tab and room, so that a reload does not lose it. */
function useDraft(room: string): [string, (text: string) => void] {
  const key = `holdfast-draft:${room}`;
  const [text, setText] = useState(() => read(key));
  useEffect(() => {
    try {
      if (text) sessionStorage.setItem(key, text);
      else sessionStorage.removeItem(key);
    } catch {
      // Storage may be blocked or full; the text is still in the box.
    }
  }, [key, text]);
  return [text, setText];
}

function read(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Lets the box grow with its text up to the style sheet's max-height, and focuses it where that does not open a keyboard on the screen. */
function useAutosize(text: string) {
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight}px`;
  }, [text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, []);
  return box;
}
