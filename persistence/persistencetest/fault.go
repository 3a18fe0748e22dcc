package persistencetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var faultTests = []test{
	{"ALostAcknowledgementIsSettledByFind", func(t *testing.T, h Harness) {
		if h.LoseAck == nil {
			t.Skip("the harness has no LoseAck")
		}
		s := open(t, h)
		head := s.fill("a", 0, 3)
		h.LoseAck(t, s.Store)
		a := one("a", head, "x")
		require.ErrorIs(t, s.put(a), persistence.ErrUnknown)
		info, found := s.settle(a)
		require.True(t, found)
		require.EqualValues(t, 4, info.Head)
		require.ErrorIs(t, s.recovered(func() error { return s.put(a) }), persistence.ErrConflict, "the same append again")
		s.fill("a", 4, 2)
		require.Len(t, s.read("a", 0), 6)
		s.sound()
	}},
	{"ALostAppendIsNotFoundAndMayBeSentAgain", func(t *testing.T, h Harness) {
		if h.LoseAppend == nil {
			t.Skip("the harness has no LoseAppend")
		}
		s := open(t, h)
		head := s.fill("a", 0, 3)
		h.LoseAppend(t, s.Store)
		a := one("a", head, "x")
		require.ErrorIs(t, s.put(a), persistence.ErrUnknown)
		info, found := s.settle(a)
		require.False(t, found)
		require.EqualValues(t, 3, info.Head)
		require.NoError(t, s.put(a))
		require.Len(t, s.read("a", 0), 4)
		s.sound()
	}},
	{"AnOutageSuspendsTheStoreAndLosesNothing", func(t *testing.T, h Harness) {
		if h.Break == nil {
			t.Skip("the harness has no Break")
		}
		s := open(t, h)
		head := s.fill("a", 0, 3)
		heal := h.Break(t, s.Store)
		a := one("a", head, "x")
		require.ErrorIs(t, s.put(a), persistence.ErrUnknown)
		require.Error(t, s.Health())
		require.ErrorIs(t, s.put(a), persistence.ErrUnknown, "again, while it is down")
		for name, call := range namedCalls(s, "a") {
			require.ErrorIs(t, call(t.Context()), persistence.ErrUnavailable, name)
		}
		for name, call := range otherCalls(s) {
			require.ErrorIs(t, call(t.Context()), persistence.ErrUnavailable, name)
		}
		heal()
		info, found := s.settle(a)
		require.Equal(t, found, info.Head == 4)
		require.NoError(t, s.Health())
		s.fill("a", info.Head, 2)
		require.Len(t, s.read("a", 0), int(info.Head)+2)
		s.sound()
	}},
	{"CloseDuringAnOutageReturns", func(t *testing.T, h Harness) {
		if h.Break == nil {
			t.Skip("the harness has no Break")
		}
		s := open(t, h)
		defer h.Break(t, s.Store)()
		require.ErrorIs(t, s.put(one("a", 0, "x")), persistence.ErrUnknown)
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.put(one("a", 0, "x")), persistence.ErrClosed)
	}},
	{"ADamagedRecordIsToldByStreamAndNumber", func(t *testing.T, h Harness) {
		if h.Damage == nil {
			t.Skip("the harness has no Damage")
		}
		s := open(t, h)
		s.fill("whole", 0, 3)
		s.fill("torn", 0, 5)
		s.Store = h.Damage(t, s.Store, "torn", 4)
		got, err := collect(t.Context(), s.Store, "torn", 0)
		require.ErrorIs(t, err, persistence.ErrCorrupt)
		require.ErrorContains(t, err, "torn")
		require.ErrorContains(t, err, "4")
		wantFilled(t, got, "torn", 1, 3)
		wantFilled(t, s.read("whole", 0), "whole", 1, 3)
		n := 0
		for fault := range s.Check(t.Context()) {
			n++
			require.ErrorIs(t, fault, persistence.ErrCorrupt)
			require.ErrorContains(t, fault, "torn")
		}
		require.Equal(t, 1, n, "faults found by Check")
	}},
}

// settle looks up an append whose outcome is unknown, as its caller would.
func (s *subject) settle(a persistence.Append) (info persistence.Info, found bool) {
	s.t.Helper()
	require.NoError(s.t, s.recovered(func() (err error) {
		info, found, err = s.Find(s.t.Context(), a.Stream, a.Batch)
		return err
	}))
	return info, found
}
