package persistencetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var invalidTests = []test{
	{"AppendsAreRefusedWithFieldValueAndLimit", func(t *testing.T, h Harness) {
		s := open(t, h)
		big := make([]byte, persistence.MaxRecordBytes+1)
		for _, c := range []struct {
			name  string
			spoil func(*persistence.Append)
			text  []string
		}{
			{"no stream", func(a *persistence.Append) { a.Stream = "" }, []string{"stream"}},
			{"long stream", func(a *persistence.Append) { a.Stream = strings.Repeat("n", persistence.MaxStreamName+1) },
				[]string{"stream", "1025", "1024"}},
			{"no records", func(a *persistence.Append) { a.Records = nil }, []string{"Records"}},
			{"many records", func(a *persistence.Append) { a.Records = make([]persistence.Record, persistence.MaxAppendRecords+1) },
				[]string{"Records", "16385", "16384"}},
			{"large record", func(a *persistence.Append) { a.Records[1].Data = big }, []string{"Records[1]", "16777217", "16777216"}},
			{"class", func(a *persistence.Append) { a.Records[1].Class = 2 }, []string{"Records[1].Class", "2", "1"}},
			{"wake", func(a *persistence.Append) { a.Wake = -7 }, []string{"Wake", "-7", "0"}},
			{"no key", func(a *persistence.Append) { a.Blobs[0].Key = "" }, []string{"Blobs[0].Key"}},
			{"long key", func(a *persistence.Append) { a.Blobs[0].Key = strings.Repeat("k", persistence.MaxBlobKey+1) },
				[]string{"Blobs[0].Key", "1025", "1024"}},
			{"large in sum", func(a *persistence.Append) {
				a.Blobs = nil
				for i := range 4 {
					a.Blobs = append(a.Blobs, persistence.Blob{Key: fmt.Sprint(i), Data: big})
				}
			}, []string{"Records", "Blobs", fmt.Sprint(4*len(big) + 2), fmt.Sprint(persistence.MaxAppendBytes)}},
		} {
			a := persistence.Append{Stream: "a", Records: []persistence.Record{{Data: []byte("1")}, {Data: []byte("2")}},
				Blobs: []persistence.Blob{{Key: "k"}}}
			c.spoil(&a)
			wantInvalid(t, c.name, s.put(a), c.text...)
		}
		require.Equal(t, persistence.Info{Stream: "a"}, s.info("a"))
		require.NoError(t, s.Health())
	}},
	{"OtherCallsToo", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 2)
		ctx := t.Context()
		long := strings.Repeat("n", persistence.MaxStreamName+1)
		for _, name := range []string{"", long} {
			for call, f := range namedCalls(s, name) {
				wantInvalid(t, call, f(ctx), "stream")
			}
		}
		wantInvalid(t, "Rebase", s.Rebase(ctx, "a", 0, nil, nil), "upto", "0")
		wantInvalid(t, "Rebase", s.Rebase(ctx, "a", 1, make([]byte, persistence.MaxRecordBytes+1), nil), "base", "16777217", "16777216")
		wantInvalid(t, "SaveSnapshot", s.SaveSnapshot(ctx, "a", persistence.Snapshot{Seq: 3}), "Seq", "3", "2")
		wantInvalid(t, "SaveSnapshot", s.SaveSnapshot(ctx, "a", persistence.Snapshot{Data: make([]byte, persistence.MaxAppendBytes+1)}),
			"Data", fmt.Sprint(persistence.MaxAppendBytes))
		for _, limit := range []int{0, -1} {
			_, err := s.List(ctx, "", "", limit)
			wantInvalid(t, "List", err, "limit", fmt.Sprint(limit))
		}
		wantFilled(t, s.read("a", 0), "a", 1, 2)
	}},
}

// namedCalls returns all calls but Append that concern one stream.
func namedCalls(s persistence.Store, stream string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Find": func(ctx context.Context) error {
			_, _, err := s.Find(ctx, stream, persistence.Batch{})
			return err
		},
		"Read": func(ctx context.Context) error {
			_, err := collect(ctx, s, stream, 0)
			return err
		},
		"Rebase":       func(ctx context.Context) error { return s.Rebase(ctx, stream, 1, nil, nil) },
		"SaveSnapshot": func(ctx context.Context) error { return s.SaveSnapshot(ctx, stream, persistence.Snapshot{}) },
		"LoadSnapshot": func(ctx context.Context) error {
			_, _, err := s.LoadSnapshot(ctx, stream)
			return err
		},
		"Blob": func(ctx context.Context) error {
			_, err := s.Blob(ctx, stream, "k")
			return err
		},
		"Delete": func(ctx context.Context) error { return s.Delete(ctx, stream, 0) },
	}
}

// otherCalls returns the calls that concern the whole store.
func otherCalls(s persistence.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Due": func(ctx context.Context) (err error) {
			for _, err = range s.Due(ctx, 1) {
			}
			return err
		},
		"List": func(ctx context.Context) error {
			_, err := s.List(ctx, "", "", 1)
			return err
		},
		"Check": func(ctx context.Context) (err error) {
			for err = range s.Check(ctx) {
			}
			return err
		},
	}
}

func wantInvalid(t *testing.T, call string, err error, text ...string) {
	t.Helper()
	require.ErrorIs(t, err, persistence.ErrInvalid, call)
	for _, want := range text {
		require.ErrorContains(t, err, want, call)
	}
}
