package chat

import (
	"bytes"
	"fmt"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

const maxKeys = 1000 // accepted keys that are remembered

// Keyring remembers the last keys that were accepted, so that a repeat changes
// nothing. Invariant: len(order) == len(keys) && len(order) <= maxKeys.
type Keyring struct {
	order []string
	keys  map[string]*accepted
}

// accepted is what is known of a key.
type accepted struct {
	turn        uint64 // that answers; a recovery goes on with it
	fingerprint []byte // of the request, if the key is a caller's
	ended       *Ended // how that turn has ended, if there is a fingerprint
}

// Conflict refuses a request whose key stands for another one.
type Conflict struct{ Request string }

func (e Conflict) Error() string {
	return fmt.Sprintf("request id %q has been used for another request", e.Request)
}

// Requests and clears have keys of their own: clients choose the former.
func requestKey(request string) string { return "request/" + request }
func clearKey(key string) string       { return "clear/" + key }

// Turn returns the turn that key was accepted for, or the one that goes on with it.
func (k *Keyring) Turn(key string) (uint64, bool) {
	a, ok := k.keys[key]
	if !ok {
		return 0, false
	}
	return a.turn, true
}

// asked reports whether a request is known already. It is an error if it is
// another one that is known under its id.
func (k *Keyring) asked(request string, fingerprint []byte) (bool, error) {
	a, ok := k.keys[requestKey(request)]
	if ok && len(fingerprint) > 0 && !bytes.Equal(fingerprint, a.fingerprint) {
		return true, Conflict{request}
	}
	return ok, nil
}

func (k *Keyring) add(key string, a accepted) {
	if _, ok := k.keys[key]; ok {
		return
	}
	if k.keys == nil {
		k.keys = make(map[string]*accepted)
	}
	if len(k.order) == maxKeys {
		delete(k.keys, k.order[0])
		k.order = k.order[1:]
	}
	k.order = append(k.order, key)
	k.keys[key] = &a
}

// follow: what turn from was to answer is turn to's now.
func (k *Keyring) follow(from, to uint64) {
	for _, a := range k.keys {
		if a.turn == from {
			a.turn = to
		}
	}
}

// end notes how a turn has ended, for callers that ask when all else has
// forgotten it. first is the key of the turn's own request.
func (k *Keyring) end(e Ended, first string) {
	if a := k.keys[first]; a != nil && len(a.fingerprint) > 0 {
		a.ended = &e
	}
	if !e.Continuation {
		return
	}
	for _, a := range k.keys {
		if a.turn == e.Turn && len(a.fingerprint) > 0 {
			a.ended = &e
		}
	}
}

// Answer returns the unfinished turn that answers a request, or how the request
// has ended, through all recoveries; not known: the agent has never heard of it,
// or does not remember any more.
func (s *State) Answer(request string) (unfinished *Turn, ended Ended, known bool) {
	if t := s.Turns.Request(request); t != nil {
		return t, Ended{}, true
	}
	a := s.Ledger.Keys.keys[requestKey(request)]
	if a == nil {
		return nil, Ended{}, false
	}
	if t := s.Turns.byID(a.turn); t != nil {
		return t, Ended{}, true
	}
	if e, ok := s.Ledger.FindTurn(a.turn); ok {
		return nil, e, true
	}
	if a.ended != nil {
		return nil, *a.ended, true
	}
	return nil, Ended{}, false
}

func (k *Keyring) proto() []*pb.AcceptedKey {
	list := make([]*pb.AcceptedKey, len(k.order))
	for i, key := range k.order {
		a := k.keys[key]
		list[i] = &pb.AcceptedKey{Key: key, Turn: a.turn, Fingerprint: slices.Clone(a.fingerprint)}
		if a.ended != nil {
			list[i].Ended = a.ended.proto()
		}
	}
	return list
}

func (k *Keyring) restore(list []*pb.AcceptedKey) {
	for _, key := range list {
		a := accepted{turn: key.GetTurn(), fingerprint: key.GetFingerprint()}
		if e := key.GetEnded(); e != nil {
			ended := endedFrom(e)
			a.ended = &ended
		}
		k.add(key.GetKey(), a)
	}
}
