package chat

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// TestTranscripts plays the files of testdata. To accept a changed transcript
// run go test -rewrite, read the diff, and commit it only if you can explain it.
//
// Output of a command: its events as the journal numbers them, what sockets are
// told (>), and what is outstanding after it (->).
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			p := &play{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				do, ok := commands[d.Cmd]
				if !ok {
					d.Fatalf(t, "no such command")
				}
				if p.rig == nil {
					p.begin(t, Policy{})
				}
				p.rig.t = t
				do(p, d)
				return p.take()
			})
		})
	}
}

// play is a rig whose steps are written down.
type play struct {
	*rig
	out strings.Builder
}

func (p *play) begin(t *testing.T, policy Policy) {
	p.rig = newRig(t, policy)
	p.rig.told = func(events []Event, items []feed.Item) {
		first := int(p.state().Version) - len(events) + 1
		for i, e := range events {
			fmt.Fprintf(&p.out, "%2d %s\n", first+i, describeEvent(e))
		}
		for _, item := range items {
			fmt.Fprintf(&p.out, " > %s\n", describeItem(item))
		}
	}
}

func (p *play) take() string {
	fmt.Fprintf(&p.out, "-> %s\n", describeOutstanding(p.state(), p.now))
	out := p.out.String()
	p.out.Reset()
	return out
}

func (p *play) do(cmd Command) {
	events, _, err := p.step(cmd)
	switch {
	case err != nil:
		fmt.Fprintf(&p.out, "refused: %v\n", err)
	case len(events) == 0:
		p.out.WriteString("nothing\n")
	}
}

// commands by name. Messages are written a line each, id and text; ids that
// begin with a are the assistant's. An outcome is of what is due first, unless
// its arguments (turn, step, attempt) say otherwise.
var commands = map[string]func(*play, *datadriven.TestData){
	"policy":      (*play).newAgent,
	"submit":      (*play).submit,
	"continue":    (*play).goOn,
	"prepared":    (*play).prepared,
	"interrupt":   func(p *play, d *datadriven.TestData) { p.do(Interrupt{}) },
	"reset":       func(p *play, d *datadriven.TestData) { p.do(Reset{}) },
	"answer":      (*play).answer,
	"sleep":       func(p *play, d *datadriven.TestData) { p.now += int64(number(d, "ms", 0)) },
	"cancel":      func(p *play, d *datadriven.TestData) { p.do(Cancel{Request: word(d, 0)}) },
	"clear":       func(p *play, d *datadriven.TestData) { p.do(Clear{Key: value(d, "key")}) },
	"setmessages": func(p *play, d *datadriven.TestData) { p.do(SetMessages{Messages: p.messages(d.Input)}) },
	"setstate":    func(p *play, d *datadriven.TestData) { p.do(SetState{JSON: []byte(d.Input)}) },
	"swapstate":   (*play).swapState,
	"persist":     func(p *play, d *datadriven.TestData) { p.do(Persist{Messages: p.messages(d.Input)}) },
	"open":        (*play).open,
	"say":         func(p *play, d *datadriven.TestData) { p.say(d.Input) },
	"keep":        func(p *play, d *datadriven.TestData) { p.keep(chunks(d.Input)...) },
	"reserve": func(p *play, d *datadriven.TestData) {
		p.do(Reserve{Turn: number(d, "turn", 1), Attempt: uint32(number(d, "attempt", 1))})
	},
	"answered":    (*play).answered,
	"erred":       (*play).erred,
	"handler":     (*play).handler,
	"delivered":   func(p *play, d *datadriven.TestData) { p.do(Delivered{ID: number(d, "id", p.delivery().ID)}) },
	"undelivered": (*play).undelivered,
	"cleaned":     (*play).cleaned,
	"timer":       (*play).timer,
	"register": func(p *play, d *datadriven.TestData) {
		p.do(RegisterSub{Class: word(d, 0), Name: word(d, 1), Now: p.now})
	},
	"remove": func(p *play, d *datadriven.TestData) { p.do(RemoveSub{Class: word(d, 0), Name: word(d, 1)}) },
	"removed": func(p *play, d *datadriven.TestData) {
		e, _ := p.firstDue().(DeleteSub)
		p.do(SubRemoved(e))
	},
	"opencall":   (*play).openCall,
	"returned":   (*play).returned,
	"result":     (*play).result,
	"approve":    (*play).approves,
	"startloop":  (*play).startLoop,
	"stopped":    (*play).stopped,
	"compacted":  (*play).compacted,
	"delete":     func(p *play, d *datadriven.TestData) { p.do(Delete{Reason: "asked", IfUnused: d.HasArg("if-unused")}) },
	"erase":      func(p *play, _ *datadriven.TestData) { p.erase() },
	"rest":       func(p *play, d *datadriven.TestData) { p.do(Rest{}) },
	"crash":      (*play).crashes,
	"activate":   func(p *play, d *datadriven.TestData) { p.crash(0) },
	"rebase":     (*play).rebases,
	"transcript": (*play).transcript,
	"prompt":     (*play).prompt,
}

