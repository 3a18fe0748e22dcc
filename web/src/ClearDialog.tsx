import { useEffect, useRef } from "react";

export function ClearDialog({ open, onClose, onClear }: { open: boolean; onClose: () => void; onClear: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} className="dialog" onClose={onClose} aria-labelledby="clear-title" data-testid="clear-dialog">
      <h2 id="clear-title">Clear this conversation?</h2>
      <p>All of its messages are deleted, in every tab. An answer that is being written stops.</p>
      <div className="row">
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button
          type="button"
          className="danger"
          data-testid="clear-confirm"
          onClick={() => {
            onClear();
            onClose();
          }}
        >
          Clear
        </button>
      </div>
    </dialog>
  );
}
