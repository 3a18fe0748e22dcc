package match

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Scenario is what the connections of a recorded scenario must receive.
type Scenario struct {
	Name  string
	conns []conn // in the order of the file: variables are bound from first to last
}

type conn struct {
	name  string
	items []item
}

// item is one element of a connection's list.
type item interface{ key() string }

type (
	frame struct{ pattern map[string]any }
	opt   struct{ items []item }
	anyOf struct{ lists [][]item }
	par   struct{ lists [][]item }
	star  struct{ items []item }
	// stream is the content frames of a turn, from chunk at on.
	stream struct {
		*turn
		at, seq, n int
		replaying  bool
		got        string // text so far
	}
)

// turn is what a stream item says of its turn.
type turn struct {
	ID           string `json:"id"`
	Chunks       []any  `json:"chunks"`
	Continuation bool   `json:"continuation"`
	Join         bool   `json:"join"`
	Replay       bool   `json:"replay"`
	Cut          bool   `json:"cut"`
	Min          *int   `json:"min"`
	Text         string `json:"text"`
}

// key tells items in different states apart; the same item has the same key.
func (f *frame) key() string { return fmt.Sprintf("%p", f) }
func (o *opt) key() string   { return fmt.Sprintf("%p", o) }
func (a *anyOf) key() string { return fmt.Sprintf("%p", a) }
func (s *star) key() string  { return fmt.Sprintf("%p", s) }
func (s *stream) key() string {
	return fmt.Sprintf("%p/%d/%d/%t/%q", s.turn, s.at, s.seq, s.replaying, s.got)
}
func (p *par) key() string {
	k := "par("
	for _, l := range p.lists {
		k += keyOf(l) + "|"
	}
	return k + ")"
}

func keyOf(items []item) string {
	var b bytes.Buffer
	for _, i := range items {
		b.WriteString(i.key())
		b.WriteByte(',')
	}
	return b.String()
}

// Parse reads a recorded scenario.
func Parse(data []byte) (*Scenario, error) {
	var file struct {
		Scenario string          `json:"scenario"`
		Conns    json.RawMessage `json:"conns"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	s := &Scenario{Name: file.Scenario}
	d := json.NewDecoder(bytes.NewReader(file.Conns))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var list any
		if err := d.Decode(&list); err != nil {
			return nil, err
		}
		items, err := parseItems(improve(list))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.Name, name, err)
		}
		s.conns = append(s.conns, conn{fmt.Sprint(name), items})
	}
	return s, nil
}

// improve replaces each $improve by what is wanted; a list within a list takes
// its place in it.
func improve(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if choice, ok := v["$improve"].(map[string]any); ok {
			return improve(choice["want"])
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = improve(e)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			better := improve(e)
			if list, ok := better.([]any); ok && isImprove(e) {
				out = append(out, list...)
			} else {
				out = append(out, better)
			}
		}
		return out
	}
	return v
}

func isImprove(v any) bool {
	m, ok := v.(map[string]any)
	return ok && m["$improve"] != nil
}

func parseItems(v any) ([]item, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%v is no list of items", v)
	}
	items := make([]item, len(list))
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%v is no item", e)
		}
		var err error
		if items[i], err = parseItem(m); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func parseItem(m map[string]any) (item, error) {
	for _, word := range slices.Sorted(maps.Keys(m)) {
		if word[0] != '$' {
			continue
		}
		switch word {
		case "$opt":
			items, err := parseItems(m[word])
			return &opt{items}, err
		case "$star":
			items, err := parseItems(m[word])
			return &star{items}, err
		case "$any":
			lists, err := parseLists(m[word])
			return &anyOf{lists}, err
		case "$par":
			lists, err := parseLists(m[word])
			return &par{lists}, err
		case "$stream":
			return parseStream(m[word])
		default:
			return nil, fmt.Errorf("unknown word %s", word)
		}
	}
	return &frame{m}, nil
}

func parseLists(v any) ([][]item, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%v is no list of lists", v)
	}
	lists := make([][]item, len(list))
	for i, e := range list {
		var err error
		if lists[i], err = parseItems(e); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

func parseStream(v any) (*stream, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	t := &turn{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("$stream: %w", err)
	}
	return &stream{turn: t, replaying: t.Join || t.Replay}, nil
}