func (p *play) newAgent(d *datadriven.TestData) {
	t, _ := p.t.(*testing.T)
	p.begin(t, Policy{
		Handler: d.HasArg("handler"), Hook: d.HasArg("hook"), NoRecovery: d.HasArg("no-recovery"),
		MaxCrashes: uint32(number(d, "crashes", 0)), MaxFailures: uint32(number(d, "failures", 0)),
		MaxDeliveries: uint32(number(d, "deliveries", 0)), MaxQueuedTurns: int(number(d, "queue", 0)),
		Overlap: overlaps[value(d, "overlap")], Debounce: int64(number(d, "debounce", 0)),
		MaxMessages: int(number(d, "messages", 0)), MaxBytes: int(number(d, "bytes", 0)), Sanitizes: d.HasArg("sanitizes"),
	})
}

var overlaps = map[string]Overlap{"": Queue, "latest": Latest, "merge": Merge, "drop": Drop, "debounce": Debounce}

func (p *play) submit(d *datadriven.TestData) {
	cmd := Submit{
		Request: word(d, 0), Messages: p.messages(d.Input), Regenerate: d.HasArg("regenerate"), Programmatic: d.HasArg("programmatic"),
		Append: d.HasArg("append"), Deferred: d.HasArg("deferred"), Fingerprint: []byte(value(d, "fingerprint")), Now: p.now,
		Ids: Ids{Request: "unused", Message: "a-" + word(d, 0)},
	}
	if body := value(d, "body"); body != "" {
		cmd.Body = []byte(body)
	}
	p.do(cmd)
}

func (p *play) goOn(d *datadriven.TestData) {
	p.do(Continue{Request: word(d, 0), Body: []byte(value(d, "body"))})
}

func (p *play) prepared(d *datadriven.TestData) {
	e, _ := p.firstDue().(Prepare)
	p.do(Prepared{Turn: number(d, "turn", e.Turn), Messages: p.messages(d.Input), Failed: d.HasArg("failed")})
}

// answer tells what became of a request.
func (p *play) answer(d *datadriven.TestData) {
	t, ended, known := p.state().Answer(word(d, 0))
	switch {
	case !known:
		p.out.WriteString("unknown\n")
	case t != nil:
		fmt.Fprintf(&p.out, "turn %d is at it\n", t.ID)
	default:
		fmt.Fprintf(&p.out, "turn %d: %s %q, message %s\n", ended.Turn, outcomes[ended.Outcome], ended.Text, ended.MessageID)
	}
}

// messages reads a line each. An id alone is the stored message as it is; JSON is
// a message as it comes.
func (p *play) messages(input string) []uimessage.Message {
	var list []uimessage.Message
	for _, line := range lines(input) {
		id, text, ok := strings.Cut(line, " ")
		id, as, renamed := strings.Cut(id, "=")
		switch {
		case strings.HasPrefix(line, "{"):
			m, err := uimessage.ParseMessage([]byte(line))
			require.NoError(p.t, err)
			list = append(list, m)
		case renamed: // new=stored: a copy under another id
			m, _ := p.state().Transcript.Message(as)
			m.ID = id
			list = append(list, m)
		case !ok:
			m, _ := p.state().Transcript.Message(id)
			list = append(list, m)
		case strings.HasPrefix(id, "a"):
			list = append(list, message(id, uimessage.Assistant, text))
		default:
			list = append(list, message(id, uimessage.User, text))
		}
	}
	return list
}

