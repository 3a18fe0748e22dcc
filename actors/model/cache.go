package model

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"sync"
)

// An AnswerStore keeps whole answers by key. Its methods may be called at any time,
// from any goroutine; nobody changes the parts. A store that fails answers false.
type AnswerStore interface {
	Answer(ctx context.Context, key string) ([]Part, bool)
	Keep(ctx context.Context, key string, answer []Part)
}

// Cached answers a request that the model has answered before from the store.
// Requests are the same if all that the model sees is: Request.Key and Headers do
// not count. Only answers that ended with Stop or ToolCalls are kept. One from the
// store costs nothing, so its usage is 0.
func Cached(s AnswerStore) Middleware {
	return Around(func(ctx context.Context, r Request, next Model) iter.Seq2[Part, error] {
		return func(yield func(Part, error) bool) {
			key, ok := cacheKey(next.Name(), r)
			if !ok {
				next.Stream(ctx, r)(yield)
				return
			}
			if answer, ok := s.Answer(ctx, key); ok {
				replay(ctx, answer, yield)
				return
			}
			var answer []Part
			for p, err := range next.Stream(ctx, r) {
				if err == nil {
					answer = append(answer, p)
				}
				if f, ok := p.(FinishPart); ok && err == nil && (f.Reason == Stop || f.Reason == ToolCalls) {
					s.Keep(ctx, key, answer)
				}
				if !yield(p, err) {
					return
				}
			}
		}
	})
}

func cacheKey(name string, r Request) (string, bool) {
	r.Key, r.Headers = "", nil
	raw, err := json.Marshal(struct {
		Model   string
		Request Request
	}{name, r})
	if err != nil {
		return "", false // the provider says what is wrong with it
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), true
}

func replay(ctx context.Context, answer []Part, yield func(Part, error) bool) {
	for _, p := range answer {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		if f, ok := p.(FinishPart); ok {
			f.Usage = Usage{}
			p = f
		}
		if !yield(p, nil) {
			return
		}
	}
}

// A MemoryStore is an [AnswerStore] in memory that keeps the answers that were used
// last. Make it with NewMemoryStore.
type MemoryStore struct {
	limit int

	mu    sync.Mutex
	byKey map[string]*list.Element
	used  *list.List // of *stored; the front was used last
}

type stored struct {
	key    string
	answer []Part
}

// NewMemoryStore returns a store of at most limit answers; below 1 it keeps none.
func NewMemoryStore(limit int) *MemoryStore {
	return &MemoryStore{limit: limit, byKey: map[string]*list.Element{}, used: list.New()}
}

// Answer implements [AnswerStore].
func (s *MemoryStore) Answer(_ context.Context, key string) ([]Part, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return nil, false
	}
	s.used.MoveToFront(e)
	return e.Value.(*stored).answer, true //nolint:forcetypeassert // Keep puts in no other
}

// Keep implements [AnswerStore].
func (s *MemoryStore) Keep(_ context.Context, key string, answer []Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		s.used.Remove(e)
	}
	s.byKey[key] = s.used.PushFront(&stored{key, answer})
	for s.used.Len() > max(s.limit, 0) {
		last := s.used.Back()
		s.used.Remove(last)
		delete(s.byKey, last.Value.(*stored).key) //nolint:forcetypeassert // as above
	}
}
