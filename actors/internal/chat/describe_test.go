package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// How transcripts write things down, and read arguments.

func word(d *datadriven.TestData, i int) string {
	if i < len(d.CmdArgs) {
		return d.CmdArgs[i].Key
	}
	return ""
}

func value(d *datadriven.TestData, key string) string {
	if arg, ok := d.Arg(key); ok {
		return strings.Join(arg.Vals, ",")
	}
	return ""
}

func number(d *datadriven.TestData, key string, standard uint64) uint64 {
	if n, err := strconv.ParseUint(value(d, key), 10, 64); err == nil {
		return n
	}
	return standard
}

func lines(input string) []string {
	return slices.DeleteFunc(strings.Split(input, "\n"), func(l string) bool { return l == "" })
}

func (p *play) firstDue() Effect {
	if work, _ := p.state().Outstanding(); len(work) > 0 {
		return work[0]
	}
	return nil
}

func (p *play) delivery() Delivery {
	if d := p.state().Outbox.head(); d != nil {
		return *d
	}
	return Delivery{}
}

func (p *play) transcript(*datadriven.TestData) {
	for _, m := range p.state().Transcript.Messages {
		fmt.Fprintf(&p.out, "%s %s", m.ID, describeParts(m.JSON))
		if steps := p.state().Transcript.Steps(m.ID); len(steps) > 0 {
			fmt.Fprintf(&p.out, " (the model's words: %s)", contents(steps))
		}
		p.out.WriteString("\n")
	}
}

func (p *play) prompt(*datadriven.TestData) {
	for _, e := range p.state().PromptFor(p.state().Turns.Running()) {
		if e.Summary != "" {
			fmt.Fprintf(&p.out, "in short: %s\n", e.Summary)
			continue
		}
		fmt.Fprintf(&p.out, "%s %s", e.ID, describeParts(e.JSON))
		if len(e.Steps) > 0 {
			fmt.Fprintf(&p.out, " (the model's words: %s)", contents(e.Steps))
		}
		p.out.WriteString("\n")
	}
}

// describeEvent writes an event's name and the fields that are set.
func describeEvent(e Event) string {
	m := e.ProtoReflect()
	kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	body := m.Get(kind).Message()
	out := string(body.Descriptor().Name())
	fields := body.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); body.Has(f) {
			name := strings.TrimSuffix(strings.TrimSuffix(string(f.Name()), "_json"), "_ms")
			out += " " + name + "=" + describeField(f, body.Get(f))
		}
	}
	return out
}

func describeField(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch {
	case f.IsList():
		var list []string
		for i := range v.List().Len() {
			list = append(list, describeValue(f, v.List().Get(i)))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case strings.HasSuffix(string(f.Name()), "_ms"):
		if v.Int() < epoch {
			return "now"
		}
		return "+" + since(v.Int())
	default:
		return describeValue(f, v)
	}
}

func describeValue(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.EnumKind:
		name := string(f.Enum().Values().ByNumber(v.Enum()).Name())
		prefix := string(f.Enum().Values().ByNumber(0).Name())
		return strings.ToLower(strings.TrimPrefix(name, strings.TrimSuffix(prefix, "UNSPECIFIED")))
	case protoreflect.MessageKind:
		switch m := v.Message().Interface().(type) {
		case *pb.StoredMessage:
			return m.GetId() + " " + describeParts(m.GetJson())
		case *Usage:
			return fmt.Sprintf("%d+%d", m.GetInput(), m.GetOutput())
		case *pb.ChunkRun:
			return describeRun(m)
		default:
			return fmt.Sprint(m)
		}
	case protoreflect.BytesKind:
		return string(v.Bytes())
	case protoreflect.StringKind:
		if s := v.String(); strings.Contains(s, " ") {
			return strconv.Quote(s)
		}
		return v.String()
	default:
		return v.String()
	}
}

func describeRun(r *ChunkRun) string {
	if kind := deltaType[r.GetKind()]; kind != "" {
		return fmt.Sprintf("%dx %s %s %q", len(r.GetLengths()), kind, r.GetPartId(), r.GetText())
	}
	c, err := uimessage.ParseChunk(r.GetBody())
	if err != nil {
		return string(r.GetBody())
	}
	return strings.TrimSpace(c.Type + " " + c.ID + c.MessageID + c.ToolCallID)
}

