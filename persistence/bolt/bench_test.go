package bolt

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/persistence"
)

var payload = bytes.Repeat([]byte("0123456789"), 20)

// put appends one record of 200 bytes and waits.
func put(s persistence.Store, stream string, head uint64) error {
	answer := make(chan error, 1)
	s.Append(persistence.Append{
		Stream: stream, Expected: head,
		Batch:   persistence.Batch{Incarnation: 1, N: head + 1},
		Records: []persistence.Record{{Data: payload}},
	}, func(err error) { answer <- err })
	return <-answer
}

// BenchmarkAppend has n streams that each append 200 bytes, wait, and append again.
func BenchmarkAppend(b *testing.B) {
	for _, streams := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			s := openBench(b)
			written := diskBytes()
			var left atomic.Int64
			left.Store(int64(b.N))
			times := make([][]time.Duration, streams)
			var wg sync.WaitGroup
			b.ResetTimer()
			for i := range streams {
				wg.Go(func() {
					for head := uint64(0); left.Add(-1) >= 0; head++ {
						began := time.Now()
						if err := put(s, fmt.Sprint("stream", i), head); err != nil {
							b.Error(err)
							return
						}
						times[i] = append(times[i], time.Since(began))
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			report(b, times, written)
		})
	}
}

// BenchmarkAppendPaced has 256 streams that each append every 100 ms: 2,560 a second.
func BenchmarkAppendPaced(b *testing.B) {
	s := openBench(b)
	written := diskBytes()
	const streams = 256
	times := make([][]time.Duration, streams)
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range streams {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Millisecond / streams)
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for head := range uint64(b.N/streams + 1) {
				<-tick.C
				began := time.Now()
				if err := put(s, fmt.Sprint("stream", i), head); err != nil {
					b.Error(err)
					return
				}
				times[i] = append(times[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	report(b, times, written)
}

// BenchmarkSync is the disk's own limit: a write of 200 bytes and a sync.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		if _, err := f.Write(payload); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func openBench(b *testing.B) *Store {
	s, err := Open(Config{Path: newPath(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// diskBytes is what this process has sent to disks, where the system tells.
func diskBytes() (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	if _, after, ok := bytes.Cut(text, []byte("\nwrite_bytes: ")); ok {
		_, _ = fmt.Sscan(string(after), &n)
	}
	return n
}

func report(b *testing.B, times [][]time.Duration, written int64) {
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		return
	}
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(diskBytes()-written)/float64(len(all)), "disk-B/append")
}
