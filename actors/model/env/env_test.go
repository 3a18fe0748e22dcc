package env_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/env"
)

func TestTheVariablesPickTheModel(t *testing.T) {
	for _, c := range []struct {
		variables  string
		name, note string
	}{
		{"", "scripted/demo", "OPENAI_API_KEY"},
		{"OPENAI_API_KEY= ", "scripted/demo", "No real model"},
		{"OPENAI_MODEL=gpt-5", "scripted/demo", "No real model"},
		{"OPENAI_API_KEY=sk-secret", "openai/" + env.DefaultOpenAIModel, "openai/"},
		{"OPENAI_API_KEY=sk-secret OPENAI_MODEL=gpt-4.1 OPENAI_BASE_URL=https://api.openai.com/v1/", "openai/gpt-4.1", "gpt-4.1"},
		{"OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=qwen", "openai-compatible/qwen", "qwen"},
		{"OPENAI_API_KEY=sk-secret OPENAI_BASE_URL=http://localhost:1/v1 OPENAI_MODEL=qwen", "openai-compatible/qwen", "qwen"},
		{"ANTHROPIC_API_KEY=sk-secret", "anthropic/" + env.DefaultAnthropicModel, "anthropic/"},
		{"ANTHROPIC_API_KEY=sk-secret ANTHROPIC_MODEL=claude-opus-5 OPENAI_API_KEY=sk-secret", "anthropic/claude-opus-5", "OPENAI_ variables are ignored"},
	} {
		m, note, err := env.Model(variables(c.variables))
		if err != nil {
			t.Errorf("%s: %v", c.variables, err)
			continue
		}
		if m.Name() != c.name || !strings.Contains(note, c.note) || strings.Contains(note, "sk-secret") {
			t.Errorf("%s: %s, %q", c.variables, m.Name(), note)
		}
	}
}

func TestAnEndpointPrefillsUnlessTheVariableSaysNo(t *testing.T) {
	for value, want := range map[string]bool{"": true, "1": true, "0": false} {
		m, _, err := env.Model(variables("OPENAI_BASE_URL=http://localhost:1/v1 OPENAI_MODEL=qwen OPENAI_PREFILL=" + value))
		if err != nil || model.Prefills(m) != want {
			t.Errorf("OPENAI_PREFILL=%s: %v, %v", value, err, model.Prefills(m))
		}
	}
}

func TestAWrongVariableIsNamed(t *testing.T) {
	for vars, want := range map[string]string{
		"OPENAI_BASE_URL=http://localhost:1/v1":                                 "OPENAI_MODEL is not set",
		"OPENAI_BASE_URL=localhost:1 OPENAI_MODEL=m":                            "OPENAI_BASE_URL=localhost:1",
		"OPENAI_BASE_URL=http://localhost:1/v1 OPENAI_MODEL=m OPENAI_PREFILL=x": `OPENAI_PREFILL is "x"`,
		"ANTHROPIC_API_KEY=sk-secret ANTHROPIC_BASE_URL=nowhere":                "ANTHROPIC_BASE_URL=nowhere",
	} {
		_, _, err := env.Model(variables(vars))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: %v, want %q in it", vars, err, want)
		}
	}
}

// variables reads "A=1 B=2".
func variables(s string) func(string) string {
	return func(name string) string {
		for _, pair := range strings.Split(s, " ") {
			if k, v, _ := strings.Cut(pair, "="); k == name {
				return v
			}
		}
		return ""
	}
}
