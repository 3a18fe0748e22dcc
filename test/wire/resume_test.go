package wire

import "github.com/holdfast-dev/holdfast/test/client"

func disconnectMidStreamResume(s *stage) {
	p := s.room("s11")
	a, b := s.open("A", p), s.open("B", p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:slow go"))
	a.WaitN(3, "text", client.ChunkOf(id, "text-delta"))
	s.drop(a)
	a2 := s.openAs("A2", "A", p)
	a2.Send(client.Probe("p11"))
	a2.Wait("an offer", client.AnswerTo("p11"))
	a2.Send(client.Ack(id))
	a2.Wait("the end", client.Done(id))
	s.settle(p, a2, b)
	s.messages(p)
	a2.Send(client.Probe("p11b"))
	a2.Wait("an answer", client.AnswerTo("p11b"))
	a2.Send(client.Ack(id))
	s.settle(p, a2)
}

// lateAckMissedFrames: a connection that is offered a stream gets none of it
// before it ACKs.
func lateAckMissedFrames(s *stage) {
	p := s.room("s11b")
	a := s.open("A", p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:slow go"))
	a.Wait("text", client.ChunkOf(id, "text-delta"))
	c := s.open("C", p)
	a.WaitN(6, "text", client.ChunkOf(id, "text-delta"))
	c.Send(client.Ack(id))
	c.Wait("the end", client.Done(id))
	a.Wait("the end", client.Done(id))
	s.settle(p, a, c)
}

func ackAfterStreamFinished(s *stage) {
	p := s.room("s11c")
	a := s.open("A", p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:slow go"))
	a.Wait("text", client.ChunkOf(id, "text-delta"))
	c := s.open("C", p)
	a.Wait("the end", client.Done(id))
	c.Wait("the end", client.Done(id))
	c.Send(client.Ack(id))
	c.Send(client.Ack("unknown-request"))
	s.settle(p, a, c)
}

// reconnectBeforeStreamStarts: a turn that is accepted and has not begun is pending.
func reconnectBeforeStreamStarts(s *stage) {
	p := s.room("s11d")
	a, other := s.open("A", p), s.observer(p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:prestream go"))
	other.Wait("the request", client.OfType(client.Messages))
	s.drop(a)
	a2 := s.openAs("A2", "A", p)
	a2.Send(client.Probe("p11d"))
	a2.Wait("an answer", client.AnswerTo("p11d"))
	a2.Wait("the offer of the stream", client.OfType(client.Resuming))
	a2.Send(client.Ack(id))
	a2.Wait("the end", client.Done(id))
	s.settle(p, a2)
}

// parkedThenNoStream: who waits for a turn is released when it ends without a
// word, and when the conversation is cleared.
func parkedThenNoStream(s *stage) {
	p := s.room("s11e")
	a, other := s.open("A", p), s.observer(p)
	id := s.request()
	question := client.User("u1", "script:prestreamnone go")
	s.chat(a, id, question)
	other.Wait("the request", client.OfType(client.Messages))
	c := s.open("C", p)
	c.Send(client.Probe("p11e"))
	a.Wait("the end", client.Done(id))
	c.Wait("the end", client.Done(id))
	s.settle(p, a, c)
	id2 := s.request()
	s.chat(a, id2, question, client.User("u2", "script:prestream go"))
	c.Wait("the request", client.OfType(client.Messages))
	d := s.open("D", p)
	d.Send(client.Probe("p11e2"))
	d.Wait("an answer", client.AnswerTo("p11e2"))
	a.Send(client.ClearAll())
	a.Wait("the end", client.Done(id2))
	s.settle(p, a, c, d)
	s.messages(p)
}

func resumeRequestIdle(s *stage) {
	p := s.room("s12")
	a := s.open("A", p)
	a.Send(client.Probe("p12"))
	a.Wait("an answer", client.AnswerTo("p12"))
	a.Send(map[string]any{"type": "cf_agent_stream_resume_request"})
	a.WaitN(2, "an answer", client.OfType(client.None))
	a.Send(client.Ack("ghost"))
	s.settle(p, a)
}

// restart kills the node in mid-answer.
func restart(class string) func(*stage) {
	return func(s *stage) {
		p := s.agent(class, "s32")
		a := s.open("A", p)
		id := s.request()
		s.chat(a, id, client.User("u1", "script:veryslow go"))
		a.WaitN(10, "text", client.ChunkOf(id, "text-delta"))
		s.deaf["A"] = true
		s.node.Kill()
		s.node.Up()
		b := s.openAs("A2", "A", p)
		b.Send(client.Probe("p32"))
		acked := map[string]bool{}
		b.Wait("the end of what there is to resume", func(f *client.Frame) bool {
			if f.Type == client.Resuming && !acked[f.ID] {
				acked[f.ID] = true
				b.Send(client.Ack(f.ID))
			}
			return f.Type == client.Response && f.Done || f.Type == client.None
		})
		s.settle(p, b)
		s.messages(p)
		b.Send(client.Probe("p32b"))
		b.Wait("an answer", client.AnswerTo("p32b"))
	}
}