func (p *play) open(d *datadriven.TestData) {
	p.do(OpenStream{Turn: number(d, "turn", 1), Attempt: uint32(number(d, "attempt", 1))})
}

// chunks reads one a line: its type, id and text; or JSON.
func chunks(input string) []uimessage.Chunk {
	var list []uimessage.Chunk
	for _, line := range lines(input) {
		if c, err := uimessage.ParseChunk([]byte(line)); err == nil {
			list = append(list, c)
			continue
		}
		f := strings.SplitN(line+"  ", " ", 3)
		c := uimessage.Chunk{Type: f[0], Delta: strings.TrimSuffix(f[2], "  ")}
		if c.Type == "start" {
			c.MessageID = f[1]
		} else {
			c.ID = f[1]
		}
		list = append(list, c)
	}
	return list
}

func (p *play) call(d *datadriven.TestData) CallModel {
	var e CallModel
	work, _ := p.state().Outstanding()
	for _, w := range work {
		if w, ok := w.(CallModel); ok {
			e = w
		}
	}
	return CallModel{
		Turn: number(d, "turn", e.Turn), Step: uint32(number(d, "step", uint64(e.Step))), Attempt: uint32(number(d, "attempt", uint64(e.Attempt))),
	}
}

func (p *play) answered(d *datadriven.TestData) {
	e := p.call(d)
	p.do(StepAnswered{Last: !d.HasArg("more"), Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Content: []byte(strconv.Quote(d.Input)), Reason: cmp.Or(value(d, "reason"), "stop"), Model: "m", Usage: usage(d)})
}

func (p *play) erred(d *datadriven.TestData) {
	cmd := p.fail(p.call(d), d.HasArg("transient")).(StepErred)
	cmd.Compacts = d.HasArg("compacts")
	cmd.RetryAfter = int64(number(d, "retry-after", 0))
	p.do(cmd)
}

var results = map[string]HandlerResult{
	"answered": Answered, "empty": Empty, "silent": Silent, "failed": Failed, "in-band": FailedInBand, "cut": CutShort,
}

func (p *play) handler(d *datadriven.TestData) {
	e, _ := p.firstDue().(Handle)
	result, ok := results[word(d, 0)]
	require.True(p.t, ok, "no such result")
	p.do(HandlerEnded{Turn: number(d, "turn", e.Turn), Attempt: uint32(number(d, "attempt", uint64(e.Attempt))), Result: result, Text: d.Input})
}

func (p *play) undelivered(d *datadriven.TestData) {
	e := p.delivery()
	p.do(DeliveryErred{ID: e.ID, Attempt: e.Attempt, Text: d.Input, Now: p.now})
}

func (p *play) cleaned(d *datadriven.TestData) {
	work, _ := p.state().Outstanding()
	for _, e := range work {
		if e, ok := e.(Clean); ok {
			p.do(Cleaned{Clean: e, Message: message(e.ID, uimessage.Assistant, d.Input), Failed: d.HasArg("failed")})
		}
	}
}

// timer lets the time of the first wait come, or fires one by its key.
func (p *play) timer(d *datadriven.TestData) {
	if key := value(d, "key"); key != "" {
		p.do(TimerFired{Key: key, Now: p.now})
		return
	}
	p.wait()
}

func (p *play) crashes(d *datadriven.TestData) {
	before := len(p.journal)
	events := p.crash(int(number(d, "lose", 0)))
	if n := before + len(events) - len(p.journal); n > 0 {
		fmt.Fprintf(&p.out, "lost %d streamed records\n", n)
	}
}

func (p *play) rebases(d *datadriven.TestData) {
	if !p.state().CanRebase() {
		p.out.WriteString("not now\n")
		return
	}
	before := picture(p.state())
	p.rebase()
	require.Equal(p.t, before, picture(p.state()))
	p.out.WriteString("the state is the same\n")
}

// swapState reads two lines: what the state must be, and what it becomes.
func (p *play) swapState(d *datadriven.TestData) {
	was, next, _ := strings.Cut(d.Input, "\n")
	cmd := SetState{Swap: true, JSON: []byte(next)}
	if was != "none" {
		cmd.Was = []byte(was)
	}
	p.do(cmd)
}
