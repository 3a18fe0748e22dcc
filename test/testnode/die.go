package main

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/holdfast-dev/holdfast/persistence"
)

// deathPoint is where the process kills itself: at its n-th append, counted from 1,
// before the append reaches the store, or when it is durable and nobody knows yet.
type deathPoint struct {
	n     int64
	after bool
}

// String implements flag.Value.
func (d *deathPoint) String() string { return fmt.Sprint(d.n) }

// Set implements flag.Value: "before:3", "after:3".
func (d *deathPoint) Set(s string) error {
	when, number, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || when != "before" && when != "after" {
		return fmt.Errorf("is %q, must be before:N or after:N, N at least 1", s)
	}
	d.n, d.after = n, when == "after"
	return nil
}

// mortalStore ends the process at a chosen append, as kill -9 does.
type mortalStore struct {
	persistence.Store
	at    deathPoint
	count atomic.Int64
}

// Append implements persistence.Store.
func (m *mortalStore) Append(a persistence.Append, done func(error)) {
	if m.count.Add(1) != m.at.n {
		m.Store.Append(a, done)
		return
	}
	if !m.at.after {
		die()
	}
	m.Store.Append(a, func(err error) {
		if err == nil {
			die()
		}
		done(err)
	})
}

// die does not return.
func die() {
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGKILL); err != nil {
		slog.Error("testnode: kill", "error", err)
	}
	select {}
}
