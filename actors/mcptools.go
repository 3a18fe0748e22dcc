package actors

// mcpTools are the tools of the agent's MCP servers.
func (a *shell) mcpTools() []Tool { return nil }
