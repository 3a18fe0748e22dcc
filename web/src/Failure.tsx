import { Component, type ReactNode } from "react";
import { openNewRoom } from "./place";

/** Shows what went wrong in words where a room cannot be opened at all. */
export class Failure extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <main className="failure" role="alert" data-testid="failure">
        <h1>This conversation cannot be shown</h1>
        <p>{this.state.error.message}</p>
        <p className="row">
          <button type="button" className="primary" onClick={() => location.reload()}>
            Try again
          </button>
          <button type="button" onClick={openNewRoom}>
            New chat
          </button>
        </p>
      </main>
    );
  }
}
