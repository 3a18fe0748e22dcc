package actors_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// greet is a plain agent that writes down what it hears of its sockets.
func greet(log chan<- string) *actors.Agent {
	return &actors.Agent{
		Name: "Greet",
		Terms: func(_ context.Context, _ *actors.Self, r *http.Request) (actors.Terms, error) {
			return actors.Terms{Tags: strings.Fields(r.URL.Query().Get("tags"))}, nil
		},
		OnConnect: func(ctx context.Context, self *actors.Self, c *actors.Connection) error {
			c.Set("n", len(self.Connections()))
			log <- fmt.Sprintf("%s connects to %s as %s, %v", c.Key(), self.Address(), c.Request().Header.Get("X-User"), actors.ConnectionFrom(ctx) == c)
			return c.Send("hello")
		},
		OnMessage: func(_ context.Context, _ *actors.Self, c *actors.Connection, data []byte, binary bool) error {
			log <- fmt.Sprintf("%s, number %v, says %s, %v", c.Key(), c.Get("n"), data, binary)
			return nil
		},
		OnClose: func(_ context.Context, self *actors.Self, c *actors.Connection, code int, reason string) error {
			log <- fmt.Sprintf("%s leaves, %d %s, %d are left", c.Key(), code, reason, len(self.Connections()))
			return nil
		},
	}
}

func connect(t *testing.T, h *actorstest.Harness, r *actors.Ref, target string) *actorstest.Socket {
	t.Helper()
	s, err := h.Connect(r, target)
	require.NoError(t, err)
	return s
}

func TestHooksOfASocket(t *testing.T) {
	log := make(chan string, 10)
	agent := greet(log)
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	req := httptest.NewRequest(http.MethodGet, "/?_pk=page", nil)
	req.Header.Set("X-User", "ada")
	s, err := h.ConnectRequest(r, req)
	require.NoError(t, err)
	other := connect(t, h, r, "?_pk=other")
	require.Equal(t, "page connects to Greet/room as ada, true", <-log)
	require.Equal(t, "other connects to Greet/room as , true", <-log)
	s.Say("one")
	s.SayBinary([]byte("two"))
	require.Equal(t, "page, number 1, says one, false", <-log)
	require.Equal(t, "page, number 1, says two, true", <-log)
	s.Leave(4000, "bye")
	require.Equal(t, "page leaves, 4000 bye, 1 are left", <-log)
	require.Equal(t, []string{"hello"}, s.Frames())
	other.Leave(1006, "")
	require.Equal(t, "other leaves, 1006 , 0 are left", <-log)
}

func TestConnectionsAreFoundByTheirTags(t *testing.T) {
	agent := greet(make(chan string, 10))
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	self := &actors.Self{Ref: r}
	for _, target := range []string{"?_pk=a&tags=red+big", "?_pk=b&tags=red", "?_pk=c"} {
		connect(t, h, r, target)
	}
	connect(t, h, h.Agent(agent, "another room"), "?_pk=d&tags=red")
	for tags, want := range map[string]string{"": "a b c", "red": "a b", "big": "a", "red big": "a", "blue": ""} {
		var keys []string
		for _, c := range self.Connections(strings.Fields(tags)...) {
			keys = append(keys, c.Key())
		}
		require.Equal(t, want, strings.Join(keys, " "), tags)
	}
	c := self.Connections()[0]
	require.Equal(t, []string{"red", "big"}, c.Tags())
	require.False(t, c.Readonly())
	require.Nil(t, c.Get("unknown"))
}

func TestFramesOfTheAuthors(t *testing.T) {
	agent := greet(make(chan string, 10))
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	s := connect(t, h, r, "")
	c := (&actors.Self{Ref: r}).Connections()[0]
	data := []byte{1, 2}
	require.NoError(t, c.SendBinary(data))
	data[0] = 9
	require.NoError(t, c.SendJSON("<"))
	require.NoError(t, c.Send("\xff"))
	require.Error(t, c.SendJSON(func() {}))
	require.Equal(t, []string{"hello", "\x01\x02", `"<"`, "\uFFFD"}, s.Frames())
	c.Close(4001, "no \xff")
	code, reason := s.Closed()
	require.Equal(t, 4001, code)
	require.Equal(t, "no \uFFFD", reason)
	require.ErrorIs(t, c.Send("late"), actors.ErrConnectionClosed)
}

