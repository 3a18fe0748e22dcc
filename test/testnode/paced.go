package main

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// pacedBody is what a request asks of script:paced, in the fields of its body.
type pacedBody struct {
	Word    string `json:"word"`
	Words   int    `json:"words"`
	DelayMs int    `json:"delayMs"`
	Fail    bool   `json:"fail"`
	// Call is the id of a call of getWeather with {} whose result, 7, is there before the words.
	Call string `json:"call"`
	// Data and Toast are sent before the words, as data parts; Toast is transient.
	Data  json.RawMessage `json:"data"`
	Toast json.RawMessage `json:"toast"`
	// Hold is where the answer waits before its word HoldAt, counted from 1; with 0,
	// and when it goes on after a cut, before it begins.
	Hold   string `json:"hold"`
	HoldAt int    `json:"holdAt"`
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
	if b.Hold != "" && (b.HoldAt == 0 || p.turn.Continuation) {
		if err := held.wait(p.ctx, b.Hold); err != nil {
			return err
		}
	}
	words := make([]string, b.Words)
	for i := range words {
		words[i] = fmt.Sprintf("%s.%d/%d ", b.Word, i, b.Words)
	}
	said := p.text(words...)
	if b.HoldAt > 0 && !p.turn.Continuation {
		said[b.HoldAt].hold = b.Hold // the first one is text-start
	}
	var parts []timed
	if b.Call != "" {
		parts = append(parts,
			timed{chunk: uimessage.Chunk{Type: "tool-input-available", ToolCallID: b.Call, ToolName: "getWeather", Input: json.RawMessage("{}")}},
			timed{chunk: uimessage.Chunk{Type: "tool-output-available", ToolCallID: b.Call, Output: json.RawMessage("7")}})
	}
	if b.Data != nil {
		parts = append(parts, timed{chunk: uimessage.Chunk{Type: "data-paced", Data: b.Data}})
	}
	if b.Toast != nil {
		parts = append(parts, timed{chunk: uimessage.Chunk{Type: "data-toast", Data: b.Toast, Transient: true}})
	}
	if err := p.step(b.DelayMs, append(parts, said...)); err != nil {
		return err
	}
	if b.Fail {
		return actors.Errorf("%s has failed", b.Word)
	}
	return nil
}
