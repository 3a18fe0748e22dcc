package protocol

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// The frames that a node sends, encoded by hand: keys in alphabetical order, as
// the recordings of the protocol have them (clients do not care).

// object builds one JSON object. The zero value is ready; end closes it.
type object struct{ b []byte }

func (o *object) key(k string) {
	if o.b == nil {
		o.b = make([]byte, 0, 128)
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, k...)
	o.b = append(o.b, `":`...)
}

func (o *object) text(k, v string) {
	o.key(k)
	o.b = uimessage.AppendString(o.b, v)
}

// raw writes JSON as it is.
func (o *object) raw(k string, v []byte) {
	o.key(k)
	o.b = append(slices.Grow(o.b, len(v)+64), validText(v)...)
}

// optional writes v unless it is empty.
func (o *object) optional(k, v string) {
	if v != "" {
		o.text(k, v)
	}
}

func (o *object) bool(k string, v bool) {
	o.key(k)
	o.b = strconv.AppendBool(o.b, v)
}

// flag writes true, or nothing.
func (o *object) flag(k string, v bool) {
	if v {
		o.bool(k, v)
	}
}

// list writes v unless it is empty.
func (o *object) list(k string, v []string) {
	if len(v) == 0 {
		return
	}
	o.key(k)
	sep := byte('[')
	for _, s := range v {
		o.b = append(o.b, sep)
		o.b = uimessage.AppendString(o.b, s)
		sep = ','
	}
	o.b = append(o.b, ']')
}

func (o *object) end(kind string) []byte {
	o.text("type", kind)
	return append(o.b, '}')
}

const chatResponse = "cf_agent_use_chat_response"

var (
	noServers  = []byte(`{"prompts":[],"resources":[],"servers":{},"tools":[]}`)
	clearFrame = []byte(`{"type":"cf_agent_chat_clear"}`)
)

// mcpFrame tells the states of the agent's MCP servers; nil: there are none.
func mcpFrame(mcp []byte) []byte {
	if mcp == nil {
		mcp = noServers
	}
	var o object
	o.raw("mcp", mcp)
	return o.end("cf_agent_mcp_servers")
}

// updatedFrame: clients replace the message of that id, or the one with the same calls.
func updatedFrame(message []byte) []byte {
	var o object
	o.raw("message", message)
	return o.end("cf_agent_message_updated")
}

// identityFrame: with stateFollows a client waits for the state before it is ready.
func identityFrame(a feed.Address, stateFollows bool) []byte {
	var o object
	o.text("agent", Kebab(a.Class))
	o.text("name", a.Name)
	o.flag("stateFollows", stateFollows)
	return o.end("cf_agent_identity")
}

func stateFrame(state []byte) []byte {
	var o object
	o.raw("state", state)
	return o.end("cf_agent_state")
}

func stateErrorFrame(text string) []byte {
	var o object
	o.text("error", text)
	return o.end("cf_agent_state_error")
}

// resultFrame is a piece of what a call returns, or its end. A method that returns
// nothing has no result, which is not the same as null.
func resultFrame(id string, result []byte, done bool) []byte {
	var o object
	o.bool("done", done)
	o.text("id", id)
	if result != nil {
		o.raw("result", result)
	}
	o.bool("success", true)
	return o.end("rpc")
}

func failureFrame(id, text string) []byte {
	var o object
	o.text("error", text)
	o.text("id", id)
	o.bool("success", false)
	return o.end("rpc")
}

// probe is what a client wrote into probeId of a resume request; unsolicited
// frames have none.
type probe struct {
	id    string
	given bool
}

func (p probe) write(o *object) {
	if p.given {
		o.text("probeId", p.id)
	}
}

func resumingFrame(request string, p probe) []byte {
	var o object
	o.text("id", request)
	p.write(&o)
	return o.end("cf_agent_stream_resuming")
}

func pendingFrame(request string, p probe) []byte {
	var o object
	o.text("id", request)
	p.write(&o)
	return o.end("cf_agent_stream_pending")
}

// noneFrame: the reason "idle" is the client's proof that nothing runs; without
// a reason the frame only ends a wait.
func noneFrame(reason string, p probe) []byte {
	var o object
	p.write(&o)
	o.optional("reason", reason)
	return o.end("cf_agent_stream_resume_none")
}

func recoveringFrame(on bool, request string) []byte {
	var o object
	o.optional("id", request)
	o.bool("recovering", on)
	return o.end("cf_agent_chat_recovering")
}

// messagesFrame: with connect a client keeps what it had typed while offline.
func messagesFrame(messages []byte, connect bool) []byte {
	var o object
	o.raw("messages", messages)
	o.flag("connect", connect)
	return o.end("cf_agent_chat_messages")
}

// validText is b as it may stand in a text frame: browsers end a socket that sends
// them anything but UTF-8.
func validText(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\ufffd"))
}

func emptyList(messages []byte) bool {
	m := bytes.TrimSpace(messages)
	return len(m) == 0 || len(bytes.Trim(m, "[] \t\r\n")) == 0
}

// terminalFrames tells the end of a turn: two frames for an error that came as
// a chunk of the stream, one for everything else.
func terminalFrames(e *feed.Ended) [][]byte {
	switch {
	case e.Outcome != feed.Errored:
		outcome := ""
		if e.Outcome != feed.Completed || e.Text != "" {
			outcome = string(e.Outcome)
		}
		return [][]byte{terminalFrame(e, e.Text, outcome)}
	case e.InBand:
		return [][]byte{errorFrame(e, false), terminalFrame(e, "", string(feed.Errored))}
	default:
		return [][]byte{errorFrame(e, true)}
	}
}

func terminalFrame(e *feed.Ended, text, outcome string) []byte {
	var o object
	o.text("body", text)
	o.flag("continuation", e.Continuation)
	o.bool("done", true)
	o.text("id", e.Request)
	o.list("messageIds", e.MessageIDs)
	o.optional("outcome", outcome)
	return o.end(chatResponse)
}

// errorFrame carries the readable text of e. Clients stop listening to the
// request whether done or not.
func errorFrame(e *feed.Ended, done bool) []byte {
	var o object
	o.text("body", e.Text)
	o.flag("continuation", e.Continuation)
	o.bool("done", done)
	o.bool("error", true)
	o.text("id", e.Request)
	o.list("messageIds", e.MessageIDs)
	return o.end(chatResponse)
}

// refusalFrame ends a request that was never accepted.
func refusalFrame(request, text string) []byte {
	return errorFrame(&feed.Ended{Request: request, Text: text}, true)
}

// settledFrame answers an ACK for a stream that is over. e is nil when nothing
// is known of the request; request is "" when the ACK named none.
func settledFrame(request string, e *feed.Ended) []byte {
	var o object
	o.text("body", "")
	if e != nil {
		o.flag("continuation", e.Continuation)
	}
	o.bool("done", true)
	o.optional("id", request)
	if e != nil {
		o.list("messageIds", e.MessageIDs)
		if e.Outcome != feed.Completed {
			o.optional("outcome", string(e.Outcome))
		}
	}
	o.bool("replay", true)
	return o.end(chatResponse)
}

func replayCompleteFrame(request string, continuation bool) []byte {
	var o object
	o.text("body", "")
	o.flag("continuation", continuation)
	o.bool("done", false)
	o.text("id", request)
	o.bool("replay", true)
	o.bool("replayComplete", true)
	return o.end(chatResponse)
}
