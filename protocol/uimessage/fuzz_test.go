package uimessage

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func FuzzParseChunk(f *testing.F) {
	for typ := range kinds {
		f.Add(Chunk{Type: typ, ID: "i", ToolCallID: "c", ToolName: "n", ApprovalID: "a"}.AppendJSON(nil))
	}
	f.Add([]byte(`{"type":"x","y":[1,{"z":null}],"type":"text-delta","id":"\ud800","delta":"\u2028"}`))
	f.Add([]byte("{\"type\":\"data-x\",\"data\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseChunk(data)
		if err != nil {
			return
		}
		first := c.AppendJSON(nil)
		if !json.Valid(first) {
			t.Fatalf("not JSON: %s", first)
		}
		again, err := ParseChunk(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second := again.AppendJSON(nil); string(second) != string(first) {
			t.Fatalf("\nfirst  %s\nsecond %s", first, second)
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(approvedBase))
	f.Add([]byte(`{"id":"m","role":"user","parts":[{"type":"text","text":"x","y":1},{"type":"q","a":[]}],"metadata":{"a":1},"z":2}`))
	f.Add([]byte(`{"id":"m","role":"assistant","parts":[{"type":"tool-x","toolCallId":"c","state":"input-streaming","rawInput":"{\"a"}]}`))
	f.Add([]byte(`{"id":"m","role":"assistant","parts":[{"type":"reasoning","text":"","providerMetadata":{"openai":{"itemId":1}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMessage(data)
		if err != nil {
			return
		}
		first := m.AppendJSON(nil)
		again, err := ParseMessage(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second := again.AppendJSON(nil); string(second) != string(first) {
			t.Fatalf("\nfirst  %s\nsecond %s", first, second)
		}
		if kept := NewFold(m).Message().AppendJSON(nil); string(kept) != string(first) {
			t.Fatalf("a fold of nothing changed\n%s to\n%s", first, kept)
		}
		rebuilt := NewFold(Message{})
		for _, c := range Unfold(m) {
			rebuilt.Apply(c)
		}
		if m := rebuilt.Message(); !sharesApprovals(m) {
			unfoldsToItself(t, m)
		}
		clean := Sanitize(m)
		if a, b := clean.AppendJSON(nil), Sanitize(clean).AppendJSON(nil); !json.Valid(a) || string(a) != string(b) {
			t.Fatalf("sanitized\n%s\ntwice\n%s", a, b)
		}
		if !SameParts(m, clean) {
			t.Fatalf("%s is not the same as itself sanitized", first)
		}
	})
}

// sharesApprovals: no stream that a guard lets through asks for two calls under one id.
func sharesApprovals(m Message) bool {
	seen := map[string]bool{}
	for _, p := range m.Parts {
		if p.Approval == nil {
			continue
		}
		if seen[p.Approval.ID] {
			return true
		}
		seen[p.Approval.ID] = true
	}
	return false
}

func FuzzHeal(f *testing.F) {
	f.Add([]byte(approvedBase))
	f.Add([]byte(`{"id":"m","role":"data","content":[{"text":"a"},{"type":"image","image":"b"}],"toolInvocations":[{"state":"result","toolCallId":"c","toolName":"x","args":"{}","result":1}],"reasoning":"r","files":[{"data":"AA"}]}`))
	f.Add([]byte(`{"id":"m","role":"user","parts":[{"type":"tool-invocation","toolInvocation":{"toolCallId":"c"}},{"type":"source","source":{"id":"s"}},{"type":"file"},{"type":"reasoning","reasoning":"x"},{"type":"dynamic-tool","toolCallId":"c","state":"x","input":[]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Heal(data)
		strict, bad := ParseMessage(data)
		if err != nil {
			if bad == nil {
				t.Fatalf("%s is refused: %v", data, err)
			}
			return
		}
		first := m.AppendJSON(nil)
		if read, err := ParseMessage(first); err != nil || string(read.AppendJSON(nil)) != string(first) {
			t.Fatalf("%s reads back as %s, %v", first, read.AppendJSON(nil), err)
		}
		again, err := Heal(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second := again.AppendJSON(nil); string(second) != string(first) {
			t.Fatalf("healed\n%s\ntwice\n%s", first, second)
		}
		for i, p := range m.Parts {
			if p.IsTool() && p.Input[0] != '{' {
				t.Fatalf("part %d of %s has no object for an input", i, first)
			}
		}
		if bad == nil && len(strict.Parts) != len(m.Parts) {
			t.Fatalf("%s lost or got parts: %s", data, first)
		}
	})
}

// FuzzFold makes streams out of few ids and values, so that their chunks meet.
func FuzzFold(f *testing.F) {
	for seed := range byte(40) {
		f.Add([]byte{seed, seed * 7, 3, seed ^ 0x55, 1, 2, 3, seed * 11, 5, 9, seed, 0, 0, seed * 3})
	}
	names := slices.Sorted(maps.Keys(kinds))
	// A call with a preliminary output is announced once more in a continuation.
	f.Add(slices.Concat(
		chosen(names, "tool-input-available", 0x20), chosen(names, "tool-output-available", 0x40), []byte{0xC0},
		chosen(names, "tool-input-available", 0x30)))
	f.Fuzz(func(t *testing.T, data []byte) {
		wild := NewFold(Message{ID: "m"})
		guarded := newGuarded(t, Message{ID: "m"}, false)
		for len(data) >= 2 {
			c := madeUp(names, data[0], data[1])
			data = data[2:]
			wild.Apply(c)
			if data = guarded.send(c, data); guarded.over {
				break
			}
		}
		unfoldsToItself(t, wild.Message())
		unfoldsToItself(t, guarded.fold.Message())
		guarded.clientAgrees()
	})
}

// chosen is what makes madeUp return a chunk of this kind.
func chosen(names []string, kind string, how byte) []byte {
	return []byte{byte(2 * slices.Index(names, kind)), how}
}

// madeUp returns a chunk of the kind that pick chooses; how chooses the fields.
func madeUp(names []string, pick, how byte) Chunk {
	values := []json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`"{\"b\":2}"`), json.RawMessage(`"words"`), nil}
	ids := []string{"x", "y"}
	id, other := ids[how&1], ids[how>>1&1]
	c := Chunk{Type: "data-p"}
	if int(pick) < 2*len(names) {
		c.Type = names[int(pick)/2]
	}
	whole := Chunk{
		Type: c.Type, ID: id, Delta: []string{"", "hi", `{"q":"`, `1"}`}[how>>2&3], MessageID: "",
		MessageMetadata: values[how>>2&3], FinishReason: "stop",
		ToolCallID: id, ToolName: other, Title: []string{"", "T"}[how>>4&1], Input: values[how>>2&3], Output: json.RawMessage(`[1]`),
		ErrorText: "e", Dynamic: how&0x20 != 0, Preliminary: how&0x40 != 0, ProviderExecuted: how&0x80 != 0,
		ApprovalID: other, Approved: how&0x40 != 0, Reason: []string{"", "R"}[how>>4&1], Data: json.RawMessage(`{"d":1}`),
		Transient: how&0x80 != 0, URL: "u", MediaType: "m", SourceID: "s", Kind: "v.k", Parts: json.RawMessage(`[]`),
	}
	if how&0x10 != 0 {
		whole.ProviderMetadata = json.RawMessage(`{"` + other + `":{"k":1}}`)
		whole.ToolMetadata = json.RawMessage(`{"t":1}`)
		whole.Citations = json.RawMessage(`[]`)
	}
	// Through JSON, so that only the fields of the kind are left.
	c, err := ParseChunk(whole.AppendJSON(nil))
	if err != nil {
		panic(err)
	}
	return c
}

// A guarded stream goes through a guard to a strict client and a fold.
type guarded struct {
	t      *testing.T
	guard  *Guard
	fold   *Fold
	client *client
	apart  *client // of a page that begins a message of its own; nil if none does
	sent   []Chunk
	over   bool
}

func newGuarded(t *testing.T, base Message, continuation bool) *guarded {
	s := &guarded{t: t, guard: NewGuard(base, continuation), fold: NewFold(base), client: newClient(base)}
	if continuation && !extends(base) {
		s.apart = newClient(Message{})
	}
	return s
}

// send passes c on. Now and then (as data says) the message is continued by a
// new stream.
func (s *guarded) send(c Chunk, data []byte) []byte {
	out, err := s.guard.Pass(nil, c)
	for _, c := range out {
		if len(s.sent) == 0 && c.Type != "start" {
			s.t.Fatalf("the stream begins with %s", c.AppendJSON(nil))
		}
		s.sent = append(s.sent, c)
		s.fold.Apply(c)
		if bad := s.client.apply(c); bad != nil {
			s.t.Fatalf("the client fails: %v\n%s", bad, jsonLines(s.sent))
		}
		if s.apart == nil {
			continue
		}
		if bad := s.apart.apply(c); bad != nil {
			s.t.Fatalf("the client with a message of its own fails: %v\n%s", bad, jsonLines(s.sent))
		}
	}
	s.over = err != nil
	if len(data) > 2 && data[0] >= 0xC0 {
		s.clientAgrees()
		*s = *newGuarded(s.t, s.fold.Message(), true)
		return data[1:]
	}
	return data
}

// clientAgrees compares what the client has made of the stream with the fold.
func (s *guarded) clientAgrees() {
	got, want := s.fold.Message(), s.client.message
	if s.client.twice {
		return // an input that went on behind a start-step has made a second part there
	}
	if len(got.Parts) != len(want.Parts) {
		s.t.Fatalf("%d parts, client has %d\n%s\n%s\n%s", len(got.Parts), len(want.Parts), got.AppendJSON(nil), want.AppendJSON(nil), jsonLines(s.sent))
	}
	for i := range got.Parts {
		g, w := seenByClient(got.Parts[i]), seenByClient(want.Parts[i])
		if string(g) != string(w) {
			s.t.Fatalf("part %d\n fold   %s\n client %s\n%s", i, g, w, jsonLines(s.sent))
		}
	}
}

// seenByClient keeps of a part what the strict client folds.
func seenByClient(p Part) []byte {
	out := Part{Type: p.Type, Text: p.Text, State: p.State, ID: p.ID, ToolCallID: p.ToolCallID, Output: p.Output, Preliminary: p.Preliminary, ErrorText: p.ErrorText, Data: p.Data, Kind: p.Kind, URL: p.URL}
	if p.Approval != nil {
		out.Approval = &Approval{ID: p.Approval.ID, Approved: p.Approval.Approved}
	}
	return out.AppendJSON(nil)
}

// unfoldsToItself wants m back from its chunks, which a guard must let pass,
// and from its JSON.
func unfoldsToItself(t *testing.T, m Message) {
	t.Helper()
	want := m.AppendJSON(nil)
	g, f, c := NewGuard(Message{ID: m.ID}, false), NewFold(Message{}), newClient(Message{})
	list := Unfold(m)
	for _, k := range list {
		out, drop, err := g.Admit(k)
		if err != nil || drop || string(out.AppendJSON(nil)) != string(k.AppendJSON(nil)) {
			t.Fatalf("%s: dropped %v, error %v\nof %s", k.AppendJSON(nil), drop, err, want)
		}
		if err := c.apply(k); err != nil {
			t.Fatalf("%s: client: %v\nof %s", k.AppendJSON(nil), err, want)
		}
		f.Apply(k)
	}
	if got := f.Message().AppendJSON(nil); string(got) != string(want) {
		t.Fatalf("\n got %s\nwant %s\nfrom %s", got, want, jsonLines(list))
	}
	read, err := ParseMessage(want)
	if err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if got := read.AppendJSON(nil); string(got) != string(want) {
		t.Fatalf("read back\n got %s\nwant %s", got, want)
	}
}
