import { useId, useState, type KeyboardEvent } from "react";

/** Approve, or deny with or without a reason, which the model is told. */
export function Approval({ disabled, onDecide }: { disabled: boolean; onDecide: (approved: boolean, reason?: string) => void }) {
  const [reason, setReason] = useState<string | null>(null);
  const id = useId();
  if (reason !== null) {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Escape") setReason(null);
    };
    return (
      <form
        className="approval"
        onKeyDown={onKeyDown}
        onSubmit={(event) => {
          event.preventDefault();
          onDecide(false, reason.trim() || undefined);
        }}
      >
        <label htmlFor={id}>Why not? The assistant is told.</label>
        <div className="row">
          <input id={id} autoFocus maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} data-testid="deny-reason" />
          <button type="submit" disabled={disabled} data-testid="deny-confirm">
            Deny
          </button>
          <button type="button" className="quiet" onClick={() => setReason(null)}>
            Back
          </button>
        </div>
      </form>
    );
  }
  return (
    <div className="row approval" role="group" aria-label="Approval">
      <button type="button" className="primary" disabled={disabled} onClick={() => onDecide(true)} data-testid="approve">
        Approve
      </button>
      <button type="button" disabled={disabled} onClick={() => onDecide(false)} data-testid="deny">
        Deny
      </button>
      <button type="button" className="quiet" disabled={disabled} onClick={() => setReason("")} data-testid="deny-with-reason">
        Deny with a reason…
      </button>
    </div>
  );
}
