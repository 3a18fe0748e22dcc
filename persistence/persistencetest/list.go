package persistencetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var listTests = []test{
	{"InTheOrderOfNamesInPages", func(t *testing.T, h Harness) {
		s := open(t, h)
		var want []string
		for i := range 40 {
			name := fmt.Sprintf("chat/%d", i*37%100)
			s.fill(name, 0, 1)
			want = append(want, name)
		}
		slices.Sort(want)
		for _, page := range []int{1, 7, 39, 40, 41, 5000} {
			var got []string
			for after := ""; ; {
				infos, err := s.List(t.Context(), "", after, page)
				require.NoError(t, err)
				require.LessOrEqual(t, len(infos), page)
				if len(infos) == 0 {
					break
				}
				got = append(got, names(infos)...)
				require.Greater(t, got[len(got)-1], after, "the next page is not after the last one")
				after = got[len(got)-1]
			}
			require.Equal(t, want, got, "pages of %d", page)
		}
	}},
	{"OnlyThoseWithThePrefix", func(t *testing.T, h Harness) {
		s := open(t, h)
		for _, name := range []string{"a", "a/1", "a/2", "a0", "b/1", "\xff", "\xff\xff", "\xff\xff1"} {
			s.fill(name, 0, 1)
		}
		for _, c := range []struct {
			prefix, after string
			want          []string
		}{
			{"a/", "", []string{"a/1", "a/2"}},
			{"a/", "a/1", []string{"a/2"}},
			{"a/", "a", []string{"a/1", "a/2"}},
			{"a/", "a/2", nil},
			{"a/", "b", nil},
			{"\xff\xff", "", []string{"\xff\xff", "\xff\xff1"}},
			{"nothing", "", nil},
			{"", "a0", []string{"b/1", "\xff", "\xff\xff", "\xff\xff1"}},
		} {
			infos, err := s.List(t.Context(), c.prefix, c.after, 100)
			require.NoError(t, err)
			require.Equal(t, c.want, names(infos), "prefix %q after %q", c.prefix, c.after)
		}
	}},
	{"TellsWhatFindTellsAndHasDeletedOnes", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.wake("a", 5)
		s.fill("b", 0, 4)
		require.NoError(t, s.Rebase(t.Context(), "b", 3, nil, nil))
		s.fill("c", 0, 2)
		require.NoError(t, s.Delete(t.Context(), "c", 2))
		infos, err := s.List(t.Context(), "", "", 10)
		require.NoError(t, err)
		require.Equal(t, []persistence.Info{s.info("a"), s.info("b"), s.info("c")}, infos)
		require.True(t, infos[2].Deleted)
	}},
	{"FindAndReadDoNotMakeAStream", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.info("a")
		s.read("b", 0)
		require.ErrorIs(t, s.put(one("c", 7, "x")), persistence.ErrConflict)
		infos, err := s.List(t.Context(), "", "", 10)
		require.NoError(t, err)
		require.Empty(t, infos)
	}},
}
