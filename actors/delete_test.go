package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// patient answers, but to "wait" and "wait in silence" only when its context ends.
func patient() *actors.Agent {
	return &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		text := textOf(turn.Question[len(turn.Question)-1])
		if !strings.HasPrefix(text, "wait") {
			return turn.Stream.Text("echo: " + text)
		}
		if text == "wait" {
			if err := turn.Stream.Text("so far"); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}}
}

// stored lists the streams that are on the harness's disk and not deleted.
func stored(t testing.TB, h *actorstest.Harness) []string {
	t.Helper()
	s := memory.Open(memory.Config{Disk: h.Disk})
	defer s.Close()
	infos, err := s.List(context.Background(), "", "", 1000)
	require.NoError(t, err)
	list := []string{}
	for _, i := range infos {
		if !i.Deleted {
			list = append(list, i.Stream)
		}
	}
	for i, err := range s.Due(context.Background(), persistence.Wake(1<<62)) {
		require.NoError(t, err)
		require.Contains(t, list, i.Stream, "a deleted agent is due")
	}
	return list
}

func closings(h *actorstest.Harness, a feed.Address) (list []feed.Closing) {
	for _, item := range h.Items(a) {
		if c, ok := item.(feed.Closing); ok {
			list = append(list, c)
		}
	}
	return list
}

// tree makes a root with sub-agents: idle has one of its own, busy answers and has
// a question waiting, quiet was only ever registered.
func clan(t testing.TB, h *actorstest.Harness, agent *actors.Agent) (root *actors.Ref) {
	t.Helper()
	root = h.Agent(agent, "root")
	_, err := root.Chat(t.Context(), "hello")
	require.NoError(t, err)
	idle, err := root.SubAgent(t.Context(), agent, "idle")
	require.NoError(t, err)
	deep, err := idle.SubAgent(t.Context(), agent, "deep")
	require.NoError(t, err)
	_, err = deep.Chat(t.Context(), "hello")
	require.NoError(t, err)
	busy, err := root.SubAgent(t.Context(), agent, "busy")
	require.NoError(t, err)
	require.NoError(t, busy.Submit(t.Context(), submit("r1", "wait")))
	require.NoError(t, busy.Submit(t.Context(), submit("r2", "next")))
	_, err = root.SubAgent(t.Context(), agent, "quiet")
	require.NoError(t, err)
	return root
}

func TestAnAgentIsDeletedForGood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := patient()
		h := actorstest.New(t, agent)
		root := clan(t, h, agent)
		_, err := h.Agent(agent, "rooted").Chat(t.Context(), "I only begin like it")
		require.NoError(t, err)
		require.NoError(t, root.Submit(t.Context(), submit("r1", "wait")))
		pass(time.Second)
		require.NoError(t, root.Delete(t.Context()))

		require.Equal(t, []string{"Echo/rooted"}, stored(t, h))
		require.Equal(t, feed.Aborted, endings(t, h, root.Address())["r1"])
		require.Equal(t, []feed.Closing{{Code: 1001, Reason: "Agent deleted"}}, closings(h, root.Address()))
		busy := root.Address().Child("Echo", "busy")
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Aborted, "r2": feed.Skipped}, endings(t, h, busy))
		for _, child := range []feed.Address{busy, root.Address().Child("Echo", "quiet"), root.Address().Child("Echo", "idle").Child("Echo", "deep")} {
			require.Equal(t, []feed.Closing{{Code: 1001, Reason: "Sub-agent deleted"}}, closings(h, child), child.Path())
			require.Zero(t, h.Lost(child))
		}

		require.Empty(t, conversation(t, root), "the name is free again at once")
		require.Empty(t, names(t, root))
		answer, err := root.Chat(t.Context(), "hello again")
		require.NoError(t, err)
		require.Equal(t, "echo: hello again", answer.Text())
		h.Crash()
		require.Equal(t, []string{"user: hello again", "assistant: echo: hello again"}, conversation(t, h.Agent(agent, "root")))
		require.NoError(t, h.Agent(agent, "nobody").Delete(t.Context()), "one that there never was")
	})
}

func TestASubAgentIsDeletedAndForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := patient()
		h := actorstest.New(t, agent)
		root := clan(t, h, agent)
		require.NoError(t, root.DeleteSubAgent(t.Context(), agent, "busy"))
		require.Equal(t, []string{"Echo/idle", "Echo/quiet"}, names(t, root))
		require.Equal(t, []string{"Echo/root", "Echo/root/sub/Echo/idle", "Echo/root/sub/Echo/idle/sub/Echo/deep"}, stored(t, h))
		require.NoError(t, root.DeleteSubAgent(t.Context(), agent, "busy"), "twice")

		again, err := root.SubAgent(t.Context(), agent, "busy")
		require.NoError(t, err)
		require.Empty(t, conversation(t, again))

		idle, err := root.SubAgent(t.Context(), agent, "idle")
		require.NoError(t, err)
		require.NoError(t, idle.Delete(t.Context()), "by itself: its parent forgets it as well")
		require.Equal(t, []string{"Echo/quiet", "Echo/busy"}, names(t, root))
		require.Equal(t, []string{"Echo/root"}, stored(t, h))
		require.Len(t, conversation(t, root), 2)
	})
}

