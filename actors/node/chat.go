package node

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/protocol"
)

type chatCommand struct {
	Agent string `arg:"" optional:"" help:"Class of the agent; default: the first of this program."`
	Room  string `help:"Name of the conversation." default:"terminal"`
	URL   string `help:"Where the node is." default:"http://localhost:8787" name:"url"`
}

func (c *chatCommand) Run(p *program) error {
	if c.Agent == "" {
		if len(p.agents) == 0 {
			return errors.New("name the agent to talk to: this program has none of its own")
		}
		c.Agent = p.agents[0].Name
	}
	l, err := c.link()
	if err != nil {
		return err
	}
	t := &terminal{out: p.out, link: l, lines: make(chan string), seen: map[string]bool{}, seq: -1}
	if f, ok := p.in.(*os.File); ok {
		info, err := f.Stat()
		t.echoes = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	t.greeting = fmt.Sprintf("%s, room %q. An empty line stops an answer, /clear forgets everything, /quit leaves.", c.Agent, c.Room)
	return t.run(p.ctx, p.in)
}

// link prepares the connection to the node.
func (c *chatCommand) link() (*link, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--url %q is not the address of a node, such as http://localhost:8787", c.URL)
	}
	room := url.PathEscape(c.Room)
	if room == "" || room == "." || room == ".." {
		return nil, fmt.Errorf("--room %q cannot be part of an address", c.Room)
	}
	agent := u.JoinPath("agents", protocol.Kebab(c.Agent), room)
	socket := *agent
	socket.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	socket.RawQuery = url.Values{"_pk": {rand.Text()}}.Encode()
	return &link{node: c.URL, agent: c.Agent, socket: socket.String(), transcript: agent.JoinPath("get-messages").String(), frames: make(chan frame)}, nil
}

// terminal is a chat client on two streams of text. Its fields belong to run's
// goroutine.
type terminal struct {
	out      io.Writer
	greeting string // to be said when the node has answered; "" after that
	link     *link
	lines    chan string // closed at the end of the input; nil after that
	broken   error       // why the input ended too early; written before lines is closed

	conn    *websocket.Conn // nil while there is no connection
	probe   string          // id of the question what there is to resume
	settled bool            // it has been answered on this connection

	asked  *question // sent, and not known to have arrived
	unsent []string  // typed, and to be sent when the answer is over

	// The answer under way, see chatview.go.
	request string // "" if there is none
	seq     int64  // of its newest chunk; -1 before the first
	base    string // what the message said before request went on with it
	text    string // what request has added
	failed  bool   // the newest answer has

	// The screen.
	seen    map[string]bool // ids of messages that are on it
	answer  string          // id of the newest answer on it
	shown   string          // what is on it of that answer
	stored  string          // what the node has stored of that answer, as last told; "" if unknown
	midline bool
	echoes  bool // what is typed shows on it
}

// question is what a person has asked. Its ids stay, so that it can be sent again
// without being asked twice.
type question struct{ message, request, text string }

func (t *terminal) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	var links sync.WaitGroup
	links.Go(func() { t.link.run(ctx) })
	// The reader ends with its input: there is no way to cut a read of it short.
	go t.scan(ctx, in)
	defer func() {
		if t.conn != nil {
			_ = t.conn.Close(websocket.StatusNormalClosure, "")
		}
		cancel()
		links.Wait()
		t.say("")
	}()
	for !t.done() {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-t.lines:
			switch {
			case !ok:
				t.lines = nil
			case line == "/quit":
				return nil
			default:
				t.typed(ctx, line)
			}
		case f := <-t.link.frames:
			if f.fatal != nil {
				return f.fatal
			}
			t.received(ctx, f)
		}
	}
	switch {
	case t.broken != nil:
		return fmt.Errorf("the input cannot be read: %w", t.broken)
	case t.failed:
		return errors.New("the last answer has failed, see above")
	}
	return nil
}

// done: the input has ended, and everything that it asked has been answered.
func (t *terminal) done() bool {
	return t.lines == nil && t.settled && t.request == "" && t.asked == nil && len(t.unsent) == 0
}

// maxLine is what a node takes in one frame.
const maxLine = 16 << 20

func (t *terminal) scan(ctx context.Context, in io.Reader) {
	defer close(t.lines)
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		select {
		case t.lines <- strings.TrimSpace(s.Text()):
		case <-ctx.Done():
			return
		}
	}
	t.broken = s.Err()
}

