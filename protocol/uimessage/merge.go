package uimessage

import "encoding/json"

// merge lays over on base the way clients merge a message's metadata: objects
// member by member, to any depth; everything else is replaced. An empty or null
// over changes nothing. Neither argument is changed.
func merge(base, over json.RawMessage) json.RawMessage { return lay(base, over, true) }

// overlay does it for provider metadata: each provider's object is replaced as
// a whole.
func overlay(base, over json.RawMessage) json.RawMessage { return lay(base, over, false) }

func lay(base, over json.RawMessage, deep bool) json.RawMessage {
	if len(over) == 0 || string(over) == "null" {
		return base
	}
	if len(base) == 0 {
		return over
	}
	list, ok := split(base)
	if !ok {
		return over
	}
	news, ok := split(over)
	if !ok {
		return over
	}
	at := make(map[string]int, len(list))
	for i, m := range list {
		at[m.name] = i
	}
	for _, m := range news {
		i, known := at[m.name]
		switch {
		case !known:
			at[m.name] = len(list)
			list = append(list, m)
		case deep && string(m.raw) != "null": // null replaces a member, unlike the whole
			list[i].raw = lay(list[i].raw, m.raw, deep)
		default:
			list[i].raw = m.raw
		}
	}
	return list.json()
}
