package protocol_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// BenchmarkLoopback is the whole way of a chunk, from Put to the sockets of
// clients that drop what they read (their cost is in cpu-ns, too).
func BenchmarkLoopback(b *testing.B) {
	for _, sockets := range []int{1, 10} {
		b.Run(fmt.Sprintf("sockets=%d", sockets), func(b *testing.B) { benchmarkLoopback(b, sockets) })
	}
}

func benchmarkLoopback(b *testing.B, sockets int) {
	n := newNode(b, protocol.Config{LagFrames: 1 << 30, LagBytes: 1 << 40})
	var wg sync.WaitGroup
	for range sockets {
		conn := rawDial(b, n)
		greeting := []byte{}
		for buf := make([]byte, 4096); !bytes.Contains(greeting, []byte("mcp_servers")); {
			k, err := conn.Read(buf)
			require.NoError(b, err)
			greeting = append(greeting, buf[:k]...)
		}
		wg.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		defer conn.Close()
	}
	sink := n.h.Room(roomOne)
	c := feed.Chunk{Body: []byte(`{"type":"text-delta","id":"t1","delta":" twenty bytes of text"}`)}
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	b.ReportAllocs()
	for b.Loop() {
		if c.Seq%20000 == 0 {
			sink.Put(feed.Opened{Request: "r1"})
		}
		sink.Put(c)
		c.Seq++
	}
	require.NoError(b, n.h.Close(context.Background()))
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := (after.Utime.Nano() + after.Stime.Nano()) - (before.Utime.Nano() + before.Stime.Nano())
	b.ReportMetric(float64(cpu)/float64(c.Seq)/float64(sockets), "cpu-ns/frame")
	wg.Wait()
}

// rawDial upgrades by hand and leaves the frames on the connection.
func rawDial(t testing.TB, n *node) net.Conn {
	conn, err := net.Dial("tcp", n.srv.Listener.Addr().String())
	require.NoError(t, err)
	req, err := http.NewRequest("GET", n.srv.URL+"/agents/chat-agent/room-1", nil)
	require.NoError(t, err)
	req.Header = http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
	require.NoError(t, req.Write(conn))
	return conn
}
