package persistencetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var appendTests = []test{
	{"FirstRecordIsNumberOne", func(t *testing.T, h Harness) {
		s := open(t, h)
		require.NoError(t, s.put(one("a", 0, "x")))
		require.Equal(t, []persistence.Record{{Seq: 1, Data: []byte("x")}}, s.read("a", 0))
	}},
	{"RecordsAreNumberedWithoutGapsAcrossAppends", func(t *testing.T, h Harness) {
		s := open(t, h)
		head := s.fill("a", 0, 3)
		head = s.fill("a", head, 1)
		head = s.fill("a", head, 700)
		require.EqualValues(t, 704, s.info("a").Head)
		wantFilled(t, s.read("a", 0), "a", 1, head)
	}},
	{"ClassesAndBytesComeBackAsTheyWere", func(t *testing.T, h Harness) {
		s := open(t, h)
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		a := one("a", 0, "")
		a.Records = []persistence.Record{
			{Class: persistence.Streamed, Data: []byte("prose"), Seq: 99}, // Seq is ignored
			{Class: persistence.Durable, Data: all},
			{Class: persistence.Streamed, Data: []byte{}},
		}
		require.NoError(t, s.put(a))
		got := s.read("a", 0)
		require.Len(t, got, 3)
		for i, r := range got {
			require.EqualValues(t, i+1, r.Seq)
			require.Equal(t, a.Records[i].Class, r.Class)
			require.True(t, bytes.Equal(a.Records[i].Data, r.Data))
		}
	}},
	{"WrongExpectedHeadIsAConflictAndStoresNothing", func(t *testing.T, h Harness) {
		s := open(t, h)
		require.ErrorIs(t, s.put(one("a", 1, "x")), persistence.ErrConflict)
		require.Equal(t, persistence.Info{Stream: "a"}, s.info("a"))
		s.fill("a", 0, 2)
		before := s.info("a")
		for _, expected := range []uint64{0, 1, 3, 1 << 63} {
			a := one("a", expected, "x")
			a.Wake, a.Blobs = 5, []persistence.Blob{{Key: "k", Data: []byte("v")}}
			require.ErrorIs(t, s.put(a), persistence.ErrConflict)
		}
		require.Equal(t, before, s.info("a"))
		wantFilled(t, s.read("a", 0), "a", 1, 2)
		_, err := s.Blob(t.Context(), "a", "k")
		require.ErrorIs(t, err, persistence.ErrNotFound)
	}},
	{"ConflictsOfOneStreamDoNotTouchOthers", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 1)
		good, bad := s.start(one("b", 0, "x")), s.start(one("a", 7, "x"))
		more := s.start(one("c", 0, "x"))
		require.NoError(t, <-good)
		require.ErrorIs(t, <-bad, persistence.ErrConflict)
		require.NoError(t, <-more)
	}},
	{"TheLargestRecordIsStored", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "")
		a.Records[0].Data = bytes.Repeat([]byte("0123456789abcdef"), persistence.MaxRecordBytes/16)
		require.NoError(t, s.put(a))
		require.True(t, bytes.Equal(a.Records[0].Data, s.read("a", 0)[0].Data))
	}},
	{"TheMostRecordsAreStored", func(t *testing.T, h Harness) {
		s := open(t, h)
		head := s.fill("a", 0, persistence.MaxAppendRecords)
		wantFilled(t, s.read("a", 0), "a", 1, head)
	}},
	{"StreamNamesAreAnyBytesUpToTheLimit", func(t *testing.T, h Harness) {
		s := open(t, h)
		names := []string{"a/b", "a", "a ", "Ä", "\x00", "\xff\xfe", "a\x00b", string(bytes.Repeat([]byte("n"), persistence.MaxStreamName))}
		for i, name := range names {
			require.NoError(t, s.put(one(name, 0, name)))
			require.EqualValues(t, 1, s.info(name).Head, "%d", i)
		}
		for _, name := range names {
			require.Equal(t, name, string(s.read(name, 0)[0].Data))
			require.Equal(t, name, s.info(name).Stream)
		}
	}},
	{"SurvivesReopenAndCrash", func(t *testing.T, h Harness) {
		s := open(t, h)
		head := s.fill("a", 0, 5)
		check := func() {
			wantFilled(t, s.read("a", 0), "a", 1, head)
			head = s.fill("a", head, 2)
			s.sound()
		}
		check()
		if h.Reopen != nil {
			s.reopen()
			check()
		}
		if h.Crash != nil {
			s.crash()
			check()
		}
	}},
}

var findTests = []test{
	{"UnknownStreamHasHeadZero", func(t *testing.T, h Harness) {
		s := open(t, h)
		info, found, err := s.Find(t.Context(), "none", persistence.Batch{Incarnation: 1, N: 1})
		require.NoError(t, err)
		require.False(t, found)
		require.Equal(t, persistence.Info{Stream: "none"}, info)
	}},
	{"NewestBatchIsFoundWithHeadAndWake", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "x")
		a.Batch, a.Wake = persistence.Batch{Incarnation: 1 << 63, N: 3}, 77
		require.NoError(t, s.put(a))
		info, found, err := s.Find(t.Context(), "a", a.Batch)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, persistence.Info{Stream: "a", Head: 1, Last: a.Batch, Wake: 77}, info)
		for _, other := range []persistence.Batch{{Incarnation: 1 << 63, N: 4}, {Incarnation: 1, N: 3}, {}} {
			_, found, err = s.Find(t.Context(), "a", other)
			require.NoError(t, err)
			require.False(t, found, "%+v", other)
		}
	}},
	{"TheZeroBatchIsNeverFound", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "x")
		a.Batch = persistence.Batch{}
		require.NoError(t, s.put(a))
		_, found, err := s.Find(t.Context(), "a", persistence.Batch{})
		require.NoError(t, err)
		require.False(t, found)
	}},
	{"ABatchThatWasRefusedIsNotFound", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 1)
		refused := persistence.Append{Stream: "a", Batch: persistence.Batch{Incarnation: 9, N: 1}, Records: []persistence.Record{{}}}
		require.ErrorIs(t, s.put(refused), persistence.ErrConflict)
		info, found, err := s.Find(t.Context(), "a", refused.Batch)
		require.NoError(t, err)
		require.False(t, found)
		require.EqualValues(t, 1, info.Head)
	}},
}
