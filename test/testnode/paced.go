package main

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors"
)

// pacedBody is what a request asks of script:paced, in the fields of its body.
type pacedBody struct {
	Word    string `json:"word"`
	Words   int    `json:"words"`
	DelayMs int    `json:"delayMs"`
	Fail    bool   `json:"fail"`
}

// paced says "word.0/n word.1/n …", so that from any piece of an answer can be
// told whose it is and what is missing; then it may fail.
func paced(p *player) error {
	b := pacedBody{Word: "w", Words: 10, DelayMs: 5}
	if p.turn.Body != nil {
		if err := json.Unmarshal(p.turn.Body, &b); err != nil {
			return actors.Errorf("script:paced: %s", err)
		}
	}
	words := make([]string, b.Words)
	for i := range words {
		words[i] = fmt.Sprintf("%s.%d/%d ", b.Word, i, b.Words)
	}
	if err := p.step(b.DelayMs, p.text(words...)); err != nil {
		return err
	}
	if b.Fail {
		return actors.Errorf("%s has failed", b.Word)
	}
	return nil
}
