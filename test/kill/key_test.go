package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/test/client"
)

// program talks to an agent by POST …/turns: it gives each message a key and sends it
// until it is answered, sometimes twice at once. Its fields belong to its goroutine, but
// mu's.
type program struct {
	name    string
	agent   string
	witness *witness
	world   *world
	rng     *rand.Rand
	http    http.Client
	settled atomic.Bool

	mu      sync.Mutex
	keys    []string          // answered ones
	bodies  map[string]string // of those
	answers map[string]reply
	posts   int
	refused int // other bodies under a key
}

// reply is what POST …/turns answers.
type reply struct {
	RequestID string         `json:"requestId"`
	Status    string         `json:"status"`
	Message   client.Message `json:"message"`
	Error     string         `json:"error"`
}

func (p *program) run(ctx context.Context) {
	for n, left := 1, 3; left > 0 && ctx.Err() == nil; n++ {
		if p.world.calm.Load() {
			left--
		}
		key := fmt.Sprintf("%s-%d", p.name, n)
		body := string(mustJSON(map[string]any{
			"text": "script:paced " + key, "word": key, "words": 1 + p.rng.IntN(12), "delayMs": p.rng.IntN(8), "fail": p.rng.IntN(10) == 0,
		}))
		p.ask(ctx, key, body)
		if p.rng.IntN(3) == 0 {
			p.sayOtherwise(ctx, key, body)
		}
		if p.rng.IntN(3) == 0 && len(p.keys) > 0 { // only read by others
			key := p.keys[p.rng.IntN(len(p.keys))]
			p.ask(ctx, key, p.bodies[key])
		}
	}
	p.settled.Store(true)
}

// ask has a key answered: by one client, or by two at once.
func (p *program) ask(ctx context.Context, key, body string) {
	var clients sync.WaitGroup
	for range 1 + p.rng.IntN(2) {
		impatient, early := time.Duration(0), p.rng.IntN(4) == 0
		if p.rng.IntN(4) == 0 {
			impatient = time.Duration(1+p.rng.IntN(60)) * time.Millisecond
		}
		clients.Go(func() {
			if early {
				p.accepted(key, p.post(ctx, key, body, "", impatient))
			}
			p.answered(ctx, key, p.post(ctx, key, body, "?wait=1", impatient))
		})
	}
	clients.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.bodies[key]; !known {
		p.keys, p.bodies[key] = append(p.keys, key), body
	}
}

// sayOtherwise sends something else under a key that was answered.
func (p *program) sayOtherwise(ctx context.Context, key, body string) {
	other := strings.Replace(body, "script:paced", "script:paced another", 1)
	res := p.post(ctx, key, other, []string{"", "?wait=1"}[p.rng.IntN(2)], 0)
	if res.status != http.StatusConflict && ctx.Err() == nil {
		p.witness.fault("key %s: another body is answered %d %s", key, res.status, res.body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused++
}

// response is the end of a post; status 0: ctx has ended.
type response struct {
	status int
	body   []byte
}

// post sends a request until there is an answer. The first one may be too impatient to
// wait for it.
func (p *program) post(ctx context.Context, key, body, query string, impatient time.Duration) response {
	for life := 0; ; impatient = 0 {
		now, open := p.world.gate.next(ctx, life)
		if !open {
			return response{}
		}
		for p.world.gate.isOpen(now) {
			res, err := p.try(ctx, key, body, query, impatient)
			if err == nil && res.status != http.StatusServiceUnavailable {
				return res
			}
			impatient = 0
			if ctx.Err() != nil {
				return response{}
			}
		}
		life = now
	}
}

func (p *program) try(ctx context.Context, key, body, query string, impatient time.Duration) (response, error) {
	if impatient > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, impatient)
		defer cancel()
	}
	url := "http://" + p.world.addr + "/agents/" + kebab(p.agent) + "/turns" + query
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Idempotency-Key", key)
	p.mu.Lock()
	p.posts++
	p.mu.Unlock()
	res, err := p.http.Do(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return response{res.StatusCode, got}, err
}

func (p *program) accepted(key string, res response) {
	switch res.status {
	case 0:
	case http.StatusAccepted:
		p.witness.told(key, "202")
	default:
		p.witness.fault("key %s is answered %d %s", key, res.status, res.body)
	}
}

func (p *program) answered(ctx context.Context, key string, res response) {
	if res.status == 0 && ctx.Err() != nil {
		return
	}
	var told reply
	if err := json.Unmarshal(res.body, &told); err != nil || res.status != http.StatusOK || told.RequestID != key {
		p.witness.fault("key %s is answered %d %s", key, res.status, res.body)
		return
	}
	p.witness.told(key, "200")
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, known := p.answers[key]; known && !bytes.Equal(mustJSON(old), mustJSON(told)) {
		p.witness.fault("key %s was answered %s and is answered %s", key, mustJSON(old), mustJSON(told))
	}
	p.answers[key] = told
}

// check compares what the program was told with the journal.
func (p *program) check(h *history) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stored := map[string][]string{}
	for _, m := range h.list {
		stored[m.GetId()] = texts(h.queue.parse(m))
	}
	for key, told := range p.answers {
		if final := h.final(key); final != told.Status {
			p.witness.fault("key %s was answered %q, and that is not in the journal: it has %q", key, told.Status, final)
		}
		if told.Status == "completed" && broken(texts(told.Message), true) != "" {
			p.witness.fault("key %s was answered with %q", key, texts(told.Message))
		}
		if kept := stored[told.Message.ID]; !slices.Equal(kept, texts(told.Message)) {
			p.witness.fault("key %s was answered with message %q, %q; the journal has %q", key, told.Message.ID, texts(told.Message), kept)
		}
	}
}
