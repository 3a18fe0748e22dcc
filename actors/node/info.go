package node

import (
	"encoding/json"
	"net/http"
	"runtime/debug"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol"
)

// noteOf is what people should know of the agents' models.
func noteOf(agents []*actors.Agent) string {
	for _, a := range agents {
		if n, ok := a.Model.(model.Noter); ok && n.Note() != "" {
			return n.Note()
		}
	}
	return ""
}

// modelOf is the name of the first model.
func modelOf(agents []*actors.Agent) string {
	for _, a := range agents {
		if a.Model != nil {
			return a.Model.Name()
		}
	}
	return ""
}

// info is what the page asks for, at GET /holdfast/info. Agents are those that chat.
type info struct {
	Version string      `json:"version"`
	Model   infoModel   `json:"model"`
	Agents  []infoAgent `json:"agents"`
}

type infoModel struct {
	Name     string `json:"name"`
	Note     string `json:"note"`
	Scripted bool   `json:"scripted"`
}

type infoAgent struct {
	Class string   `json:"class"`
	Path  string   `json:"path"`
	Tools []string `json:"tools,omitempty"` // names
}

func infoHandler(agents []*actors.Agent) http.HandlerFunc {
	i := info{Version: version(), Model: infoModel{Name: modelOf(agents), Note: noteOf(agents)}}
	i.Model.Scripted = i.Model.Note != ""
	for _, a := range agents {
		if !a.Chats() {
			continue
		}
		told := infoAgent{Class: a.Name, Path: "/agents/" + protocol.Kebab(a.Name)}
		for _, t := range a.Tools {
			told.Tools = append(told.Tools, t.Name)
		}
		i.Agents = append(i.Agents, told)
	}
	data, err := json.Marshal(i)
	if err != nil {
		panic(err) // strings only
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(data)
	}
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
