package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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
	agents, records, unreadable := 0, 0, 0
	err = eachStream(p.ctx, store, "", func(i persistence.Info) error {
		if i.Deleted {
			return nil
		}
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
	switch {
	case p.ctx.Err() != nil:
		return errors.New("the check was interrupted")
	case err != nil:
		return err
	case faults+unreadable > 0:
		return fmt.Errorf("the journal is damaged, see above: %s, %s; keep the file and restore a backup",
			count(faults+unreadable, "fault"), count(agents, "agent"))
	}
	fmt.Fprintf(p.out, "no fault: %s, %s\n", count(agents, "agent"), count(records, "record"))
	return nil
}

type compactCommand struct {
	Data string `help:"Folder of the journal." default:"data" type:"path"`
}

func (c *compactCommand) Run(p *program) error {
	path, err := journalPath(c.Data)
	if err != nil {
		return err
	}
	before, after, err := bolt.Compact(p.ctx, path)
	if err != nil {
		return plain(err)
	}
	fmt.Fprintf(p.out, "%s before, %s after\n", size(before), size(after))
	return nil
}

// count is a number of things for people.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// size is n bytes for people.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1e3)
}

// journalPath refuses a folder without a journal, so that none is made by a typing error.
func journalPath(data string) (string, error) {
	path := filepath.Join(data, JournalFile)
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", fmt.Errorf("there is no journal at %s: name its folder with --data", path)
	}
	return "", fmt.Errorf("the journal cannot be opened: %w", err)
}

func openExisting(data string) (*bolt.Store, error) {
	path, err := journalPath(data)
	if err != nil {
		return nil, err
	}
	store, err := bolt.Open(bolt.Config{Path: path})
	if err != nil {
		return nil, plain(err)
	}
	return store, nil
}

// plain says of a journal that cannot be opened what to do about it.
func plain(err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, persistence.ErrInUse):
		text = strings.Replace(text, persistence.ErrInUse.Error(), "it is in use by another process: stop that one first", 1)
	case errors.Is(err, persistence.ErrCorrupt):
		text = strings.Replace(text, persistence.ErrCorrupt.Error()+": ", "it is damaged: ", 1) + "; keep the file and restore a backup"
	default:
		return err
	}
	return &journalError{text: text, cause: err}
}

// journalError is cause in other words.
type journalError struct {
	text  string
	cause error
}

func (e *journalError) Error() string { return e.text }
func (e *journalError) Unwrap() error { return e.cause }

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

// eachStream calls f for every stream whose name begins with prefix.
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