// describeParts writes text in quotes, with … while it is not finished, a step
// as |, and other parts by type and state.
func describeParts(raw []byte) string {
	m, err := uimessage.ParseMessage(raw)
	if err != nil {
		return "unreadable: " + err.Error()
	}
	var parts []string
	for _, p := range m.Parts {
		switch {
		case p.Type == uimessage.StepStart:
			parts = append(parts, "|")
		case p.Type == uimessage.TextPart && p.State == uimessage.Streaming:
			parts = append(parts, strconv.Quote(p.Text)+"…")
		case p.Type == uimessage.TextPart:
			parts = append(parts, strconv.Quote(p.Text))
		default:
			parts = append(parts, strings.TrimSpace(p.Type+" "+p.State))
		}
	}
	return strings.Join(parts, " ")
}

func since(ms int64) string { return (time.Duration(ms-epoch) * time.Millisecond).String() }

func describeOutstanding(s *State, now int64) string {
	work, waits := s.Outstanding()
	var list []string
	for _, e := range work {
		list = append(list, e.Key())
	}
	for _, w := range waits {
		list = append(list, fmt.Sprintf("%s waits %s", w.Key, time.Duration(max(w.Until-now, 0))*time.Millisecond))
	}
	if len(list) == 0 {
		return "idle"
	}
	return strings.Join(list, ", ")
}

func describeItem(item feed.Item) string {
	switch it := item.(type) {
	case feed.Accepted:
		return "accepted " + it.Request
	case feed.Opened:
		return "opened " + it.Request + flags(map[string]bool{"continuation": it.Continuation}) + ofPage(it.Page)
	case feed.Closed:
		return "closed " + it.Request
	case feed.Transcript:
		var ids []string
		list, _ := uimessage.ParseMessages(it.Messages)
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		switch {
		case it.Private:
			return fmt.Sprintf("transcript %v, only to the sender of %s", ids, it.Request)
		case it.Request == "":
			return fmt.Sprintf("transcript %v, to all", ids)
		}
		return fmt.Sprintf("transcript %v, not to the sender of %s", ids, it.Request)
	case feed.Ended:
		return describeEnd(it)
	case feed.Cleared:
		return "cleared"
	case feed.Closing:
		return fmt.Sprintf("sockets are closed, %d %s", it.Code, it.Reason)
	case feed.Recovery:
		return fmt.Sprintf("recovering %v %s", it.On, it.Request)
	case feed.Loaded:
		out := fmt.Sprintf("loaded, pending %v", it.Pending)
		if it.Recovering != "" {
			out += ", recovering " + it.Recovering
		}
		if it.Failed != nil {
			out += fmt.Sprintf(", failed %s %q with %d chunks", it.Failed.Request, it.Failed.Text, len(it.FailedLog))
		}
		if it.Armed != nil {
			out += ", armed " + it.Armed.Request + ofPage(it.Armed.Page)
		}
		for _, c := range it.Runnable {
			out += ", runnable " + c.Call
		}
		return out
	case feed.Armed:
		return "armed " + it.Request + ofPage(it.Page)
	case feed.Disarmed:
		return "disarmed " + it.Request
	case feed.Updated:
		return "updated " + describeMessage(it.Message)
	case feed.Runnable:
		return "runnable " + it.Call + ofPage(it.Page) + flags(map[string]bool{"now": it.Now}) + ": " + describeMessage(it.Message)
	case feed.Settled:
		return "settled " + it.Call
	case feed.State:
		return "state " + string(it.JSON)
	case feed.Chunk, feed.View: // take their own way
	}
	return fmt.Sprintf("%T %+v", item, item)
}

func ofPage(page string) string {
	if page == "" {
		return ""
	}
	return " of page " + page
}

func describeMessage(raw []byte) string {
	m, _ := uimessage.ParseMessage(raw)
	return m.ID + " " + describeParts(raw)
}

func describeEnd(e feed.Ended) string {
	out := fmt.Sprintf("ended %s %s%s", e.Request, e.Outcome, flags(map[string]bool{
		"continuation": e.Continuation, "in band": e.InBand, "only to its sender": e.Private,
	}))
	if e.Text != "" {
		out += fmt.Sprintf(" %q", e.Text)
	}
	return fmt.Sprintf("%s, asked %v", out, e.MessageIDs)
}

func flags(set map[string]bool) string {
	var out string
	for _, name := range []string{"continuation", "in band", "only to its sender", "now"} {
		if set[name] {
			out += ", " + name
		}
	}
	return out
}

// contents are the model's words, without where they belong.
func contents(records []Record) []json.RawMessage {
	var all []json.RawMessage
	for _, r := range records {
		all = append(all, r.Content)
	}
	return all
}
