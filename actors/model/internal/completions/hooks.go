package completions

import (
	"encoding/json"
	"fmt"

	"charm.land/fantasy"
	fantasyopenai "charm.land/fantasy/providers/openai"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
)

// metadataKey is where the metadata of this protocol lives in model.Metadata.
const metadataKey = "openai-completions"

// extraContent is a stream part of our own: the field extra_content of a tool
// call. Google's endpoint puts the signature of the thinking there and refuses a
// conversation in which it does not come back.
const extraContent fantasy.StreamPartType = "holdfast.extra_content"

// StreamExtra reads what the library does not from each chunk.
type StreamExtra = fantasyopenai.LanguageModelStreamExtraFunc

// Hooks are the library's options for a model of this package. more, if not nil,
// reads the chunk after us.
func Hooks(more StreamExtra) []fantasyopenai.LanguageModelOption {
	return []fantasyopenai.LanguageModelOption{
		fantasyopenai.WithLanguageModelToPromptFunc(toPrompt),
		fantasyopenai.WithLanguageModelStreamUsageFunc(streamUsage),
		fantasyopenai.WithLanguageModelStreamExtraFunc(func(chunk openai.ChatCompletionChunk, yield func(fantasy.StreamPart) bool, state map[string]any) (map[string]any, bool) {
			if !streamExtraContent(chunk, yield) {
				return state, false
			}
			if more == nil {
				return state, true
			}
			return more(chunk, yield, state)
		}),
	}
}

// toPrompt unpacks what fantasyCall has packed.
func toPrompt(prompt fantasy.Prompt, _, _ string) ([]openai.ChatCompletionMessageParamUnion, []fantasy.CallWarning) {
	var out []openai.ChatCompletionMessageParamUnion
	for _, m := range prompt {
		for _, c := range m.Content {
			for _, w := range c.(promptPart).messages { //nolint:forcetypeassert // fantasyCall makes no other
				out = append(out, param.Override[openai.ChatCompletionMessageParamUnion](w))
			}
		}
	}
	return out, nil
}

// streamUsage keeps the last usage that came: the library's own reading
// forgets it if another chunk follows. Input includes what came from the cache.
func streamUsage(chunk openai.ChatCompletionChunk, state map[string]any, _ fantasy.ProviderMetadata) (fantasy.Usage, fantasy.ProviderMetadata) {
	const key = "holdfast.usage"
	if u := chunk.Usage; chunk.JSON.Usage.Valid() {
		state[key] = fantasy.Usage{
			InputTokens:     u.PromptTokens,
			OutputTokens:    u.CompletionTokens,
			ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,
			CacheReadTokens: u.PromptTokensDetails.CachedTokens,
		}
	}
	usage, _ := state[key].(fantasy.Usage)
	return usage, nil
}

func streamExtraContent(chunk openai.ChatCompletionChunk, yield func(fantasy.StreamPart) bool) bool {
	for _, choice := range chunk.Choices {
		for _, call := range choice.Delta.ToolCalls {
			var fields struct {
				Extra json.RawMessage `json:"extra_content"`
			}
			if json.Unmarshal([]byte(call.RawJSON()), &fields) != nil || len(fields.Extra) == 0 || fields.Extra[0] != '{' {
				continue
			}
			id := call.ID
			if id == "" {
				id = fmt.Sprintf("tool-call-%d", call.Index) // as the library names it
			}
			if !yield(fantasy.StreamPart{Type: extraContent, ID: id, Delta: string(fields.Extra)}) {
				return false
			}
		}
	}
	return true
}