// Who registers a sub-agent whose predecessor is being deleted waits until that is gone.
func TestASuccessorWaitsForItsPredecessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		var f faults
		_, root := open(t, &f, agent)
		child, err := root.SubAgent(t.Context(), agent, "c")
		require.NoError(t, err)
		_, err = child.Chat(t.Context(), "old")
		require.NoError(t, err)
		held := make(chan struct{})
		f.set(func(a persistence.Append) memory.Fault {
			if strings.Contains(a.Stream, "/sub/") {
				return hold(held)
			}
			return memory.Fault{}
		})
		deleted, made := make(chan error, 1), make(chan error, 1)
		go func() { deleted <- root.DeleteSubAgent(t.Context(), agent, "c") }()
		pass(time.Second)
		has, err := root.HasSubAgent(t.Context(), agent, "c")
		require.NoError(t, err)
		require.False(t, has)
		go func() {
			_, err := root.SubAgent(t.Context(), agent, "c")
			made <- err
		}()
		pass(time.Second)
		require.Empty(t, deleted)
		require.Empty(t, made)
		close(held)
		require.NoError(t, <-deleted)
		require.NoError(t, <-made)
		require.Empty(t, conversation(t, child))
	})
}

// A deletion that is cut off, wherever that is, was either never begun or is
// finished by the next start. Each call of the store is once the last that succeeds.
func TestADeletionIsFinishedWhereverItIsCutOff(t *testing.T) {
	for _, of := range []string{"root", "child"} {
		begun := 0
		for cut, cutOff := 0, true; cutOff; cut++ {
			require.Less(t, cut, 200)
			bubble(t, func(t *testing.T) { cutOff = deleteUntil(t, of, cut, &begun) })
		}
		require.Greater(t, begun, 10, "most cuts are behind the beginning")
	}
}

func deleteUntil(t *testing.T, of string, cut int, begun *int) (cutOff bool) {
	agent := patient()
	var f faults
	h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
	root := clan(t, h, agent)
	pass(2 * time.Minute) // what can leave memory has left
	before := stored(t, h)
	calls := 0
	f.mu.Lock()
	fails := func() bool { calls++; return calls > cut }
	f.decide = func(persistence.Append) memory.Fault {
		f.mu.Lock()
		defer f.mu.Unlock()
		if fails() {
			return memory.Fault{Outcome: memory.Lost}
		}
		return memory.Fault{}
	}
	f.reads = func() error { // called with f.mu held
		if fails() {
			return errCable
		}
		return nil
	}
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	if of == "root" {
		err = root.Delete(ctx)
	} else {
		err = root.DeleteSubAgent(ctx, agent, "idle")
	}
	f.mu.Lock()
	cutOff = calls > cut
	f.mu.Unlock()
	require.Equal(t, cutOff, err != nil, "%v", err)
	h.Crash()
	f.set(nil)
	f.mu.Lock()
	f.reads = nil
	f.mu.Unlock()
	pass(10 * time.Minute)

	after := stored(t, h)
	root = h.Agent(agent, "root")
	if len(after) == len(before) {
		require.True(t, cutOff)
		require.Equal(t, before, after)
		require.Equal(t, []string{"Echo/idle", "Echo/busy", "Echo/quiet"}, names(t, root))
		return cutOff
	}
	*begun++
	if of == "root" {
		require.Empty(t, after)
		require.Empty(t, conversation(t, root))
	} else {
		require.Equal(t, []string{"Echo/root", "Echo/root/sub/Echo/busy"}, after)
		require.Equal(t, []string{"Echo/busy", "Echo/quiet"}, names(t, root))
	}
	return cutOff
}