func (t *terminal) typed(ctx context.Context, line string) {
	if t.echoes {
		t.midline = false // the person has ended the line
	}
	switch {
	case line == "" && t.request == "":
	case line == "" && !t.settled:
		t.say("(there is no connection: try again when it is back)")
	case line == "":
		t.send(ctx, map[string]any{"type": "cf_agent_chat_request_cancel", "id": t.request})
	case line == "/clear" && t.settled:
		t.clear(ctx)
	default:
		t.unsent = append(t.unsent, line)
		t.next(ctx)
	}
}

// clear wipes the conversation. The node tells only the others.
func (t *terminal) clear(ctx context.Context) {
	t.send(ctx, map[string]any{"type": "cf_agent_chat_clear"})
	t.say("(the conversation was cleared)")
}

// next sends what was typed, one by one.
func (t *terminal) next(ctx context.Context) {
	if len(t.unsent) == 0 || !t.settled || t.request != "" {
		return
	}
	line := t.unsent[0]
	t.unsent = t.unsent[1:]
	if line == "/clear" {
		t.clear(ctx)
		t.next(ctx)
		return
	}
	q := &question{message: rand.Text(), request: rand.Text()[:8], text: line}
	t.asked, t.request, t.seq, t.base, t.text, t.failed = q, q.request, -1, "", "", false
	t.seen[q.message] = true
	t.answer, t.shown, t.stored = "", "", ""
	t.ask(ctx)
}

// ask sends the question under its ids. Only the new message goes along: the node
// knows the others, and removes none.
func (t *terminal) ask(ctx context.Context) {
	message := map[string]any{"id": t.asked.message, "role": "user", "parts": []any{map[string]string{"type": "text", "text": t.asked.text}}}
	body, err := json.Marshal(map[string]any{"messages": []any{message}, "trigger": "submit-message"})
	if err != nil {
		return // cannot be: strings only
	}
	t.send(ctx, map[string]any{"type": "cf_agent_use_chat_request", "id": t.asked.request, "init": map[string]string{"method": "POST", "body": string(body)}})
}

func (t *terminal) send(ctx context.Context, frame any) {
	data, err := json.Marshal(frame)
	if err != nil || t.conn == nil {
		return
	}
	_ = t.conn.Write(ctx, websocket.MessageText, data) // a broken connection ends the read as well
}

func (t *terminal) received(ctx context.Context, f frame) {
	switch {
	case f.connected != nil:
		t.conn = f.connected
		t.say(t.greeting)
		t.greeting = ""
		t.ready(ctx)
	case f.gone != nil:
		t.conn, t.settled = nil, false
		t.say(fmt.Sprintf("(the connection is gone, trying again: %v)", f.gone))
	case f.Type == "cf_agent_chat_messages":
		t.transcript(f.Messages)
	case f.Type == "cf_agent_chat_clear":
		t.say("(the conversation was cleared)")
	case f.Type == "cf_agent_stream_resuming":
		t.resume(f)
		t.transcript(f.Messages)
		t.send(ctx, map[string]string{"type": "cf_agent_stream_resume_ack", "id": f.ID})
		t.settle(ctx, f)
	case f.Type == "cf_agent_stream_pending":
		t.resume(f)
		t.settle(ctx, f)
	case f.Type == "cf_agent_stream_resume_none" && f.ProbeID != t.probe && t.request != "":
		t.ready(ctx) // what we waited for will not come; what is there instead?
	case f.Type == "cf_agent_stream_resume_none" && f.ProbeID == t.probe:
		if t.asked == nil && t.request != "" {
			t.finish(ctx) // while there was no connection; the transcript has shown it
		}
		t.settle(ctx, f)
	case f.Type == "cf_agent_use_chat_response":
		t.response(ctx, f)
	}
}

// ready asks what there is to resume.
func (t *terminal) ready(ctx context.Context) {
	t.settled, t.probe = false, rand.Text()[:8]
	t.send(ctx, map[string]string{"type": "cf_agent_stream_resume_request", "probeId": t.probe})
}

// settle: f may be the answer to our question what there is to resume. What the
// node has not got by then got lost with a connection.
func (t *terminal) settle(ctx context.Context, f frame) {
	if t.settled || f.ProbeID != t.probe {
		return
	}
	t.settled = true
	if t.asked != nil {
		t.request, t.seq, t.base, t.text = t.asked.request, -1, "", ""
		t.ask(ctx)
	}
	t.next(ctx)
}
