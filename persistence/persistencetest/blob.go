package persistencetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var blobTests = []test{
	{"StoredWithTheAppendOfItsStream", func(t *testing.T, h Harness) {
		s := open(t, h)
		for _, stream := range []string{"a", "b"} {
			a := one(stream, 0, "x")
			a.Blobs = []persistence.Blob{{Key: "k", Data: []byte(stream)}, {Key: "empty"}, {Key: "k\x00", Data: []byte("zero")}}
			require.NoError(t, s.put(a))
		}
		s.wantBlobs("a", map[string]string{"k": "a", "empty": "", "k\x00": "zero"}, "", "other")
		s.wantBlobs("b", map[string]string{"k": "b"})
		s.wantBlobs("none", nil, "k")
	}},
	{"ASecondPutOfAKeyIsANoOp", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "x")
		a.Blobs = []persistence.Blob{{Key: "k", Data: []byte("first")}, {Key: "k", Data: []byte("second")}}
		require.NoError(t, s.put(a))
		b := one("a", 1, "x")
		b.Blobs = []persistence.Blob{{Key: "k", Data: []byte("third")}, {Key: "n", Data: []byte("new")}}
		require.NoError(t, s.put(b))
		s.wantBlobs("a", map[string]string{"k": "first", "n": "new"})
		s.sound()
	}},
	{"OfARefusedAppendIsNotStored", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 1)
		a := one("a", 0, "x")
		a.Blobs = []persistence.Blob{{Key: "k", Data: []byte("v")}}
		require.ErrorIs(t, s.put(a), persistence.ErrConflict)
		s.wantBlobs("a", nil, "k")
	}},
	{"LargeOnesAndLongKeys", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "x")
		key := string(bytes.Repeat([]byte("k"), persistence.MaxBlobKey))
		value := bytes.Repeat([]byte("0123456789"), 3<<20)
		a.Blobs = []persistence.Blob{{Key: key, Data: value}}
		require.NoError(t, s.put(a))
		for range 2 {
			got, err := s.Blob(t.Context(), "a", key)
			require.NoError(t, err)
			require.True(t, bytes.Equal(value, got))
			clear(got) // it belongs to the caller
		}
		s.sound()
	}},
}
