package protocol

import "sync"

// queue works tasks off one by one in their order, on a goroutine that exists
// only while there are some. Only one goroutine at a time may post.
type queue struct {
	h        *Handler
	run      func(do func()) // runs a task
	maxBytes int64           // of the frames that wait, unless the only one is larger
	slack    chan struct{}   // capacity 1: the queue has become shorter

	mu    sync.Mutex // guards what follows
	tasks []task
	bytes int64
	busy  bool // a goroutine works
}

// task is what one frame asks for.
type task struct {
	size int64
	do   func()
}

// maxTasks is how many frames of one client may wait in a queue.
const maxTasks = 256

func newQueue(h *Handler, run func(do func())) *queue {
	return &queue{h: h, run: run, maxBytes: h.cfg.MaxFrameBytes, slack: make(chan struct{}, 1)}
}

// post queues a task behind those before it. It waits while the queue is full,
// and returns false if gone is closed meanwhile.
func (q *queue) post(size int, do func(), gone <-chan struct{}) bool {
	t := task{int64(size), do}
	for {
		q.mu.Lock()
		if len(q.tasks) == 0 || len(q.tasks) < maxTasks && q.bytes+t.size <= q.maxBytes {
			break
		}
		q.mu.Unlock()
		select {
		case <-q.slack:
		case <-gone:
			return false
		}
	}
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, t)
	q.bytes += t.size
	if !q.busy {
		q.busy = true
		q.h.enter()
		go q.work()
	}
	return true
}

// work empties the queue and ends.
func (q *queue) work() {
	defer q.h.exit()
	for {
		q.mu.Lock()
		if len(q.tasks) == 0 {
			q.tasks, q.busy = nil, false
			q.mu.Unlock()
			return
		}
		t := q.tasks[0]
		q.tasks[0] = task{}
		q.tasks = q.tasks[1:]
		q.bytes -= t.size
		q.mu.Unlock()
		select {
		case q.slack <- struct{}{}:
		default:
		}
		q.run(t.do)
	}
}
