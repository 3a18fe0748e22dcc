package bolt

import (
	"fmt"
	"time"
)

// suspend takes the store out of service after err. Whoever waits in the queue is
// told, and whoever comes later, until reopen has succeeded.
func (s *Store) suspend(err error) {
	s.mu.Lock()
	f, queue := s.file, s.queue
	s.file, s.queue = nil, nil
	s.down = fmt.Errorf("journal %s: a commit has failed: %w", s.config.Path, err)
	down := s.down
	s.mu.Unlock()
	s.config.Logger.Error("journal suspended", "path", s.config.Path, "error", err)
	if err := f.close(); err != nil {
		s.config.Logger.Warn("journal left behind", "path", s.config.Path, "error", err)
	}
	answerAll(queue, down, false)
	s.writer.layout.forget()
}

// reopen tries to open the file until it succeeds or the store is closed.
func (s *Store) reopen() {
	began := time.Now()
	for pause := s.config.retryFirst; ; pause = min(2*pause, s.config.retryMost) {
		timer := time.NewTimer(pause)
		select {
		case <-s.closing:
			timer.Stop()
			return
		case <-timer.C:
		}
		f, err := s.config.open(s.config.Path, true)
		s.mu.Lock()
		if err == nil {
			s.file, s.down = f, nil
			s.mu.Unlock()
			s.config.Logger.Info("journal is back", "path", s.config.Path, "after", time.Since(began))
			return
		}
		s.down = err
		s.mu.Unlock()
	}
}

// release closes the file, if there is one.
func (s *Store) release() error {
	s.mu.Lock()
	f := s.file
	s.file = nil
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.close()
}
