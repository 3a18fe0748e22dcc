package node

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

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
		c.Agent = p.agents[0].Name
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("url %q is not the address of a node, such as http://localhost:8787", c.URL)
	}
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	u = u.JoinPath("agents", protocol.Kebab(c.Agent), url.PathEscape(c.Room))
	u.RawQuery = "_pk=" + rand.Text()
	t := &terminal{url: u.String(), out: p.out, frames: make(chan termFrame), lines: make(chan string)}
	fmt.Fprintf(p.out, "%s, room %q. An empty line stops an answer, /clear forgets everything, /quit leaves.\n", c.Agent, c.Room)
	return t.run(p.ctx, p.in)
}

// terminal is a chat client on two streams of text. Its fields belong to run's
// goroutine.
type terminal struct {
	url    string
	out    io.Writer
	frames chan termFrame
	lines  chan string

	conn     *websocket.Conn // nil while there is no connection
	messages []json.RawMessage
	request  string   // that is being answered; "" if none
	text     string   // of the answer, as streamed so far
	shown    int      // bytes of text that are on the screen
	unsent   []string // typed meanwhile
}

// termFrame is a frame of the node, or the end of a connection.
type termFrame struct {
	Type           string            `json:"type"`
	ID             string            `json:"id"`
	Body           string            `json:"body"`
	Done           bool              `json:"done"`
	Error          bool              `json:"error"`
	Outcome        string            `json:"outcome"`
	Messages       []json.RawMessage `json:"messages"`
	from           *websocket.Conn
	connected, end bool
	err            error
}

func (t *terminal) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go t.scan(ctx, in)
	go t.connect(ctx)
	defer func() {
		if t.conn != nil {
			_ = t.conn.Close(websocket.StatusNormalClosure, "")
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-t.lines:
			if !ok && t.request == "" && len(t.unsent) == 0 {
				return nil
			}
			if !ok {
				t.lines = nil // the answer is still to come
				continue
			}
			if line == "/quit" {
				return nil
			}
			t.typed(ctx, line)
		case f := <-t.frames:
			if err := t.received(ctx, f); err != nil {
				return err
			}
			if t.lines == nil && t.request == "" && len(t.unsent) == 0 {
				return nil
			}
		}
	}
}

func (t *terminal) scan(ctx context.Context, in io.Reader) {
	defer close(t.lines)
	for s := bufio.NewScanner(in); s.Scan(); {
		select {
		case t.lines <- strings.TrimSpace(s.Text()):
		case <-ctx.Done():
			return
		}
	}
}

// connect keeps a connection open and hands on what it brings.
func (t *terminal) connect(ctx context.Context) {
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		conn, _, err := websocket.Dial(ctx, t.url, nil)
		if err == nil {
			wait = time.Second
			conn.SetReadLimit(-1)
			t.hand(ctx, termFrame{from: conn, connected: true})
			err = t.read(ctx, conn)
		}
		t.hand(ctx, termFrame{from: conn, end: true, err: err})
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func (t *terminal) read(ctx context.Context, conn *websocket.Conn) error {
	defer conn.CloseNow()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		f := termFrame{from: conn}
		if json.Unmarshal(data, &f) == nil {
			t.hand(ctx, f)
		}
	}
}

func (t *terminal) hand(ctx context.Context, f termFrame) {
	select {
	case t.frames <- f:
	case <-ctx.Done():
	}
}

func (t *terminal) typed(ctx context.Context, line string) {
	switch {
	case line == "" && t.request != "":
		t.send(ctx, map[string]any{"type": "cf_agent_chat_request_cancel", "id": t.request})
	case line == "":
	case line == "/clear":
		t.send(ctx, map[string]any{"type": "cf_agent_chat_clear"})
		t.messages = nil
	case t.conn == nil || t.request != "":
		t.unsent = append(t.unsent, line) // goes when the node is there and the answer over
	default:
		t.ask(ctx, line)
	}
}

func (t *terminal) ask(ctx context.Context, line string) {
	m, err := json.Marshal(map[string]any{"id": rand.Text(), "role": "user", "parts": []any{map[string]string{"type": "text", "text": line}}})
	if err != nil {
		return
	}
	t.messages = append(t.messages, m)
	body, err := json.Marshal(map[string]any{"messages": t.messages, "trigger": "submit-message"})
	if err != nil {
		return
	}
	t.request, t.text, t.shown = rand.Text()[:8], "", 0
	t.send(ctx, map[string]any{"type": "cf_agent_use_chat_request", "id": t.request, "init": map[string]string{"method": "POST", "body": string(body)}})
}

func (t *terminal) send(ctx context.Context, frame any) {
	data, err := json.Marshal(frame)
	if err != nil || t.conn == nil {
		return
	}
	_ = t.conn.Write(ctx, websocket.MessageText, data) // a broken connection ends the read as well
}

func (t *terminal) received(ctx context.Context, f termFrame) error {
	switch {
	case f.connected:
		t.conn = f.from
		t.send(ctx, map[string]string{"type": "cf_agent_stream_resume_request", "probeId": rand.Text()[:8]})
	case f.end:
		if f.from != nil && t.conn == f.from {
			fmt.Fprintln(t.out, "\n(the connection is gone; trying again)")
		} else if t.conn == nil && f.from == nil && len(t.messages) == 0 && len(t.unsent) == 0 {
			fmt.Fprintf(t.out, "(no node answers: %v; trying again)\n", f.err)
		}
		t.conn = nil
	case f.Type == "cf_agent_chat_messages":
		t.transcript(f.Messages)
	case f.Type == "cf_agent_chat_clear":
		t.messages = nil
		fmt.Fprintln(t.out, "(the conversation was cleared)")
	case f.Type == "cf_agent_stream_resuming":
		t.request, t.text = f.ID, ""
		t.send(ctx, map[string]string{"type": "cf_agent_stream_resume_ack", "id": f.ID})
	case f.Type == "cf_agent_stream_pending" && f.ID != "":
		t.request = f.ID
	case f.Type == "cf_agent_stream_resume_none":
		t.over(ctx)
	case f.Type == "cf_agent_use_chat_response":
		t.response(ctx, f)
	}
	return nil
}
