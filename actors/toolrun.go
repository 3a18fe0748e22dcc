package actors

import (
	"context"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
)

// toolPanicked is what the model is told of a function that has panicked.
const toolPanicked = "The tool has failed."

// prepareTool runs a call of the server's.
func (a *shell) prepareTool(e chat.RunTool) func(context.Context) chat.Command {
	return func(context.Context) chat.Command {
		return chat.ToolReturned{CallID: e.CallID, Attempt: e.Attempt, Failed: true, Text: toolPanicked, Now: nowMS()}
	}
}

// prepareCompact has the conversation summed up for models.
func (a *shell) prepareCompact(e chat.Compact) func(context.Context) chat.Command {
	return func(context.Context) chat.Command {
		return chat.Compacted{Turn: e.Turn, Attempt: e.Attempt, Failed: generalFailure, Now: nowMS()}
	}
}
