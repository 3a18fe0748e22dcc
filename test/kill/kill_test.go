package kill

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence/bolt"
	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

var (
	kills = flag.Int("kills", number("HOLDFAST_KILLS", 200), "how often the node is killed; also HOLDFAST_KILLS")
	seed  = flag.Uint64("seed", uint64(number("HOLDFAST_SEED", 0)), "of what is random; 0: another each time; also HOLDFAST_SEED")
)

func number(env string, standard int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return standard
}

func TestMain(m *testing.M) { process.Main(m) }

func TestNothingThatWasToldIsLost(t *testing.T) {
	r := newRun(t, process.Options{})
	for k := 1; k <= *kills; k++ {
		r.life(k)
		if faults := r.inspect(k%20 == 0); len(faults) > 0 {
			t.Fatalf("after kill %d (seed %d):\n%s", k, r.seed, join(faults))
		}
		r.progress(k)
	}
	r.calm()
}

// TestANodeThatTellsTooEarlyIsCaught is the proof that the check can fail: the
// store of this node says "stored" 150 ms before it is true. Each kind of client
// must notice.
func TestANodeThatTellsTooEarlyIsCaught(t *testing.T) {
	r := newRun(t, process.Options{Args: []string{"-early", "150ms"}})
	missed := []string{
		"ChatAgent/off-", "RecoverAgent/on-", "LatestAgent/some: ", "DropAgent/some: ", "MergeAgent/some: ", "DebounceAgent/some: ", "FollowAgent/some: ",
		"ChatAgent/keys: ", "RecoverAgent/keys: ", board + ": ", board + sub + "HelperAgent/stays: ", board + sub + "HelperAgent/kid",
	}
	for k := 1; k <= 60 && len(missed) > 0; k++ {
		r.life(k)
		faults := r.inspect(false)
		missed = slices.DeleteFunc(missed, func(who string) bool {
			i := slices.IndexFunc(faults, func(fault string) bool {
				return strings.HasPrefix(fault, who) && strings.Contains(fault, "in the journal")
			})
			if i >= 0 {
				t.Logf("caught after %d kills: %s", k, faults[i])
			}
			return i >= 0
		})
	}
	require.Empty(t, missed, "a node that tells before it stores was killed 60 times, and the check has noticed nothing of these")
}

// run is one node with its clients, and what is known of them.
type run struct {
	t       *testing.T
	node    *process.Node
	seed    uint64
	rng     *rand.Rand
	world   *world
	spots   []*spot
	board   *spot
	cast    cast
	copy    string // of the journal, to look at
	clients sync.WaitGroup

	stop     context.CancelFunc
	began    time.Time
	starting time.Duration // spent in starts, together
	starts   int
}

// spot is one agent: what its clients were told, and what its journal holds.
type spot struct {
	agent   string
	witness *witness
	history *history
	tabs    []*tab

	// At the end:
	served   []byte                  // by get-messages; nil: it has no conversation
	recalled map[string]client.Frame // how requests have ended, as it remembers
}

func newRun(t *testing.T, o process.Options) *run {
	r := &run{t: t, node: process.New(t, o), seed: *seed, began: time.Now(), copy: filepath.Join(t.TempDir(), "journal.db")}
	if r.seed == 0 {
		r.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d; run it again with -seed %d", r.seed, r.seed)
	r.rng = rand.New(rand.NewPCG(r.seed, 0))
	r.world = &world{addr: r.node.Addr, gate: newGate(), frames: &counter{}, cancels: newSet()}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	t.Cleanup(func() {
		r.stop()
		r.clients.Wait()
	})
	r.enter(ctx)
	return r
}

// life starts the node and kills it at a random moment: after some time, after
// some frames, or while it is still starting.
func (r *run) life(k int) {
	r.t.Helper()
	began := time.Now()
	if r.rng.IntN(8) == 0 && k > 1 {
		r.node.Launch()
		time.Sleep(time.Duration(r.rng.IntN(40)) * time.Millisecond) // the moment of the kill is what is tested
		r.node.Kill()
		return
	}
	r.node.Up()
	r.starting += time.Since(began)
	r.starts++
	r.world.gate.set(true)
	const most = 600 * time.Millisecond
	if r.rng.IntN(2) == 0 {
		time.Sleep(time.Duration(r.rng.Int64N(int64(most)))) // likewise
	} else {
		r.world.frames.wait(1+r.rng.IntN(1600), most)
	}
	require.True(r.t, r.node.Alive(), "the node has ended by itself:\n%s", r.node.Log())
	r.world.gate.set(false)
	r.node.Kill()
}

// inspect looks at a copy of the journal as the dead node has left it.
func (r *run) inspect(whole bool) (faults []string) {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.node.Data, "journal.db"))
	if os.IsNotExist(err) {
		return nil // killed before it was made
	}
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(r.copy, data, 0o600))
	store, err := bolt.Open(bolt.Config{Path: r.copy})
	if err != nil {
		return []string{err.Error()}
	}
	defer store.Close()
	ctx := context.Background()
	for _, s := range r.spots {
		if err := s.history.read(ctx, store, whole); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", s.agent, err))
		}
	}
	faults = append(faults, r.cast.check(ctx, store, r.board.history)...)
	for _, s := range r.spots {
		faults = append(faults, check(s.witness, s.history, r.world.cancels)...)
	}
	if whole {
		for err := range store.Check(ctx) {
			faults = append(faults, err.Error())
		}
	}
	return faults
}

