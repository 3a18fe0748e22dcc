import type { Connection } from "./connection";
import { Broom, Mark, Moon, Plus, Sun } from "./icons";
import { useTheme } from "./theme";

interface HeaderProps {
  connection: Connection;
  model?: string;
  agents?: string[];
  agent?: string;
  onAgent?: (agent: string) => void;
  onNewChat?: () => void;
  onClear?: () => void;
}

export function Header({ connection, model, agents = [], agent, onAgent, onNewChat, onClear }: HeaderProps) {
  const { theme, toggle } = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="header">
      <div className="brand">
        <Mark />
        <strong>Holdfast</strong>
        {agents.length > 1 ? (
          <select aria-label="Agent" value={agent} onChange={(event) => onAgent?.(event.target.value)}>
            {agents.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        ) : (
          model && <span className="model">{model}</span>
        )}
      </div>
      <ConnectionState connection={connection} />
      <div className="actions">
        <button type="button" className="quiet" onClick={onNewChat} disabled={!onNewChat} aria-label="New chat" data-testid="new-chat">
          <Plus />
          <span className="wide-only">New chat</span>
        </button>
        <button type="button" className="quiet icon" onClick={onClear} disabled={!onClear} aria-label="Clear the conversation" title="Clear the conversation" data-testid="clear">
          <Broom />
        </button>
        <button type="button" className="quiet icon" onClick={toggle} aria-label={`Switch to the ${other} theme`} title={`Switch to the ${other} theme`} data-testid="theme">
          {theme === "dark" ? <Sun /> : <Moon />}
        </button>
      </div>
    </header>
  );
}

const CONNECTION_WORDS: Record<Connection, string> = {
  connecting: "Connecting…",
  connected: "Connected",
  reconnecting: "Reconnecting…",
  refused: "Not connected",
};

function ConnectionState({ connection }: { connection: Connection }) {
  return (
    <span className="connection" role="status" data-testid="connection" data-state={connection}>
      <span className="dot" aria-hidden="true" />
      <span>{CONNECTION_WORDS[connection]}</span>
    </span>
  );
}
