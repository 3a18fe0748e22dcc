package anthropic

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/sse"
)

// A mender lets the library read what servers that have copied the protocol
// send: events without a name, the marker of another protocol, and no message_stop
// after the reason to stop.
type mender struct {
	stopped bool // the reason to stop has come
}

// Event implements [sse.Mender].
func (m *mender) Event(e sse.Event) ([]sse.Event, error) {
	data := bytes.TrimSpace(e.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil, nil
	}
	var fields struct {
		Type  string
		Error json.RawMessage
		Delta struct {
			StopReason string `json:"stop_reason"`
		}
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	switch {
	case fields.Type != "":
		e.Name = fields.Type
	case len(fields.Error) > 0:
		e.Name = "error"
	}
	m.stopped = m.stopped || e.Name == "message_delta" && fields.Delta.StopReason != ""
	return []sse.Event{e}, nil
}

// End implements [sse.Mender].
func (m *mender) End(err error) ([]sse.Event, error) {
	switch {
	case m.stopped: // what broke after it was not the answer
		return []sse.Event{{Name: "message_stop", Data: []byte(`{"type":"message_stop"}`)}}, io.EOF
	case err == io.EOF: //nolint:errorlint // a plain one: a wrapped one is no clean end
		return nil, failure.ErrTruncated
	}
	return nil, err
}
