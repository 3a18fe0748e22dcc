package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestTurnOverRealSocket(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("?_pk=a").greeted()
	a.send(`{"type":"cf_agent_stream_resume_request","probeId":"p1"}`)
	require.Equal(t, `{"probeId":"p1","reason":"idle","type":"cf_agent_stream_resume_none"}`, a.read())
	a.send(chat("r1", "hi"))
	sub := (<-n.asked).(feed.Submit)
	require.Equal(t, "r1", sub.Request)
	n.put(roomOne, feed.Accepted{Request: "r1"}, feed.Opened{Request: "r1"}, delta(0, "Hel"), delta(1, "lo"),
		feed.Closed{Request: "r1"}, feed.Transcript{Messages: []byte(`[1]`), Request: "r1"},
		feed.Ended{Request: "r1", Outcome: feed.Completed, MessageIDs: []string{"u1"}})
	require.Equal(t, `{"body":"{\"type\":\"text-delta\",\"id\":\"t\",\"delta\":\"Hel\"}","done":false,"id":"r1","seq":0,"type":"cf_agent_use_chat_response"}`, a.read())
	a.read()
	require.Equal(t, `{"body":"","done":true,"id":"r1","messageIds":["u1"],"type":"cf_agent_use_chat_response"}`, a.read())
}
