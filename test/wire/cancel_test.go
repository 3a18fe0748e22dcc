package wire

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/test/client"
)

func cancelMidStream(s *stage) {
	p := s.room("s13")
	a, b := s.open("A", p), s.open("B", p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:slow go"))
	a.WaitN(3, "text", client.ChunkOf(id, "text-delta"))
	a.Send(client.Cancel(id))
	a.Wait("the end", client.Done(id))
	s.settle(p, a, b)
	s.messages(p)
	a.Send(client.Cancel("unknown"))
	s.settle(p, a, b)
}

func cancelQueued(s *stage) {
	p := s.room("s13b")
	a := s.open("A", p)
	id, id2 := s.request(), s.request()
	question := client.User("u1", "script:slow go")
	s.chat(a, id, question)
	a.Wait("text", client.ChunkOf(id, "text-delta"))
	s.chat(a, id2, question, client.User("u2", "script:text q"))
	a.Send(client.Cancel(id2))
	a.Wait("the end of the queued turn", client.Done(id2))
	a.Wait("the end", client.Done(id))
	s.settle(p, a)
	s.messages(p)
}

// clearDuringAndAfter also writes the conversation from a client (set messages).
func clearDuringAndAfter(s *stage) {
	p := s.room("s14")
	a, b := s.open("A", p), s.open("B", p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:slow go"))
	a.WaitN(3, "text", client.ChunkOf(id, "text-delta"))
	a.Send(client.ClearAll())
	a.Wait("the end", client.Done(id))
	s.settle(p, a, b)
	s.messages(p)
	id2 := s.request()
	s.chat(a, id2, client.User("u2", "script:text hi"))
	a.Wait("the end", client.Done(id2))
	s.settle(p, a, b)
	a.Send(client.ClearAll())
	s.settle(p, a, b)
	s.messages(p)
	kept := client.User("u9", "kept")
	edited := json.RawMessage(`{"id":"as9","role":"assistant","parts":[{"type":"text","text":"edited"}]}`)
	for _, messages := range [][]any{{kept, edited}, {kept}, {}} {
		a.Send(map[string]any{"type": client.Messages, "messages": messages})
		s.settle(p, a, b)
		s.messages(p)
	}
}

func clearWithQueuedTurn(s *stage) {
	p := s.room("s14b")
	a, b := s.open("A", p), s.open("B", p)
	id, id2 := s.request(), s.request()
	question := client.User("u1", "script:slow go")
	s.chat(a, id, question)
	a.Wait("text", client.ChunkOf(id, "text-delta"))
	s.chat(a, id2, question, client.User("u2", "script:text q"))
	b.WaitN(2, "the second request", client.OfType(client.Messages))
	a.Send(client.ClearAll())
	a.Wait("the end", client.Done(id))
	a.Wait("the end of the queued turn", client.Done(id2))
	s.settle(p, a, b)
	s.messages(p)
}
