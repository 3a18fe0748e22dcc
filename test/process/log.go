package process

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// logbook takes what a process writes, line by line.
type logbook struct {
	mu    sync.Mutex
	lines []string
	rest  string        // of a line that is not complete
	moved chan struct{} // closed and replaced with each line
}

func newLogbook() *logbook { return &logbook{moved: make(chan struct{})} }

// Write implements io.Writer.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(l.rest+string(p), "\n")
	l.rest = lines[len(lines)-1]
	if lines = lines[:len(lines)-1]; len(lines) > 0 {
		l.lines = append(l.lines, lines...)
		close(l.moved)
		l.moved = make(chan struct{})
	}
	return len(p), nil
}

// tail returns the last n lines; 0: all.
func (l *logbook) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(append(slices.Clone(lines), l.rest), "\n")
}

func (l *logbook) wait(parts []string) (line string, ok bool) {
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for from := 0; ; {
		l.mu.Lock()
		lines, moved := l.lines, l.moved
		l.mu.Unlock()
		for _, line := range lines[from:] {
			if containsAll(line, parts) {
				return line, true
			}
		}
		from = len(lines)
		select {
		case <-moved:
		case <-limit.C:
			return "", false
		}
	}
}

func containsAll(line string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(line, p) {
			return false
		}
	}
	return true
}
