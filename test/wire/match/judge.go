package match

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// head is a frame that may come next, and what may follow it; or the end.
type head struct {
	pattern map[string]any // nil: nothing more need come
	rest    []item
	bound   bindings
}

// heads calls yield with everything that may come next.
func heads(items []item, b bindings, yield func(head)) {
	if len(items) == 0 {
		yield(head{bound: b})
		return
	}
	rest := items[1:]
	switch first := items[0].(type) {
	case *frame:
		yield(head{first.pattern, rest, b})
	case *opt:
		heads(slices.Concat(first.items, rest), b, yield)
		heads(rest, b, yield)
	case *anyOf:
		for _, l := range first.lists {
			heads(slices.Concat(l, rest), b, yield)
		}
	case *star:
		heads(first.items, b, func(h head) {
			if h.pattern != nil {
				yield(head{h.pattern, slices.Concat(h.rest, items), h.bound})
			}
		})
		heads(rest, b, yield)
	case *par:
		first.heads(rest, b, yield)
	case *stream:
		first.heads(rest, b, yield)
	}
}

func (p *par) heads(rest []item, b bindings, yield func(head)) {
	for i, l := range p.lists {
		heads(l, b, func(h head) {
			if h.pattern == nil {
				return
			}
			others := slices.Clone(p.lists)
			others[i] = h.rest
			yield(head{h.pattern, slices.Concat([]item{&par{others}}, rest), h.bound})
		})
	}
	ends := []bindings{b}
	for _, l := range p.lists {
		var next []bindings
		for _, e := range ends {
			heads(l, e, func(h head) {
				if h.pattern == nil {
					next = append(next, h.bound)
				}
			})
		}
		ends = next
	}
	for _, e := range ends {
		heads(rest, e, yield)
	}
}

func (s *stream) heads(rest []item, b bindings, yield func(head)) {
	left := s.Chunks[s.at:]
	mayEnd := !s.replaying || !s.Join
	if len(left) > 0 {
		s.chunk(left[0], rest, b, yield)
	}
	if s.replaying && s.Join {
		live := *s
		live.replaying = false
		p := s.frame("", true)
		p["replayComplete"] = true
		yield(head{p, slices.Concat([]item{&live}, rest), b})
	}
	least := 1
	if s.Min != nil {
		least = *s.Min
	}
	if mayEnd && (len(left) == 0 || s.Cut && s.n >= least) {
		if s.Text != "" {
			b = b.bind(s.Text, s.got)
		}
		if b != nil {
			heads(rest, b, yield)
		}
	}
}

func (s *stream) chunk(c any, rest []item, b bindings, yield func(head)) {
	chunk, _ := c.(map[string]any)
	inner, maybe := chunk["$maybe"].(map[string]any)
	if maybe {
		chunk = inner
		without := *s
		without.at++
		(&without).heads(rest, b, yield)
	}
	next := *s
	next.at, next.seq, next.n = s.at+1, s.seq+1, s.n+1
	if delta, ok := chunk["delta"].(string); ok && chunk["type"] == "text-delta" {
		next.got += delta
	}
	p := s.frame(chunk, s.replaying)
	p["seq"] = float64(s.seq)
	yield(head{p, slices.Concat([]item{&next}, rest), b})
}

func (s *stream) frame(body any, replay bool) map[string]any {
	p := map[string]any{"type": "cf_agent_use_chat_response", "id": s.ID, "body": body, "done": false}
	if s.Continuation {
		p["continuation"] = true
	}
	if replay {
		p["replay"] = true
	}
	return p
}

// bounds of a search that has too many ways.
const (
	maxStates = 400
	maxEnds   = 40
)

type state struct {
	items []item
	bound bindings
}

func (s state) key() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s.bound)) {
		fmt.Fprintf(&b, "%s=%q;", k, s.bound[k])
	}
	return b.String() + keyOf(s.items)
}

// Judge compares what each connection has received with the scenario. An event is
// a decoded frame whose body, if it is JSON, is decoded too. The result is empty,
// or tells per connection the first event that does not fit.
func (s *Scenario) Judge(events map[string][]any) []string {
	bound := []bindings{{}}
	var faults []string
	known := map[string]bool{}
	for _, c := range s.conns {
		known[c.name] = true
		ends, fault := follow(c.items, events[c.name], bound)
		if fault != "" {
			faults = append(faults, c.name+", "+fault)
			continue
		}
		bound = ends
	}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		if !known[name] && len(events[name]) > 0 {
			faults = append(faults, fmt.Sprintf("%s: nothing is expected here, got %s", name, show(events[name][0])))
		}
	}
	return faults
}

// follow goes through the events of one connection, in all ways at once.
func follow(items []item, events []any, bound []bindings) (ends []bindings, fault string) {
	states := make([]state, len(bound))
	for i, b := range bound {
		states[i] = state{items, b}
	}
	for i, e := range events {
		next, wanted := step(states, e)
		if len(next) == 0 {
			return nil, describe(events, i, wanted)
		}
		states = next
	}
	seen := map[string]bool{}
	var wanted []string
	for _, s := range states {
		heads(s.items, s.bound, func(h head) {
			k := state{bound: h.bound}.key()
			switch {
			case h.pattern != nil:
				wanted = append(wanted, show(h.pattern))
			case !seen[k] && len(ends) < maxEnds:
				seen[k] = true
				ends = append(ends, h.bound)
			}
		})
	}
	if len(ends) == 0 {
		return nil, describe(events, len(events), wanted)
	}
	return ends, ""
}

// step takes one event from all states. wanted says what would have fitted.
func step(states []state, event any) (next []state, wanted []string) {
	seen := map[string]bool{}
	for _, s := range states {
		heads(s.items, s.bound, func(h head) {
			if h.pattern == nil {
				wanted = append(wanted, "(nothing more)")
				return
			}
			m := matcher{}
			b := m.value(h.pattern, event, h.bound, inFrame, "")
			if b == nil {
				wanted = append(wanted, show(h.pattern)+"\n              at "+m.diff)
				return
			}
			if n := (state{h.rest, b}); !seen[n.key()] && len(next) < maxStates {
				seen[n.key()] = true
				next = append(next, n)
			}
		})
	}
	return next, wanted
}

func describe(events []any, i int, wanted []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "event %d:\n", i+1)
	for _, e := range events[max(0, i-2):i] {
		fmt.Fprintf(&b, "    after     %s\n", show(e))
	}
	wanted = slices.Compact(wanted)
	for _, w := range wanted[:min(len(wanted), 4)] {
		fmt.Fprintf(&b, "    expected  %s\n", w)
	}
	got := "(nothing more)"
	if i < len(events) {
		got = show(events[i])
	}
	fmt.Fprintf(&b, "    got       %s", got)
	return b.String()
}