func (r *run) progress(k int) {
	if k%10 == 0 || k == *kills {
		fmt.Printf("kill %d/%d, %s: %d requests, %d frames, %s, a start takes %s\n", k, *kills, time.Since(r.began).Round(time.Second),
			r.requests(), r.world.frames.total(), r.counts(), (r.starting / time.Duration(r.starts)).Round(time.Millisecond))
	}
}

func (r *run) requests() (n int) {
	for _, s := range r.spots {
		n += len(s.history.ends)
	}
	return n
}

// calm lets every tab ask for its last turns and come to rest, and compares what
// it shows with what is stored.
func (r *run) calm() {
	r.t.Helper()
	r.world.calm.Store(true)
	r.node.Up()
	r.world.gate.set(true)
	limit := time.Now().Add(time.Minute)
	for !r.allSettled() {
		require.True(r.t, time.Now().Before(limit), "the clients do not come to rest (seed %d)", r.seed)
		r.world.frames.wait(1, 100*time.Millisecond)
	}
	r.stop()
	r.clients.Wait()
	for _, s := range r.spots {
		if s != r.board {
			s.served, s.recalled = r.messages(s.agent), r.recall(s)
		}
	}
	require.Zero(r.t, r.node.Stop(), "exit code after SIGTERM")
	faults := append(r.inspect(true), r.cast.atRest(r.board.history)...)
	for _, s := range r.spots {
		if s != r.board {
			require.JSONEq(r.t, string(s.history.transcript()), string(s.served), "%s: get-messages and the journal", s.agent)
		}
		faults = append(faults, s.atRest()...)
	}
	if len(faults) > 0 {
		r.t.Fatalf("at the end (seed %d):\n%s", r.seed, join(faults))
	}
}

// atRest is what must be true when nothing happens any more.
func (s *spot) atRest() (faults []string) {
	for _, request := range s.history.unfinished() {
		faults = append(faults, fmt.Sprintf("%s: request %s was accepted and has never ended", s.agent, request))
	}
	for _, request := range s.history.unanswered() {
		faults = append(faults, fmt.Sprintf("%s: request %s was completed and has no answer", s.agent, request))
	}
	for _, request := range s.history.follows.missing() {
		faults = append(faults, fmt.Sprintf("%s: the answer of request %s was never followed up", s.agent, request))
	}
	faults = append(faults, s.history.misremembered(s.recalled)...)
	for _, tab := range s.tabs {
		faults = append(faults, tab.differs(s.served)...)
	}
	return faults
}

// recall asks the agent, by ACKs, how all requests have ended that clients know of.
func (r *run) recall(s *spot) map[string]client.Frame {
	r.t.Helper()
	c := client.Open(r.t, r.node.Addr, "recall", "/agents/"+kebab(s.agent)).Greeted()
	told := map[string]client.Frame{}
	for request := range s.witness.testify().accepted {
		c.Send(client.Ack(request))
		told[request] = c.Wait("the end of a request", client.Done(request))
	}
	return told
}

func (r *run) allSettled() bool {
	for _, s := range r.spots {
		for _, tab := range s.tabs {
			if !tab.settled.Load() {
				return false
			}
		}
	}
	return r.cast.settled()
}

func (r *run) messages(agent string) []byte {
	r.t.Helper()
	res, err := http.Get("http://" + r.node.Addr + "/agents/" + kebab(agent) + "/get-messages")
	require.NoError(r.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, res.StatusCode, "%s", body)
	return body
}

// differs compares what a tab shows with what is stored.
func (t *tab) differs(served []byte) (faults []string) {
	var stored []client.Message
	if err := json.Unmarshal(served, &stored); err != nil {
		return []string{err.Error()}
	}
	shown := map[string]string{}
	for _, m := range t.shown {
		shown[m.ID] = strings.Join(texts(m), "|")
	}
	for _, m := range stored {
		text, ok := shown[m.ID]
		if want := strings.Join(texts(m), "|"); !ok || text != want {
			faults = append(faults, fmt.Sprintf("tab %s shows message %s as %q (%t), stored is %q", t.name, m.ID, text, ok, want))
		}
		delete(shown, m.ID)
	}
	for id, text := range shown {
		faults = append(faults, fmt.Sprintf("tab %s shows message %s, which is not stored: %q", t.name, id, text))
	}
	return faults
}

func join(faults []string) string {
	if len(faults) > 12 {
		faults = append(faults[:12:12], fmt.Sprintf("… and %d more", len(faults)-12))
	}
	return "  " + strings.Join(faults, "\n  ")
}
