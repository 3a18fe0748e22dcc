package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

const (
	longOutput   = 1000 // characters of JSON above which a tool's output is shrunk, and to which
	longText     = 1000 // characters above which a text is cut
	textKept     = 500  // of which this many stay
	leastKept    = 80   // characters that each kept member of a shrunk value may have
	mostElements = 10   // of a shrunk list or object share its budget
	mostDepth    = 8
)

// guardSize is m as it is stored: as it is, or compacted with its whole value in
// a blob beside it. shown is what is stored.
func (c *Core) guardSize(m uimessage.Message) (out *pb.StoredMessage, shown uimessage.Message) {
	out = stored(m)
	whole := out.GetJson()
	if len(whole) <= c.policy.MaxBytes {
		return out, m
	}
	m = compact(m, c.policy.MaxBytes)
	out.Json = m.AppendJSON(nil)
	if bytes.Equal(out.Json, whole) {
		return out, m // nothing in it can be made smaller
	}
	out.FullRef = "message/" + hash(whole)
	if c.blobs == nil {
		c.blobs = make(map[string][]byte)
	}
	c.blobs[out.FullRef] = whole
	return out, m
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Blob is a value that the events of the last Step refer to; nil if it is stored
// already.
func (c *Core) Blob(key string) []byte { return c.blobs[key] }

// compact makes m smaller until its JSON has at most limit bytes: first the
// outputs of settled calls, then texts, oldest first. What was cut is listed in
// the message's metadata.
func compact(m uimessage.Message, limit int) uimessage.Message {
	parts := append([]uimessage.Part(nil), m.Parts...)
	metadata := m.Metadata
	m.Parts = parts
	fits := func() bool { return len(m.AppendJSON(nil)) <= limit }
	if m.Role == uimessage.Assistant {
		var calls []string
		for i, p := range parts {
			if p.Settled() && utf8.RuneCount(p.Output) > longOutput {
				parts[i].Output = shrink(p.Output, longOutput, 0)
				calls = append(calls, p.ToolCallID)
			}
		}
		metadata = note(metadata, "compactedToolOutputs", calls)
		m.Metadata = metadata
	}
	var cut []int
	for i, p := range parts {
		if fits() {
			break
		}
		if p.Type == uimessage.TextPart && utf8.RuneCountInString(p.Text) > longText {
			parts[i].Text = cutText(p.Text)
			cut = append(cut, i)
			m.Metadata = note(metadata, "compactedTextParts", cut)
		}
	}
	return m
}

// cutText keeps the beginning of a text.
func cutText(text string) string {
	return first(text, textKept) + fmt.Sprintf("\n\n[The rest of this text is not shown here: it has %d characters and is too long. The whole text is kept.]", utf8.RuneCountInString(text))
}

// note adds a list to metadata, if that is an object or nothing.
func note[T any](metadata json.RawMessage, name string, list []T) json.RawMessage {
	value, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return metadata
	}
	members, isObject := membersOf(metadata)
	if len(metadata) > 0 && !isObject {
		return metadata
	}
	var b object
	for _, m := range members {
		if m.name != name {
			b.add(m.name, m.value)
		}
	}
	b.add(name, value)
	return b.end()
}

// shrink makes a JSON value small and keeps its shape: strings are cut, lists and
// objects lose members, and say so.
func shrink(raw json.RawMessage, budget, depth int) json.RawMessage {
	size := utf8.RuneCount(raw)
	if size <= budget || len(raw) == 0 {
		return raw
	}
	switch raw[0] {
	case '"':
		return shrinkString(raw, budget)
	case '[', '{':
		if depth == mostDepth {
			return uimessage.AppendString(nil, "[Nested output omitted"+truncated(size)+"]")
		}
		if raw[0] == '[' {
			return shrinkList(raw, budget, depth)
		}
		return shrinkObject(raw, budget, depth)
	}
	return raw
}

func truncated(size int) string { return "... [truncated " + strconv.Itoa(size) + " chars]" }

func shrinkString(raw json.RawMessage, budget int) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	mark := truncated(utf8.RuneCountInString(s))
	return uimessage.AppendString(nil, first(s, max(budget-len(mark)-2, 0))+mark)
}

// first is the beginning of s, n characters long.
func first(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// share is what each of n members of a value may have of its budget.
func share(budget, n int) int { return max(leastKept, budget/max(min(n, mostElements), 1)) }

func shrinkList(raw json.RawMessage, budget, depth int) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return raw
	}
	out, left := []byte{'['}, 0
	for i, v := range list {
		small := shrink(v, share(budget, len(list)), depth+1)
		if i > 0 && utf8.RuneCount(out)+utf8.RuneCount(small) > budget {
			for _, rest := range list[i:] {
				left += utf8.RuneCount(rest)
			}
			break
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, small...)
	}
	if left > 0 {
		out = append(out, fmt.Sprintf(`,{"__truncated":true,"__truncatedChars":%d}`, left)...)
	}
	return append(out, ']')
}

func shrinkObject(raw json.RawMessage, budget, depth int) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok {
		return raw
	}
	var out object
	left := 0
	for i, m := range members {
		small := shrink(m.value, share(budget, len(members)), depth+1)
		if left > 0 || i > 0 && utf8.RuneCount(out.json)+utf8.RuneCountInString(m.name)+utf8.RuneCount(small) > budget {
			left += utf8.RuneCountInString(m.name) + utf8.RuneCount(m.value)
			continue
		}
		out.add(m.name, small)
	}
	if left > 0 {
		out.add("__truncated", json.RawMessage("true"))
		out.add("__truncatedChars", json.RawMessage(strconv.Itoa(left)))
	}
	return out.end()
}

// object is a JSON object that grows.
type object struct{ json []byte }

func (o *object) add(name string, value json.RawMessage) {
	if len(o.json) == 0 {
		o.json = append(o.json, '{')
	} else {
		o.json = append(o.json, ',')
	}
	o.json = append(uimessage.AppendString(o.json, name), ':')
	o.json = append(o.json, value...)
}

func (o *object) end() []byte {
	if len(o.json) == 0 {
		return []byte("{}")
	}
	return append(o.json, '}')
}

type member struct {
	name  string
	value json.RawMessage
}

// membersOf are the members of a JSON object in their order.
func membersOf(raw json.RawMessage) (list []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		var m member
		name, err := d.Token()
		if err != nil || d.Decode(&m.value) != nil {
			return nil, false
		}
		m.name, _ = name.(string)
		list = append(list, m)
	}
	return list, true
}
