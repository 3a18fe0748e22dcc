// The agent's MCP servers, as the node tells their states.
import type { MCPServersState } from "agents";

export interface McpServer {
  id: string;
  name: string;
  state: string;
  error: string | null;
  tools: number;
}

export function mcpServers(told: MCPServersState): McpServer[] {
  return Object.entries(told.servers).map(([id, server]) => ({
    id,
    name: server.name,
    state: server.state,
    error: server.error,
    tools: told.tools.filter((tool) => tool.serverId === id).length,
  }));
}