func TestABroadcastComesBehindWhatWasDecidedBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := greet(make(chan string, 10))
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		connect(t, h, r, "")
		c := (&actors.Self{Ref: r}).Connections()[0]
		release := f.hold()
		go func() { _ = r.SetState(t.Context(), 1) }()
		synctest.Wait()
		go func() { _ = r.Broadcast(t.Context(), "text\xff", c, nil) }()
		synctest.Wait()
		require.Equal(t, []string{"Loaded"}, describe(h.Items(r.Address())))
		release()
		synctest.Wait()
		require.NoError(t, r.BroadcastBinary(t.Context(), []byte{1}))
		require.NoError(t, r.BroadcastJSON(t.Context(), []string{"<"}))
		require.Error(t, r.BroadcastJSON(t.Context(), func() {}))
		require.Equal(t, []feed.Item{
			feed.State{JSON: []byte("1")},
			feed.Cast{Data: []byte("text\uFFFD"), Except: []string{c.ID()}},
			feed.Cast{Data: []byte{1}, Binary: true},
			feed.Cast{Data: []byte(`["<"]`)},
		}, h.Items(r.Address())[1:])
	})
}

func TestAConnectionOutlivesTheAgentsStayInMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := make(chan string, 10)
		agent := greet(log)
		agent.PassivateAfter = time.Second
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		s := connect(t, h, r, "?_pk=page")
		<-log
		for range 2 {
			require.NoError(t, r.Broadcast(t.Context(), "x"))
			pass(time.Hour)
		}
		require.Equal(t, []string{"Loaded", "Cast", "Loaded", "Cast"}, describe(h.Items(r.Address())))
		s.Say("still here")
		require.Equal(t, "page, number 1, says still here, false", <-log)
	})
}

func TestAHookOfASocketThatFailsIsToldToOnErrorAndNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		heard := make(chan string, 10)
		agent := &actors.Agent{
			Name: "Greet", HookTimeout: time.Second,
			OnConnect: func(context.Context, *actors.Self, *actors.Connection) error { return errCable },
			OnMessage: func(ctx context.Context, _ *actors.Self, _ *actors.Connection, data []byte, _ bool) error {
				if string(data) == "hang" {
					<-ctx.Done()
				}
				panic(string(data))
			},
			OnClose: func(context.Context, *actors.Self, *actors.Connection, int, string) error { return errCable },
			OnError: func(ctx context.Context, self *actors.Self, err error) {
				first, _, _ := strings.Cut(err.Error(), "\n")
				heard <- actors.ConnectionFrom(ctx).Key() + " " + first
			},
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		s := connect(t, h, r, "?_pk=page")
		require.Equal(t, "page OnConnect: the cable is out", <-heard)
		s.Say("oh")
		require.Equal(t, "page OnMessage: panic: oh", <-heard)
		s.Say("hang")
		require.Equal(t, "page OnMessage: actors: the hook took longer than HookTimeout", <-heard)
		code, _ := s.Closed()
		require.Zero(t, code, "the socket goes on")
		s.Leave(1000, "")
		require.Equal(t, "page OnClose: the cable is out", <-heard)
	})
}

func TestTermsDecideOverASocket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		heard := make(chan error, 10)
		agent := &actors.Agent{
			Name: "Door",
			Terms: func(ctx context.Context, self *actors.Self, r *http.Request) (actors.Terms, error) {
				switch who := r.URL.Query().Get("who"); who {
				case "guest":
					return actors.Terms{Readonly: true, NoIdentity: true, Who: who}, nil
				case "machine":
					return actors.Terms{NoProtocol: true}, self.SetState(ctx, who)
				case "thief":
					return actors.Terms{}, actors.Errorf("not you")
				case "late":
					<-ctx.Done()
					return actors.Terms{}, nil
				}
				panic("who?")
			},
			OnError: func(_ context.Context, _ *actors.Self, err error) { heard <- err },
			OnClose: func(context.Context, *actors.Self, *actors.Connection, int, string) error { panic("it was not there") },
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		peer := func(who string) (*actors.Peer, error) {
			return r.Connect(t.Context(), connect(t, h, r, "?who=guest"), httptest.NewRequest(http.MethodGet, "/?who="+who, nil))
		}
		p, err := peer("guest")
		require.NoError(t, err)
		require.Equal(t, feed.Terms{Readonly: true, NoIdentity: true, Who: "guest"}, p.Terms())
		p, err = peer("machine")
		require.NoError(t, err)
		require.Equal(t, feed.Terms{NoProtocol: true}, p.Terms())
		p.Closed(1006, "") // before OnConnect
		for who, want := range map[string]actors.Error{
			"thief": {Code: actors.Denied, Message: "not you"},
			"late":  {Code: actors.Internal, Message: "Unknown error occurred"},
			"?":     {Code: actors.Internal, Message: "Unknown error occurred"},
		} {
			_, err = peer(who)
			var e *actors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, want.Code, e.Code, who)
			require.Equal(t, want.Message, e.Message, who)
		}
		synctest.Wait()
		require.Len(t, heard, 2)
	})
}