// What cannot be read can be deleted with its parent, and nothing that is under way
// to its journal brings it back.
func TestASubAgentThatCannotBeReadIsDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		h := actorstest.New(t, agent)
		root := h.Agent(agent, "root")
		child, err := root.SubAgent(t.Context(), agent, "c")
		require.NoError(t, err)
		s := memory.Open(memory.Config{Disk: h.Disk})
		defer s.Close()
		write := func(a feed.Address, expected uint64, n uint64) error {
			done := make(chan error)
			s.Append(persistence.Append{
				Stream: a.Path(), Expected: expected, Batch: persistence.Batch{Incarnation: 1, N: n},
				Records: []persistence.Record{{Data: []byte("not a record")}},
			}, func(err error) { done <- err })
			return <-done
		}
		require.NoError(t, write(child.Address(), 0, 1))
		below := child.Address().Child("Gone", "x") // of a class that the program has no more
		require.NoError(t, write(below, 0, 1))
		var refusal *actors.Error
		_, err = child.Messages(t.Context())
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, actors.Quarantined, refusal.Code)
		require.NoError(t, root.DeleteSubAgent(t.Context(), agent, "c"))
		require.Empty(t, names(t, root))
		require.Equal(t, []string{"Echo/root"}, stored(t, h))
		for _, a := range []feed.Address{child.Address(), below} {
			require.ErrorIs(t, write(a, 1, 2), persistence.ErrConflict, "the journal's head has moved on")
		}
	})
}

// An agent's own turn may delete it: it ends with it.
func TestAnAgentDeletesItselfFromItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		returned := make(chan error, 2)
		agent := &actors.Agent{Name: "Echo"}
		agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
			err := turn.Self.Delete(ctx)
			returned <- err
			time.Sleep(time.Minute) // in the bubble: until it is gone
			err = turn.Self.ClearMessages(ctx)
			returned <- err
			return err
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		answer, err := r.Chat(t.Context(), "go")
		require.NoError(t, err)
		require.Equal(t, actors.StatusAborted, answer.Status)
		require.ErrorIs(t, <-returned, actors.ErrTurnOver)
		require.ErrorIs(t, <-returned, actors.ErrTurnOver, "what it says then is not for a successor")
		pass(2 * time.Minute)
		require.Empty(t, stored(t, h))
	})
}

func TestDestroyEndsAllAndKeepsTheConversation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := patient()
		agent.PassivateAfter = time.Hour
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "wait")))
		require.NoError(t, r.Submit(t.Context(), submit("r2", "next")))
		pass(time.Second)
		require.NoError(t, r.Destroy(t.Context()))
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Aborted, "r2": feed.Skipped}, endings(t, h, r.Address()))
		require.Equal(t, []feed.Closing{{Code: 1001, Reason: "Agent destroyed"}}, closings(h, r.Address()))
		pass(time.Second)
		require.Equal(t, 1, count(journal(t, h, r.Address()), rested), "it has left memory, long before its time")
		require.Equal(t, []string{"user: wait", "user: next", "assistant: so far"}, conversation(t, r))
		h.Crash()
		pass(time.Minute)
		require.Len(t, conversation(t, h.Agent(agent, "room")), 3, "nothing was left to do")
	})
}

func agentDeleted(e *journalv1.Event) bool { return e.GetAgentDeleted() != nil }

// Nobody hears of a deletion that is not stored.
func TestADeletionIsToldWhenItIsStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := patient()
		var f faults
		h, r := open(t, &f, agent)
		require.NoError(t, r.Submit(t.Context(), submit("r1", "wait")))
		held := make(chan struct{})
		f.once(agentDeleted, hold(held))
		done := make(chan error, 1)
		go func() { done <- r.Delete(t.Context()) }()
		pass(time.Minute)
		require.Empty(t, closings(h, r.Address()))
		require.Empty(t, endings(t, h, r.Address()))
		var refusal *actors.Error
		require.ErrorAs(t, r.Submit(t.Context(), submit("r2", "late")), &refusal)
		require.Equal(t, actors.Unavailable, refusal.Code)
		require.True(t, errors.Is(refusal, actors.ErrInterrupted))
		close(held)
		require.NoError(t, <-done)
		require.Len(t, closings(h, r.Address()), 1)
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Aborted}, endings(t, h, r.Address()))
		require.Empty(t, stored(t, h))
	})
}

// Who comes while an agent is being erased waits for the next of that name; not any
// number of them, however long the store is out.
func TestNotEverybodyWaitsForASuccessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := echo()
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		_, err := r.Chat(t.Context(), "hi")
		require.NoError(t, err)
		release := f.hold()
		deleted := make(chan error, 1)
		go func() { deleted <- r.Delete(t.Context()) }()
		synctest.Wait()
		f.outage(persistence.ErrUnavailable)
		release()
		synctest.Wait()
		const many = 8200
		verdicts := make(chan error, many)
		for range many {
			go func() {
				_, err := r.HasPendingInteraction(t.Context())
				verdicts <- err
			}()
		}
		synctest.Wait()
		require.NotEmpty(t, verdicts, "some are told to come later")
		require.Equal(t, actors.Busy, code(t, <-verdicts))
		f.outage(nil)
		require.NoError(t, <-deleted)
	})
}
