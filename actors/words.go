package actors

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// words are what a model says in one answer, as it is to be told again.
type words struct {
	content []model.Content
	open    map[string]*openPart
}

// openPart is text that is being written; at is its place in content.
type openPart struct {
	at   int
	text strings.Builder
}

func (w *words) start(id string, c model.Content) {
	if w.open == nil {
		w.open = make(map[string]*openPart)
	}
	w.open[id] = &openPart{at: len(w.content)}
	w.content = append(w.content, c)
}

func (w *words) add(id, text string) {
	if p := w.open[id]; p != nil {
		p.text.WriteString(text)
	}
}

func (w *words) end(id string, md model.Metadata) {
	p := w.open[id]
	if p == nil {
		return
	}
	w.content[p.at].Text = p.text.String()
	if md != nil {
		w.content[p.at].Metadata = md
	}
	delete(w.open, id)
}

// said is the content, with what its model has left without an end.
func (w *words) said() []model.Content {
	for id := range w.open {
		w.end(id, nil)
	}
	return w.content
}

// callIDs are ids of calls as the provider gives them, and as they are known.
type callIDs struct {
	used  map[string]bool // in this and earlier answers
	known map[string]string
}

func newCallIDs(used map[string]bool) callIDs {
	return callIDs{used: used, known: make(map[string]string)}
}

// id is a call's id in this answer, also if an earlier one has used the provider's.
func (c *callIDs) id(provider string) string {
	if id, ok := c.known[provider]; ok {
		return id
	}
	id := valid(provider)
	for n := 2; id == "" || c.used[id]; n++ {
		id = fmt.Sprintf("%s_%d", valid(provider), n)
	}
	c.used[id], c.known[provider] = true, id
	return id
}

// complete: if the provider's id comes again it is another call.
func (c *callIDs) complete(provider string) { delete(c.known, provider) }
