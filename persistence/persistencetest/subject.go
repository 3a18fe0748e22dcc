package persistencetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

// A subject is the store under test with short forms of its calls. It counts how
// often each append is answered.
type subject struct {
	persistence.Store
	t testing.TB
	h Harness

	mu      sync.Mutex
	answers []int // per append; guarded by mu
}

// open returns a new store that is closed at the end of the test. By then every
// append must have been answered exactly once.
func open(t testing.TB, h Harness) *subject {
	s := &subject{t: t, h: h, Store: h.Open(t)}
	t.Cleanup(s.finish)
	return s
}

// finish closes the store and checks that each append was answered once.
func (s *subject) finish() {
	if err := s.Close(); err != nil {
		s.t.Errorf("Close: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.answers {
		if n != 1 {
			s.t.Errorf("append number %d was answered %d times, want once", i+1, n)
		}
	}
	s.answers = nil
}

// reopen continues on the same data after a clean stop, crash after a kill.
func (s *subject) reopen() { s.Store = s.h.Reopen(s.t, s.Store) }
func (s *subject) crash()  { s.Store = s.h.Crash(s.t, s.Store) }

// start appends without waiting for the answer, which comes on the channel.
func (s *subject) start(a persistence.Append) <-chan error {
	s.mu.Lock()
	number := len(s.answers)
	s.answers = append(s.answers, 0)
	s.mu.Unlock()
	answer := make(chan error, 1)
	s.Append(a, func(err error) {
		s.mu.Lock()
		s.answers[number]++
		first := s.answers[number] == 1
		s.mu.Unlock()
		if first {
			answer <- err
		}
	})
	return answer
}

// put appends and waits for the answer.
func (s *subject) put(a persistence.Append) error { return <-s.start(a) }

// fill appends n records to the stream in one go and returns its new head.
func (s *subject) fill(stream string, expected uint64, n int) uint64 {
	s.t.Helper()
	records := make([]persistence.Record, n)
	for i := range records {
		records[i].Data = content(stream, expected+uint64(i)+1)
	}
	head := expected + uint64(n)
	err := s.put(persistence.Append{Stream: stream, Expected: expected, Batch: persistence.Batch{Incarnation: 1, N: head}, Records: records})
	require.NoError(s.t, err)
	return head
}

// content is what fill writes as record seq.
func content(stream string, seq uint64) []byte { return fmt.Appendf(nil, "%s/%d", stream, seq) }

func (s *subject) info(stream string) persistence.Info {
	s.t.Helper()
	info, _, err := s.Find(s.t.Context(), stream, persistence.Batch{})
	require.NoError(s.t, err)
	return info
}

// read returns the records from from on.
func (s *subject) read(stream string, from uint64) []persistence.Record {
	s.t.Helper()
	records, err := collect(s.t.Context(), s.Store, stream, from)
	require.NoError(s.t, err)
	return records
}

// collect reads until the end or the first error, and returns both.
func collect(ctx context.Context, s persistence.Store, stream string, from uint64) ([]persistence.Record, error) {
	var records []persistence.Record
	for r, err := range s.Read(ctx, stream, from) {
		if err != nil {
			return records, err
		}
		records = append(records, r)
	}
	return records, nil
}

// wantFilled checks that records are what fill wrote as first to last.
func wantFilled(t testing.TB, records []persistence.Record, stream string, first, last uint64) {
	t.Helper()
	require.Len(t, records, int(last+1-first), "records %d to %d of %s", first, last, stream)
	for i, r := range records {
		seq := first + uint64(i)
		if r.Seq != seq || !bytes.Equal(r.Data, content(stream, seq)) {
			t.Fatalf("record %d of %s: got number %d, data %q", seq, stream, r.Seq, r.Data)
		}
	}
}

// due returns what is due at t.
func (s *subject) due(at persistence.Wake) []persistence.Info {
	s.t.Helper()
	var infos []persistence.Info
	for info, err := range s.Due(s.t.Context(), at) {
		require.NoError(s.t, err)
		infos = append(infos, info)
	}
	return infos
}

// sound checks the store with its own Check.
func (s *subject) sound() {
	s.t.Helper()
	for fault := range s.Check(s.t.Context()) {
		s.t.Errorf("Check: %v", fault)
	}
}

// recovered calls f until it answers something else than ErrUnavailable. The
// contract has no signal for "back again", so this is the suite's one loop that polls.
func (s *subject) recovered(f func() error) error {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		err := f()
		if !errors.Is(err, persistence.ErrUnavailable) {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("the store has not come back: %v", err)
		}
	}
}

// one is an append of one durable record.
func one(stream string, expected uint64, data string) persistence.Append {
	return persistence.Append{
		Stream: stream, Expected: expected,
		Batch:   persistence.Batch{Incarnation: 1, N: expected + 1},
		Records: []persistence.Record{{Data: []byte(data)}},
	}
}
