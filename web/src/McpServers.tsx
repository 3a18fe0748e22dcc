import { Chevron, Plug } from "./icons";
import type { McpServer } from "./mcp";

const STATE_WORDS: Record<string, string> = {
  authenticating: "asks for a sign-in",
  connecting: "connecting…",
  connected: "connected",
  discovering: "looking for tools…",
  ready: "ready",
  failed: "failed",
  "not-connected": "not connected",
};

/** Where the agent's foreign tools come from. Nothing if there are no such servers. */
export function McpServers({ servers }: { servers: McpServer[] }) {
  if (servers.length === 0) return null;
  const ready = servers.filter(({ state }) => state === "ready").length;
  return (
    <details className="mcp" data-testid="mcp">
      <summary>
        <Plug />
        {ready === servers.length ? `MCP servers: ${ready}` : `MCP servers: ${ready} of ${servers.length} ready`}
        <Chevron />
      </summary>
      <ul>
        {servers.map(({ id, name, state, error, tools }) => (
          <li key={id} data-testid="mcp-server" data-state={state}>
            <span className="dot" aria-hidden="true" />
            <strong>{name}</strong>
            <span>
              {STATE_WORDS[state] ?? state}
              {state === "ready" && (tools === 1 ? ", 1 tool" : `, ${tools} tools`)}
            </span>
            {error && <small>{error}</small>}
          </li>
        ))}
      </ul>
    </details>
  );
}
