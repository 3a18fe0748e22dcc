package overlap

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

const words = 3 // of an answer

// room is one agent, its tabs, and what they have asked.
type room struct {
	t        *testing.T
	node     *process.Node
	strategy string
	path     string
	hold     string
	holdAt   int // where an answer waits for release
	delay    int
	watcher  *client.Conn // asks nothing
	tabs     []*client.Conn
	barriers atomic.Int64

	mu    sync.Mutex
	asked map[string]*client.Conn // requests and whose they are
	shown map[*client.Conn][]any  // what a tab's list holds
}

var rooms atomic.Int64

func enter(t *testing.T, n *process.Node, strategy string) *room {
	t.Helper()
	name := fmt.Sprintf("room-%d", rooms.Add(1))
	r := &room{
		t: t, node: n, strategy: strategy, path: "/agents/" + strategies[strategy] + "/" + name, hold: name,
		asked: map[string]*client.Conn{}, shown: map[*client.Conn][]any{},
	}
	r.watcher = client.Open(t, n.Addr, "watcher", r.path).Greeted()
	return r
}

func (r *room) tab(name string) *client.Conn {
	r.t.Helper()
	c := client.Open(r.t, r.node.Addr, name, r.path).Greeted()
	r.tabs = append(r.tabs, c)
	return c
}

func question(request string) string { return "script:paced " + request }

func answer(request string) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "%s.%d/%d ", request, i, words)
	}
	return b.String()
}

// send asks on behalf of a tab, all in one write. The tab's list grows with what it
// asks; of the others' it knows nothing. What was turned away goes from the list.
func (r *room) send(c *client.Conn, requests ...string) {
	r.t.Helper()
	r.mu.Lock()
	var frames []any
	for _, request := range requests {
		if r.asked[request] = c; r.strategy == "drop" {
			r.shown[c] = nil
		}
		r.shown[c] = append(r.shown[c], client.User("u-"+request, question(request)))
		frames = append(frames, client.Chat(request, r.shown[c], map[string]any{
			"word": request, "words": words, "delayMs": r.delay, "hold": r.hold, "holdAt": r.holdAt,
		}))
	}
	r.mu.Unlock()
	c.SendTogether(frames...)
}

// taken returns when all that the tabs have sent was taken: what a tab sends is done
// in order, and while nothing streams an ACK of nothing is answered.
func (r *room) taken(tabs ...*client.Conn) {
	r.t.Helper()
	for _, c := range tabs {
		id := fmt.Sprintf("barrier-%d", r.barriers.Add(1))
		c.Send(client.Ack(id))
		c.Wait("the answer to an ACK", client.Done(id))
	}
}

func (r *room) release() { r.get("/release?hold=" + r.hold) }

func (r *room) get(path string) (body []byte) {
	r.t.Helper()
	res, err := http.Get("http://" + r.node.Addr + path)
	require.NoError(r.t, err)
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return nil
	}
	var raw json.RawMessage
	require.NoError(r.t, json.NewDecoder(res.Body).Decode(&raw))
	return raw
}

// awaitEnds returns when each request has an end, and all that is due has come.
func (r *room) awaitEnds() {
	r.t.Helper()
	for request, c := range r.asked {
		c.Wait("the end of "+request, client.Done(request))
	}
	r.stored()
	r.taken(append(slices.Clone(r.tabs), r.watcher)...)
}

func (r *room) stored() (messages []client.Message) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal(r.get(r.path+"/get-messages"), &messages))
	return messages
}

// completed are the requests that have been answered.
func (r *room) completed() (list []string) {
	for request, c := range r.asked {
		end := c.Wait("the end", client.Done(request))
		require.False(r.t, end.Error, end.Body)
		if end.Outcome == "" || end.Outcome == "completed" {
			list = append(list, request)
		} else {
			require.Equal(r.t, "skipped", end.Outcome, "%s", end.Raw)
		}
	}
	slices.Sort(list)
	return list
}

// order is in what order the requests have come, as far as they are stored.
func (r *room) order() (requests []string) {
	for _, m := range r.stored() {
		if m.Role == "user" {
			for line := range strings.SplitSeq(m.Parts[0].Text, "\n\n") {
				requests = append(requests, strings.TrimPrefix(line, question("")))
			}
		}
	}
	return requests
}

// first is the one of these that has come first.
func (r *room) first(of ...string) string {
	order := r.order()
	return order[slices.IndexFunc(order, func(request string) bool { return slices.Contains(of, request) })]
}

// judge is what holds whenever the requests have come: turns run one after the
// other, each request has one end, and the conversation is what the ends say.
func (r *room) judge() {
	r.t.Helper()
	for _, c := range append(slices.Clone(r.tabs), r.watcher) {
		oneAtATime(r.t, c)
		for request, count := range ends(c) {
			require.Equal(r.t, 1, count, "%s is told of the end of %s", c.Name, request)
		}
	}
	completed, order := r.completed(), r.order()
	var answers []string
	for _, m := range r.stored() {
		if m.Role == "assistant" {
			answers = append(answers, m.Parts[len(m.Parts)-1].Text)
		}
	}
	var want []string
	for _, request := range order {
		if slices.Contains(completed, request) {
			want = append(want, answer(request))
		}
	}
	require.Equal(r.t, want, answers, "what was completed is answered, once, in the order in which it came")
	known := slices.Sorted(maps.Keys(r.asked))
	if r.strategy == "drop" {
		known = completed
	} else {
		require.Contains(r.t, completed, order[len(order)-1], "the newest is answered")
	}
	require.ElementsMatch(r.t, known, order, "what is stored of the questions: %v", r.stored())
}

// judgeOrdered is what the strategies say when all but the first have come while
// that one was running.
func (r *room) judgeOrdered() {
	r.t.Helper()
	order := r.order()
	last := order[len(order)-1]
	want := map[string][]string{
		"queue": order, "drop": order[:1], "latest": {order[0], last}, "merge": {order[0], last}, "debounce": {order[0], last},
	}[r.strategy]
	require.ElementsMatch(r.t, want, r.completed())
	questions := slices.DeleteFunc(r.stored(), func(m client.Message) bool { return m.Role != "user" })
	if r.strategy == "merge" {
		require.Len(r.t, questions, 2)
		require.Equal(r.t, "u-"+last, questions[1].ID)
	} else {
		require.Len(r.t, questions, len(order))
	}
}

// ends counts the terminal frames of each request, but those of barriers.
func ends(c *client.Conn) map[string]int {
	count := map[string]int{}
	for _, f := range c.Frames() {
		if f.Terminal() && !strings.HasPrefix(f.ID, "barrier-") {
			count[f.ID]++
		}
	}
	return count
}

// oneAtATime: nothing of a turn comes while another runs, and its chunks come in
// order from the first to the end.
func oneAtATime(t *testing.T, c *client.Conn) {
	t.Helper()
	running, next := "", uint64(0)
	for _, f := range c.Frames() {
		_, content := f.Content()
		switch {
		case content && running == "":
			require.Zero(t, *f.Seq, "%s: %s begins in the middle", c.Name, f.ID)
			running, next = f.ID, 1
		case content:
			require.Equal(t, running, f.ID, "%s: two turns at a time", c.Name)
			require.Equal(t, next, *f.Seq)
			next++
		case f.Terminal() && f.ID == running:
			running = ""
		}
	}
	require.Empty(t, running)
}
