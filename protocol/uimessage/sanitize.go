package uimessage

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxProviderString is the length in characters to which the strings of calls
// that a provider executed itself are cut before storing.
const maxProviderString = 500

const cutMark = "… [cut]"

// Sanitize returns m as it is stored: without OpenAI's item ids and encrypted
// reasoning (they refer to what the provider may have forgotten), without the
// reasoning parts that are empty then, and with the long strings of
// provider-executed calls cut. It is pure, and idempotent.
func Sanitize(m Message) Message {
	parts := make([]Part, 0, len(m.Parts))
	for _, p := range m.Parts {
		p.ProviderMetadata = dropOpenAI(p.ProviderMetadata)
		p.CallProviderMetadata = dropOpenAI(p.CallProviderMetadata)
		if p.Type == ReasoningPart && strings.TrimSpace(p.Text) == "" && saysNothing(p.ProviderMetadata) {
			continue
		}
		if p.ProviderExecuted && p.IsTool() && !quotesTheWeb(p.Tool()) {
			p.Input = cutStrings(p.Input)
			p.RawInput = cutStrings(p.RawInput)
			p.Output = cutStrings(p.Output)
		}
		parts = append(parts, p)
	}
	m.Parts = parts
	return m
}

// saysNothing reports whether metadata has no provider's object.
func saysNothing(metadata json.RawMessage) bool {
	list, _ := split(metadata)
	return len(list) == 0
}

// quotesTheWeb is for the tools whose results the model must see again word for
// word.
func quotesTheWeb(tool string) bool { return tool == "web_search" || tool == "web_fetch" }

// dropOpenAI removes what must not be stored from the metadata of one part, and
// whatever objects it leaves empty.
func dropOpenAI(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"openai"`)) {
		return raw
	}
	list, ok := split(raw)
	if !ok {
		return raw
	}
	var kept members
	for _, provider := range list {
		if provider.name == "openai" {
			rest, ok := dropMembers(provider.raw, "itemId", "reasoningEncryptedContent")
			if ok && len(rest) == 0 {
				continue
			}
			if ok {
				provider.raw = rest.json()
			}
		}
		kept = append(kept, provider)
	}
	if len(kept) == 0 {
		return nil
	}
	return kept.json()
}

func dropMembers(raw json.RawMessage, names ...string) (rest members, ok bool) {
	list, ok := split(raw)
	for _, m := range list {
		drop := false
		for _, name := range names {
			drop = drop || m.name == name
		}
		if !drop {
			rest = append(rest, m)
		}
	}
	return rest, ok
}

// cutStrings shortens every long string in a JSON value, except for the values
// of members whose name begins with "encrypted".
func cutStrings(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxProviderString {
		return raw
	}
	switch raw[0] {
	case '"':
		var s string
		if !unquote(raw, &s) || utf8.RuneCountInString(s) <= maxProviderString {
			return raw
		}
		runes := []rune(s)[:maxProviderString-utf8.RuneCountInString(cutMark)]
		return AppendString(nil, string(runes)+cutMark)
	case '[':
		list, ok := elements(raw)
		if !ok {
			return raw
		}
		for i := range list {
			list[i] = cutStrings(list[i])
		}
		return array(list)
	case '{':
		list, ok := split(raw)
		if !ok {
			return raw
		}
		for i := range list {
			if !strings.HasPrefix(list[i].name, "encrypted") {
				list[i].raw = cutStrings(list[i].raw)
			}
		}
		return list.json()
	}
	return raw
}
