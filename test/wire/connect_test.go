package wire

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/test/client"
)

// connectEmpty: what each kind of agent says first.
func connectEmpty(s *stage) {
	p := s.room("s01")
	a := s.open("A", p)
	a.Send(client.Probe("probe01"))
	a.Wait("an answer", client.AnswerTo("probe01"))
	s.settle(p, a)
	s.settleCalls(s.open("B", s.agent("bare-agent", "s01")), s.open("C", s.agent("quiet-agent", "s01")))
	s.settle("/custom/user", s.open("D", "/custom/user"))
	s.settleCalls(s.openAs("E", "", s.agent("state-agent", "s01")))
}

// getMessages reads the transcript by all its paths, and asks for what is refused.
func getMessages(s *stage) {
	p, gate := s.room("s04"), s.agent("state-agent", "s04")+"/sub/helper-agent/"
	s.messages(p)
	a := s.open("A", p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:text hi"))
	a.Wait("the end", client.Done(id))
	s.settle(p, a)
	s.messages(p)
	for _, r := range []struct{ method, path string }{
		{http.MethodGet, p + "/get-messages?_pk=zzz&token=abc"}, {http.MethodPost, p + "/get-messages"}, {http.MethodGet, p + "/anything/get-messages"},
		{http.MethodOptions, p + "/get-messages"}, {http.MethodGet, p}, {http.MethodGet, p + "/other"},
		{http.MethodGet, "/agents/nope-agent/x/get-messages"}, {http.MethodGet, "/agents/chat-agent"}, {http.MethodGet, p + "/get-messages?deny=1"},
		{http.MethodGet, p + "/sub/helper-agent/kid1/get-messages"}, {http.MethodGet, p + "/sub/nope-agent/kid1/get-messages"},
		{http.MethodGet, gate + "forbidden/get-messages"}, {http.MethodGet, gate + "boom/get-messages"}, {http.MethodGet, "/custom/get-messages"},
	} {
		s.http(r.method, r.path)
	}
	s.turnedAway("D1", p+"?deny=1")
	s.turnedAway("D2", gate+"forbidden")
	s.turnedAway("D3", gate+"boom")
	s.turnedAway("D4", "/agents/nope-agent/x")
	s.turnedAway("D5", p+"/sub/nope-agent/x")
}
