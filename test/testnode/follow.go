package main

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// followsUp begins a question that followUp asks, and the first word of its answer.
const followsUp = "follow-"

// followAgent is one that has something to add to each whole answer of script:paced:
// it asks itself a question, which says whose answer it follows.
func followAgent() *actors.Agent {
	return &actors.Agent{Name: "FollowAgent", OnChatMessage: pacedOrFollow, OnChatResponse: followUp}
}

func followUp(ctx context.Context, self *actors.Self, response actors.ChatResponse) error {
	word, _, said := strings.Cut(response.Text(), ".")
	if response.Status != actors.StatusCompleted || !said || strings.HasPrefix(word, followsUp) {
		return nil
	}
	_, err := self.SaveMessages(ctx, []uimessage.Message{{
		Role: uimessage.User, Parts: []uimessage.Part{{Type: uimessage.TextPart, Text: followsUp + word}},
	}})
	return err
}

func pacedOrFollow(ctx context.Context, turn *actors.Turn) error {
	p := &player{ctx: ctx, turn: turn}
	if asked := lastUserText(turn.Question); strings.HasPrefix(asked, followsUp) {
		return p.step(2, p.text(asked+".0/2 ", asked+".1/2 "))
	}
	return paced(p)
}
