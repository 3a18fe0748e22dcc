import { useId, useState } from "react";
import type { AskProps } from "./clientTools";

const COLORS = ["#17705a", "#2f6fb0", "#7a4fa3", "#b5483a", "#c28a1c"];

/** The visitor picks a colour. */
export function PickColor({ input, disabled, onAnswer }: AskProps) {
  const [color, setColor] = useState(COLORS[0]!);
  const id = useId();
  return (
    <form
      className="approval"
      data-testid="pick-color"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ color });
      }}
    >
      <label htmlFor={id}>{question(input)}</label>
      <div className="row">
        {COLORS.map((value) => (
          <button key={value} type="button" className="swatch" aria-label={value} aria-pressed={value === color} onClick={() => setColor(value)}>
            <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
              <circle cx="8" cy="8" r="8" fill={value} />
            </svg>
          </button>
        ))}
        <input id={id} type="color" value={color} onChange={(event) => setColor(event.target.value)} />
      </div>
      <div className="row">
        <button type="submit" className="primary" disabled={disabled} data-testid="color-send">
          Take this one
        </button>
        <button type="button" className="quiet" disabled={disabled} onClick={() => onAnswer({ declined: true })} data-testid="color-decline">
          None of them
        </button>
      </div>
    </form>
  );
}

function question(input: unknown): string {
  const asked = typeof input === "object" && input !== null ? (input as Record<string, unknown>)["question"] : undefined;
  return typeof asked === "string" && asked !== "" ? asked : "Which colour?";
}
