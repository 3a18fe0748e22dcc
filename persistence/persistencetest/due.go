package persistencetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var dueTests = []test{
	{"EarliestFirstAndNotAfterT", func(t *testing.T, h Harness) {
		s := open(t, h)
		for stream, wake := range map[string]persistence.Wake{"c": 300, "a": 100, "never": 0, "now": persistence.Now, "d": 1 << 62, "b": 200} {
			s.wake(stream, wake)
		}
		require.Equal(t, []string{"now", "a", "b"}, names(s.due(299)))
		require.Equal(t, []string{"now", "a", "b", "c"}, names(s.due(300)))
		require.Equal(t, []string{"now"}, names(s.due(1)))
		require.Empty(t, s.due(0))
		require.Len(t, s.due(1<<62), 5)
		require.Equal(t, s.info("a"), s.due(100)[1])
	}},
	{"TheNewestAppendReplacesTheWake", func(t *testing.T, h Harness) {
		s := open(t, h)
		for _, wake := range []persistence.Wake{500, 100, 900, 900, persistence.Now} {
			s.wake("a", wake)
			require.Equal(t, wake, s.info("a").Wake)
			require.Len(t, s.due(1<<40), 1)
			require.Empty(t, s.due(wake-1))
		}
		s.wake("a", persistence.Never)
		require.Empty(t, s.due(1<<62))
		s.sound()
	}},
	{"ARefusedAppendLeavesTheWake", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.wake("a", 500)
		a := one("a", 0, "x")
		a.Wake = 100
		require.ErrorIs(t, s.put(a), persistence.ErrConflict)
		require.Empty(t, s.due(499))
		require.Equal(t, []string{"a"}, names(s.due(500)))
	}},
	{"ManyStreamsMayHaveOneTime", func(t *testing.T, h Harness) {
		s := open(t, h)
		const n = 1200
		want := make(map[string]bool)
		var answers []<-chan error
		for i := range n {
			a := one(fmt.Sprintf("s%d", i), 0, "x")
			a.Wake = persistence.Wake(1000 + i%2)
			want[a.Stream] = true
			answers = append(answers, s.start(a))
		}
		for _, answer := range answers {
			require.NoError(t, <-answer)
		}
		require.Len(t, s.due(1000), n/2)
		last := persistence.Wake(0)
		for _, info := range s.due(1001) {
			require.True(t, want[info.Stream], "%s twice or unknown", info.Stream)
			delete(want, info.Stream)
			require.GreaterOrEqual(t, info.Wake, last)
			last = info.Wake
		}
		require.Empty(t, want)
	}},
	{"MayAppendWhileListing", func(t *testing.T, h Harness) {
		s := open(t, h)
		for i := range 20 {
			s.wake(fmt.Sprint("s", i), persistence.Now)
		}
		seen := 0
		for info, err := range s.Due(t.Context(), persistence.Now) {
			require.NoError(t, err)
			seen++
			s.wake(info.Stream, persistence.Never)
		}
		require.Equal(t, 20, seen)
		require.Empty(t, s.due(persistence.Now))
	}},
	{"SurvivesReopenAndCrash", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.wake("a", 20)
		s.wake("b", 10)
		s.wake("b", persistence.Never)
		if h.Crash != nil {
			s.crash()
			require.Equal(t, []string{"a"}, names(s.due(1<<62)))
		}
		if h.Reopen != nil {
			s.reopen()
			require.Equal(t, []string{"a"}, names(s.due(1<<62)))
		}
	}},
}

// wake appends a record with that wake time.
func (s *subject) wake(stream string, at persistence.Wake) {
	s.t.Helper()
	a := one(stream, s.info(stream).Head, "x")
	a.Wake = at
	require.NoError(s.t, s.put(a))
}

func names(infos []persistence.Info) []string {
	var out []string
	for _, i := range infos {
		out = append(out, i.Stream)
	}
	return out
}
