package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// errandAgent is what is killed at every append: two tools of the server's at once and
// one that may be repeated, then an approval beside a client's call, then the answer.
// Each run of a tool is a line in the file effects of the data folder.
func errandAgent(data string) *actors.Agent {
	type nothing struct{}
	tool := func(name string, opts ...actors.ToolOption) actors.Tool {
		return actors.NewTool(name, "Does something once.", func(ctx context.Context, _ nothing) (string, error) {
			return "done", note(filepath.Join(data, "effects"), name+" "+actors.ToolCallFrom(ctx).IdempotencyKey)
		}, opts...)
	}
	return &actors.Agent{
		Name: "ErrandAgent", Model: errandModel(),
		Tools: []actors.Tool{
			tool("debit"), tool("credit"), tool("repeat", actors.Repeatable), tool("refund", actors.NeedsApproval(true)),
			actors.ClientTool("locate", "Where the visitor is.", json.RawMessage(`{"type":"object","properties":{}}`)),
		},
	}
}

func errandModel() *scripted.Model {
	do := func(tool string) scripted.Step { return call("call_"+tool, tool, "{}") }
	return scripted.New(func(r model.Request) scripted.Answer {
		_, results := sinceAsked(r.Messages)
		switch {
		case len(results) < 3:
			return calls(do("debit"), do("credit"), do("repeat"))
		case len(results) < 5:
			return calls(do("refund"), do("locate"))
		}
		return says("t", 0, "All done.", fmt.Sprint(" ", results))
	})
}

// note appends a line to a file, so that it survives the process.
func note(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		return err
	}
	return f.Close()
}
