package match

import "strings"

// The protocol's own field names: where one of them stands and is not expected,
// a client would act on it.

var frameFields = map[string]map[string]bool{
	"cf_agent_use_chat_response":  words("type id body done seq continuation replay replayComplete error messageIds outcome"),
	"cf_agent_chat_messages":      words("type messages connect"),
	"cf_agent_message_updated":    words("type message"),
	"cf_agent_chat_clear":         words("type"),
	"cf_agent_stream_resuming":    words("type id probeId"),
	"cf_agent_stream_pending":     words("type id probeId"),
	"cf_agent_stream_resume_none": words("type reason probeId"),
	"cf_agent_identity":           words("type name agent stateFollows"),
	"cf_agent_state":              words("type state"),
	"cf_agent_state_error":        words("type error"),
	"cf_agent_mcp_servers":        words("type mcp"),
	"cf_agent_chat_recovering":    words("type recovering id"),
	"rpc":                         words("type id success done result error"),
}

var fields = map[kind]map[string]bool{
	inChunk: words("type id delta messageId messageMetadata toolCallId toolName input inputTextDelta output errorText dynamic " +
		"providerExecuted title preliminary approvalId approved reason data transient url mediaType sourceId filename kind parts " +
		"providerMetadata toolMetadata finishReason isAutomatic signature"),
	inPart:    words("type text state toolCallId toolName input output errorText approval url mediaType filename sourceId data"),
	inMessage: words("id role parts metadata"),
}

var flags = words("replay replayComplete continuation error connect preliminary providerExecuted transient dynamic stateFollows")

func vocabulary(k kind, got map[string]any) map[string]bool {
	if k == inFrame {
		kind, _ := got["type"].(string)
		return frameFields[kind]
	}
	return fields[k]
}

// Known reports whether frames of that type mean something to a client, or are
// those of the recorded agents: others are no part of a comparison.
func Known(frameType string) bool {
	return strings.HasPrefix(frameType, "cf_") || frameType == "rpc" || frameType == "user-onMessage"
}

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}
