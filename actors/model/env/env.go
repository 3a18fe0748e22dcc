// Package env picks the model of a node from environment variables.
//
//	ANTHROPIC_API_KEY    Anthropic
//	ANTHROPIC_MODEL      its model; default DefaultAnthropicModel
//	ANTHROPIC_BASE_URL   another endpoint with Anthropic's protocol
//
//	OPENAI_API_KEY       OpenAI, or the key of OPENAI_BASE_URL
//	OPENAI_MODEL         the model; default DefaultOpenAIModel at OpenAI itself
//	OPENAI_BASE_URL      any endpoint with OpenAI's Chat Completions; a key is
//	                     then optional, and OPENAI_MODEL required
//	OPENAI_PREFILL       "0": that endpoint does not continue a partial answer
//
// With none of them set the scripted demo answers. With both providers set
// OPENAI_… is ignored, and the note says so.
package env

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/anthropic"
	"github.com/holdfast-dev/holdfast/actors/model/openai"
	"github.com/holdfast-dev/holdfast/actors/model/openaicompat"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// The models that answer if no variable names one.
const (
	DefaultAnthropicModel = "claude-sonnet-5"
	DefaultOpenAIModel    = "gpt-5-mini"
)

// NoModel is the note of a node on which the scripted demo answers.
const NoModel = "No real model is connected: a script answers. Set ANTHROPIC_API_KEY (and ANTHROPIC_MODEL), or OPENAI_API_KEY (and OPENAI_MODEL, and OPENAI_BASE_URL for any endpoint with the same protocol), and start the node again."

// Model returns the model that the variables ask for, and a sentence about it
// for people: for the start of the log and for pages. Keys are never part of it.
// getenv is os.Getenv or its like; a blank variable counts as not set.
func Model(getenv func(string) string) (m model.Model, note string, err error) {
	get := func(name string) string { return strings.TrimSpace(getenv(name)) }
	switch {
	case get("ANTHROPIC_API_KEY") != "":
		m, err = anthropicModel(get)
	case get("OPENAI_API_KEY") != "" || get("OPENAI_BASE_URL") != "":
		m, err = openAIModel(get)
	default:
		demo := scripted.Demo()
		demo.Remark = NoModel
		return demo, NoModel, nil
	}
	if err != nil {
		return nil, "", err
	}
	note = fmt.Sprintf("The model is %s.", m.Name())
	if strings.HasPrefix(m.Name(), "anthropic/") && get("OPENAI_API_KEY")+get("OPENAI_BASE_URL") != "" {
		note += " ANTHROPIC_API_KEY is set, so the OPENAI_ variables are ignored."
	}
	return m, note, nil
}

func anthropicModel(get func(string) string) (model.Model, error) {
	m, err := anthropic.New(anthropic.Config{
		APIKey:  get("ANTHROPIC_API_KEY"),
		Model:   or(get("ANTHROPIC_MODEL"), DefaultAnthropicModel),
		BaseURL: get("ANTHROPIC_BASE_URL"),
	})
	return m, explain(err, "ANTHROPIC_BASE_URL", get)
}

func openAIModel(get func(string) string) (model.Model, error) {
	base := get("OPENAI_BASE_URL")
	if base == "" || strings.TrimRight(base, "/") == openai.DefaultBaseURL {
		return openai.New(openai.Config{APIKey: get("OPENAI_API_KEY"), Model: or(get("OPENAI_MODEL"), DefaultOpenAIModel)})
	}
	if get("OPENAI_MODEL") == "" {
		return nil, fmt.Errorf("OPENAI_BASE_URL is %s, but OPENAI_MODEL is not set: name the model to ask there", base)
	}
	prefill := get("OPENAI_PREFILL")
	if prefill != "" && prefill != "0" && prefill != "1" {
		return nil, fmt.Errorf("OPENAI_PREFILL is %q, not 0 or 1", prefill)
	}
	m, err := openaicompat.New(openaicompat.Config{
		BaseURL: base, APIKey: get("OPENAI_API_KEY"), Model: get("OPENAI_MODEL"), RefusesPrefill: prefill == "0",
	})
	return m, explain(err, "OPENAI_BASE_URL", get)
}

// explain names the variable that a field of the config came from: what is left
// to be wrong here is the URL.
func explain(err error, variable string, get func(string) string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s=%s: %w", variable, get(variable), err)
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
