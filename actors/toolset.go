package actors

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
)

// toolSet is what a turn offers its model. A tool that is added later takes the
// place of an earlier one of its name.
type toolSet struct{ tools []Tool }

func (s *toolSet) add(log *slog.Logger, tools ...Tool) {
	for _, t := range tools {
		if i := s.find(t.Name); i >= 0 {
			log.Debug("a tool replaces an earlier one", "tool", t.Name)
			s.tools[i] = t
			continue
		}
		s.tools = append(s.tools, t)
	}
}

func (s *toolSet) find(name string) int {
	return slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == name })
}

func (s *toolSet) get(name string) (Tool, bool) {
	if i := s.find(name); i >= 0 {
		return s.tools[i], true
	}
	return Tool{}, false
}

func (s *toolSet) all() []Tool { return slices.Clone(s.tools) }

// offered is what the model is told; active: only those; nil: all.
func (s *toolSet) offered(active []string) []model.Tool {
	var out []model.Tool
	for _, t := range s.tools {
		if active == nil || slices.Contains(active, t.Name) {
			out = append(out, model.Tool{Name: t.Name, Description: t.Description, Schema: t.schema()})
		}
	}
	return out
}

// schema is Schema, or that of any object.
func (t Tool) schema() json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return t.Schema
}

// toolSources are the tools of a turn, but for BeforeTurn's: the agent's, those of
// MCP servers, the client's, and those of Ref.Chat.
func (a *shell) toolSources(t *chat.Turn) []Tool {
	return slices.Concat(a.class.Tools, a.mcpTools(), a.clientTools(t), a.callersTools(t.Request))
}

// clientTools are schemas that a client has sent. Those that no provider would take
// are left out.
func (a *shell) clientTools(t *chat.Turn) []Tool {
	var sent []struct {
		Name, Description string
		Parameters        json.RawMessage
	}
	if len(t.ClientTools) == 0 {
		return nil
	}
	if err := json.Unmarshal(t.ClientTools, &sent); err != nil {
		a.log.Warn("the client's tools cannot be read", "request", t.Request, "error", err)
		return nil
	}
	var tools []Tool
	for _, s := range sent {
		tool := Tool{Name: s.Name, Description: s.Description, Schema: s.Parameters}
		if string(tool.Schema) == "null" {
			tool.Schema = nil
		}
		if p := tool.problem(); p != "" {
			a.log.Warn("a tool of the client's is left out", "request", t.Request, "tool", s.Name, "problem", p)
			continue
		}
		tools = append(tools, tool)
	}
	return tools
}

// toolName is what all providers take.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// problem says what is wrong with t; "": nothing.
func (t Tool) problem() string {
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Sprintf("its name must match %s", toolName)
	case t.fault != "":
		return t.fault
	}
	var schema map[string]json.RawMessage
	if len(t.Schema) > 0 && (json.Unmarshal(t.Schema, &schema) != nil || schema == nil) {
		return "its schema is not a JSON object"
	}
	if kind, ok := schema["type"]; ok && string(kind) != `"object"` {
		return fmt.Sprintf("its schema is of type %s, not object", kind)
	}
	return ""
}

// problemOf says what is wrong with tools that are registered together.
func problemOf(tools []Tool) string {
	seen := make(map[string]bool)
	for i, t := range tools {
		if p := t.problem(); p != "" {
			return fmt.Sprintf("[%d] %q: %s", i, t.Name, p)
		}
		if seen[t.Name] {
			return fmt.Sprintf("has %q twice", t.Name)
		}
		seen[t.Name] = true
	}
	return ""
}