func TestNoIdentityIsForAllSockets(t *testing.T) {
	agent := &actors.Agent{Name: "Quiet", NoIdentity: true}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	p, err := r.Connect(t.Context(), connect(t, h, r, ""), httptest.NewRequest(http.MethodGet, "/", nil))
	require.NoError(t, err)
	require.Equal(t, feed.Terms{NoIdentity: true}, p.Terms())
	p.Opened(t.Context())
	p.Message(t.Context(), []byte("no hook"), false)
	p.Closed(1000, "")
}

func TestRequestsToAnAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		heard := make(chan error, 10)
		agent := &actors.Agent{
			Name: "Desk", InitialState: "open",
			OnError: func(_ context.Context, _ *actors.Self, err error) { heard <- err },
			OnRequest: func(w http.ResponseWriter, r *http.Request, self *actors.Self) {
				switch r.PathValue("rest") {
				case "/wait":
					<-r.Context().Done()
					http.Error(w, context.Cause(r.Context()).Error(), http.StatusServiceUnavailable)
				case "/panic":
					panic("no")
				case "/half":
					_, _ = w.Write([]byte("half"))
					panic("no")
				default:
					var state string
					_ = self.State(r.Context(), &state)
					http.NewResponseController(w).SetWriteDeadline(time.Time{}) //nolint:errcheck // a recorder has none
					fmt.Fprintf(w, "%s %s is %s", r.Method, r.PathValue("rest"), state)
				}
			},
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		serve := func(rest string) (*httptest.ResponseRecorder, bool) {
			w := httptest.NewRecorder()
			ok := r.Serve(w, httptest.NewRequest(http.MethodPut, "/agents/desk/room"+rest, nil), rest)
			return w, ok
		}
		for rest, want := range map[string]string{"": "PUT / is open", "/a/b": "PUT /a/b is open"} {
			w, ok := serve(rest)
			require.True(t, ok)
			require.Equal(t, want, w.Body.String())
		}
		w, ok := serve("/panic")
		require.True(t, ok)
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.NotContains(t, w.Body.String(), "no")
		require.ErrorContains(t, <-heard, "OnRequest: panic: no")
		require.PanicsWithValue(t, http.ErrAbortHandler, func() { _, _ = serve("/half") }, "the client must see that it is cut off")
		require.ErrorContains(t, <-heard, "OnRequest: panic: no")

		waits := make(chan *httptest.ResponseRecorder, 1)
		go func() { w, _ := serve("/wait"); waits <- w }()
		synctest.Wait()
		require.NoError(t, h.Stop(t.Context()))
		require.Contains(t, (<-waits).Body.String(), "the node is stopping")
		w, _ = serve("/late")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
	})
}

func TestAPlainAgentHasNoConversation(t *testing.T) {
	agent := &actors.Agent{Name: "Plain"}
	require.False(t, agent.Chats())
	require.True(t, echo().Chats())
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	_, err := r.Chat(t.Context(), "hi")
	for _, err := range []error{
		err, r.Submit(t.Context(), submit("r1", "hi")), r.AbortRequest(t.Context(), "r1"), r.ClearMessages(t.Context()),
		r.SetMessages(t.Context(), "", nil), func() error { _, err := r.Messages(t.Context()); return err }(),
	} {
		require.EqualError(t, err, "Plain is no chat agent: it has neither Model nor OnChatMessage")
	}
	v := view(t, h, r, 1)
	require.Nil(t, v.Messages)
	require.Nil(t, v.State)
	require.False(t, r.Serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), ""), "there is no OnRequest")
}

func TestATurnKnowsTheConnectionThatHasAskedForIt(t *testing.T) {
	agent := echo()
	askers := make(chan string, 1)
	agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
		who := "nobody"
		if c := actors.ConnectionFrom(ctx); c != nil {
			who = c.Key()
		}
		askers <- who
		return turn.Stream.Text("yes")
	}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	page := connect(t, h, r, "?_pk=page")
	gone := connect(t, h, r, "?_pk=gone")
	gone.Leave(1001, "")
	for request, c := range map[string]struct{ by, want string }{
		"r1": {page.ID(), "page"}, "r2": {gone.ID(), "nobody"}, "r3": {"", "nobody"},
	} {
		s := submit(request, "hi")
		s.By = c.by
		require.NoError(t, r.Submit(t.Context(), s))
		require.Equal(t, c.want, <-askers)
	}
	_, err := r.Chat(t.Context(), "hi")
	require.NoError(t, err)
	require.Equal(t, "nobody", <-askers)
}
