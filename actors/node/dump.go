package node

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-dev/holdfast/persistence"
)

type dumpCommand struct {
	Data  string `help:"Folder of the journal." default:"data" type:"path"`
	Agent string `arg:"" optional:"" help:"Agent as Class/name. Without it all agents are listed."`
}

func (c *dumpCommand) Run(p *program) error {
	store, err := openExisting(c.Data)
	if err != nil {
		return err
	}
	defer store.Close()
	if c.Agent == "" {
		return list(p, store)
	}
	info, _, err := store.Find(p.ctx, c.Agent, persistence.Batch{})
	switch {
	case err != nil:
		return err
	case info.Deleted:
		return fmt.Errorf("agent %q was deleted: nothing is left of it", c.Agent)
	case info.Head == 0:
		return nobody(c.Agent)
	}
	for r, err := range store.Read(p.ctx, c.Agent, 1) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(p.out, line(r)); err != nil {
			return err
		}
	}
	return nil
}

func nobody(agent string) error {
	return fmt.Errorf("no agent %q is in this journal: dump without a name lists those that are", agent)
}

// list prints a line for each agent, those that were deleted, too.
func list(p *program, store persistence.Store) error {
	agents := 0
	err := eachStream(p.ctx, store, "", func(i persistence.Info) error {
		agents++
		_, err := fmt.Fprintln(p.out, summary(i))
		return err
	})
	if err == nil && agents == 0 {
		fmt.Fprintln(p.out, "no agents")
	}
	return err
}

// summary is an agent in a line: its name, how many records it has, and whether it
// has work.
func summary(i persistence.Info) string {
	records := i.Head
	switch {
	case i.Deleted:
		records = 0
	case i.Base > 0: // it has taken the place of those before it
		records -= i.Base - 1
	}
	return i.Stream + "\t" + count(int(records), "record") + "\t" + wakeText(i)
}

func wakeText(i persistence.Info) string {
	switch {
	case i.Deleted:
		return "deleted"
	case i.Wake == persistence.Never:
		return "idle"
	case i.Wake == persistence.Now:
		return "has work"
	}
	return "waits until " + time.UnixMilli(int64(i.Wake)).UTC().Format(time.RFC3339)
}

// line is a record for people and for jq: number, time, incarnation/append, kind
// and fields, with tabs between.
func line(r persistence.Record) string {
	rec, err := decode(r)
	if err != nil {
		return fmt.Sprintf("%d\t%v", r.Seq, err)
	}
	event := rec.GetEvent().ProtoReflect()
	kind := event.WhichOneof(event.Descriptor().Oneofs().ByName("kind"))
	at := time.UnixMilli(rec.GetAtMs()).UTC().Format("2006-01-02T15:04:05.000Z")
	return fmt.Sprintf("%d\t%s\t%x/%d\t%s\t%s", r.Seq, at, rec.GetIncarnation(), rec.GetBatch(), kind.Name(), appendFields(nil, event.Get(kind).Message()))
}

// appendFields writes a message as JSON, in the order of the schema. It differs
// from protobuf's own JSON in what makes that hard to read here: JSON in bytes
// fields stays JSON, numbers are numbers, enums are their short names.
func appendFields(b []byte, m protoreflect.Message) []byte {
	b = append(b, '{')
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, f.Name()...)
		b = append(b, `":`...)
		if !f.IsList() {
			b = appendValue(b, f, m.Get(f))
			continue
		}
		list, separator := m.Get(f).List(), byte('[')
		for i := range list.Len() {
			b = append(b, separator)
			b = appendValue(b, f, list.Get(i))
			separator = ','
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func appendValue(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return appendFields(b, v.Message())
	case protoreflect.EnumKind:
		return strconv.AppendQuote(b, enumText(f.Enum(), v.Enum()))
	case protoreflect.StringKind:
		return appendString(b, v.String())
	case protoreflect.BytesKind:
		var oneLine bytes.Buffer
		if json.Compact(&oneLine, v.Bytes()) == nil {
			return append(b, oneLine.Bytes()...)
		}
		return appendString(b, base64.StdEncoding.EncodeToString(v.Bytes()))
	default: // numbers and booleans, whose text is JSON
		return append(b, v.String()...)
	}
}

// enumText takes off what all names of an enum begin with, the name of the enum.
func enumText(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	value := e.Values().ByNumber(n)
	if value == nil {
		return strconv.Itoa(int(n)) // of a newer version
	}
	zero := string(e.Values().ByNumber(0).Name())
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), strings.TrimSuffix(zero, "UNSPECIFIED")))
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...) // cannot be: any string has a JSON form
	}
	return append(b, text...)
}
