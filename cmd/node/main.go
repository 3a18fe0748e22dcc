// Command node runs the demo agents; see node --help. An author's own program
// looks like this one, with other agents.
package main

import (
	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/actors/node"
)

func main() {
	node.Main(&actors.Agent{
		Name:         "Assistant",
		Instructions: "You are a helpful assistant. Answer briefly unless asked for more.",
		Model:        scripted.Demo(),
	})
}
