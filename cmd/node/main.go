// Command node runs the demo agents; see node --help. An author's own program
// looks like this one, with other agents.
package main

import (
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model/env"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/actors/node"
)

func main() {
	m, _, err := env.Model(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		os.Exit(1)
	}
	if demo, ok := m.(*scripted.Model); ok {
		m = withTools(demo)
	}
	node.Main(&actors.Agent{
		Name:         "Assistant",
		Instructions: "You are a helpful assistant. Answer briefly unless asked for more.",
		Model:        m,
		Tools:        tools(),
		InitialState: logbook{Entries: []entry{}},
	})
}
