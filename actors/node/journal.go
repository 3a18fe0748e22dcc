package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/bolt"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

type checkCommand struct {
	Data string `help:"Folder of the journal." default:"data" type:"path"`
}

func (c *checkCommand) Run(p *program) error {
	store, err := openExisting(c.Data)
	if err != nil {
		return err
	}
	defer store.Close()
	faults := 0
	for fault := range store.Check(p.ctx) {
		faults++
		fmt.Fprintln(p.out, fault)
	}
	agents, records, unreadable := 0, uint64(0), 0
	err = eachStream(p.ctx, store, "", func(i persistence.Info) error {
		agents++
		for r, err := range store.Read(p.ctx, i.Stream, 1) {
			if err != nil {
				return nil // Check has named it
			}
			records++
			if _, err := decode(r); err != nil {
				unreadable++
				fmt.Fprintf(p.out, "%s: record %d: %v\n", i.Stream, r.Seq, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if faults+unreadable > 0 {
		return fmt.Errorf("%d faults in the journal of %d agents", faults+unreadable, agents)
	}
	fmt.Fprintf(p.out, "no fault: %d agents, %d records\n", agents, records)
	return nil
}

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
		return eachStream(p.ctx, store, "", func(i persistence.Info) error {
			_, err := fmt.Fprintf(p.out, "%s\t%d records\t%s\n", i.Stream, i.Head, wakeText(i))
			return err
		})
	}
	info, _, err := store.Find(p.ctx, c.Agent, persistence.Batch{})
	if err != nil {
		return err
	}
	if info.Head == 0 {
		return fmt.Errorf("agent %q has no journal here", c.Agent)
	}
	for r, err := range store.Read(p.ctx, c.Agent, 1) {
		if err != nil {
			return err
		}
		if err := c.print(p, r); err != nil {
			return err
		}
	}
	return nil
}

// print writes one line: number, time, incarnation, kind and fields.
func (c *dumpCommand) print(p *program, r persistence.Record) error {
	rec, err := decode(r)
	if err != nil {
		_, err = fmt.Fprintf(p.out, "%d\t%v\n", r.Seq, err)
		return err
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(rec.GetEvent())
	if err != nil {
		return err
	}
	var compact json.RawMessage = data
	_, err = fmt.Fprintf(p.out, "%d\t%s\t%x/%d\t%s\n", r.Seq, time.UnixMilli(rec.GetAtMs()).UTC().Format("2006-01-02T15:04:05.000Z"), rec.GetIncarnation(), rec.GetBatch(), compact)
	return err
}

type compactCommand struct {
	Data string `help:"Folder of the journal. No node may have it open." default:"data" type:"path"`
}

func (c *compactCommand) Run(p *program) error {
	path, err := journalPath(c.Data)
	if err != nil {
		return err
	}
	before, after, err := bolt.Compact(p.ctx, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%d bytes before, %d after\n", before, after)
	return nil
}

// journalPath refuses a folder without a journal, so that none is made by a typing error.
func journalPath(data string) (string, error) {
	path := filepath.Join(data, JournalFile)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no journal in this folder: %w", err)
	}
	return path, nil
}

func openExisting(data string) (*bolt.Store, error) {
	path, err := journalPath(data)
	if err != nil {
		return nil, err
	}
	return bolt.Open(bolt.Config{Path: path})
}

func decode(r persistence.Record) (*journalv1.Record, error) {
	var rec journalv1.Record
	if err := proto.Unmarshal(r.Data, &rec); err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	if rec.GetEvent().GetKind() == nil {
		return nil, fmt.Errorf("an event that this version does not know")
	}
	return &rec, nil
}

// eachStream calls f for every stream whose name starts with prefix.
func eachStream(ctx context.Context, store persistence.Store, prefix string, f func(persistence.Info) error) error {
	const page = 500
	for after := ""; ; {
		list, err := store.List(ctx, prefix, after, page)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, i := range list {
			if err := f(i); err != nil {
				return err
			}
		}
		after = list[len(list)-1].Stream
	}
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
