package scripted_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// The script may look at the request.
func ExampleNew() {
	m := scripted.New(func(r model.Request) scripted.Answer {
		last := r.Messages[len(r.Messages)-1]
		return scripted.Say("You said: " + last.Content[0].Text)
	})
	ask := model.Request{Messages: []model.Message{
		{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: "good morning"}}},
	}}
	for part, err := range m.Stream(context.Background(), ask) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if d, ok := part.(model.TextDelta); ok {
			fmt.Print(d.Text)
		}
	}
	// Output: You said: good morning
}
