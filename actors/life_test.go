package actors_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func rested(e *journalv1.Event) bool { return e.GetDeactivated() != nil }

func TestAnIdleAgentLeavesMemoryAndComesBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		agent.PassivateAfter = time.Hour
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		_, err := r.Chat(t.Context(), "hi")
		require.NoError(t, err)
		pass(59 * time.Minute)
		require.Zero(t, count(journal(t, h, r.Address()), rested))
		_, err = r.Chat(t.Context(), "more")
		require.NoError(t, err)
		pass(59 * time.Minute)
		require.Zero(t, count(journal(t, h, r.Address()), rested), "the second message has put it off")
		pass(2 * time.Minute)
		require.Equal(t, 1, count(journal(t, h, r.Address()), rested))
		require.Equal(t, []string{"user: hi", "assistant: echo: hi", "user: more", "assistant: echo: more"}, conversation(t, r))
		require.Zero(t, h.Lost(r.Address()), "sockets stay")
	})
}

func TestLookingAtAnAgentStoresNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		h, r := open(t, &f, echo())
		require.Empty(t, conversation(t, r))
		require.NoError(t, r.View(t.Context(), 7))
		pass(time.Hour)
		require.Empty(t, f.appends())
		require.Contains(t, h.Items(r.Address()), feed.Item(feed.View{Ask: 7, Messages: []byte("[]")}))
	})
}

// Thousands of messages come at the very moments at which the agent goes.
func TestNoMessageIsLostBetweenGoingAndComing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const idle, rooms, senders, times = 10 * time.Millisecond, 20, 5, 50
		agent := echo()
		agent.PassivateAfter = idle
		h := actorstest.New(t, agent)
		var all sync.WaitGroup
		for room := range rooms {
			r := h.Agent(agent, fmt.Sprint("room", room))
			for sender := range senders {
				all.Go(func() {
					for i := range times {
						time.Sleep(idle + time.Duration(i%3-1))
						messages := submit(fmt.Sprint(sender), fmt.Sprint(i)).Messages
						if err := r.SetMessages(t.Context(), "", messages); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
		all.Wait()
		pass(time.Minute)
		wakes := 0
		for room := range rooms {
			r := h.Agent(agent, fmt.Sprint("room", room))
			for _, line := range conversation(t, r) {
				require.Equal(t, fmt.Sprint("user: ", times-1), line)
			}
			for _, item := range h.Items(r.Address()) {
				if _, ok := item.(feed.Loaded); ok {
					wakes++
				}
			}
			require.Zero(t, h.Lost(r.Address()), "there never were two incarnations")
		}
		require.Greater(t, wakes, rooms*times/4, "they do go in between")
	})
}

// An agent that goes at once keeps every promise, too.
func TestPassivationAfterNoTimeAtAll(t *testing.T) {
	agent := echo()
	agent.PassivateAfter = 1
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	var all sync.WaitGroup
	for sender := range 8 {
		all.Go(func() {
			for i := range 300 {
				if err := r.SetMessages(t.Context(), "", submit(fmt.Sprint(sender), fmt.Sprint(i)).Messages); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, conversation(t, r), 8)
	require.Zero(t, h.Lost(r.Address()), "there never were two incarnations")
}

func TestAgentsWithWorkAreWokenAtABoundedRate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const agents, rate = 500, 100
		woken := make(chan string, agents)
		var again atomic.Bool
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			if again.Load() {
				woken <- textOf(turn.Messages[0])
				return turn.Stream.Text("yes")
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, WakeRate: rate})
		for i := range agents {
			room := fmt.Sprint("room", i)
			require.NoError(t, h.Agent(agent, room).Submit(t.Context(), submit("r1", room)))
		}
		synctest.Wait()
		again.Store(true)
		h.Crash()
		touched := h.Agent(agent, "room432") // a client comes first
		require.NoError(t, touched.View(t.Context(), 1))
		synctest.Wait()
		first := []string{}
		for len(woken) > 0 {
			first = append(first, <-woken)
		}
		require.Contains(t, first, "room432")
		require.Less(t, len(first), 5)
		const all = agents / rate * time.Second
		pass(all / 2)
		require.InDelta(t, agents/2, len(woken), 10)
		pass(all/2 + time.Second)
		require.Len(t, woken, agents-len(first))
	})
}

// write puts one record behind an agent's journal, as another program would.
func write(t *testing.T, h *actorstest.Harness, a feed.Address, data []byte) {
	t.Helper()
	s := memory.Open(memory.Config{Disk: h.Disk})
	defer s.Close()
	info, _, err := s.Find(t.Context(), a.String(), persistence.Batch{})
	require.NoError(t, err)
	done := make(chan error, 1)
	s.Append(persistence.Append{
		Stream: a.String(), Expected: info.Head, Batch: persistence.Batch{Incarnation: 1, N: info.Head + 1},
		Records: []persistence.Record{{Data: data}}, Wake: persistence.Now,
	}, func(err error) { done <- err })
	require.NoError(t, <-done)
}

// eventOfTheFuture is a record whose event has a kind that nobody knows yet.
func eventOfTheFuture(t *testing.T) []byte {
	record, err := proto.Marshal(&journalv1.Record{AtMs: 1, Incarnation: 1, Batch: 1})
	require.NoError(t, err)
	kind := protowire.AppendBytes(protowire.AppendTag(nil, 15000, protowire.BytesType), []byte("?"))
	field := (&journalv1.Record{}).ProtoReflect().Descriptor().Fields().ByName("event").Number()
	return protowire.AppendBytes(protowire.AppendTag(record, field, protowire.BytesType), kind)
}

func TestAJournalThatCannotBeReadQuarantinesThatAgentOnly(t *testing.T) {
	for name, data := range map[string]func(*testing.T) []byte{
		"kind of a newer version": eventOfTheFuture,
		"no record":               func(*testing.T) []byte { return []byte("\xff\xff\xff") },
		"empty":                   func(*testing.T) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				agent := echo()
				var reads atomic.Int64
				h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: memory.Config{
					OnRead: func(stream string) error {
						if stream == "Echo/bad" {
							reads.Add(1)
						}
						return nil
					},
				}})
				bad := h.Agent(agent, "bad")
				_, err := bad.Chat(t.Context(), "hi")
				require.NoError(t, err)
				h.Restart()
				write(t, h, bad.Address(), data(t))
				length := len(rawJournal(t, h, bad.Address()))
				h.Restart()
				bad = h.Agent(agent, "bad")
				var e *actors.Error
				_, err = bad.Chat(t.Context(), "hi")
				require.ErrorAs(t, err, &e)
				require.Equal(t, actors.Quarantined, e.Code)
				require.ErrorContains(t, errors.Unwrap(e), `stream "Echo/bad": record`)
				_, err = bad.Messages(t.Context())
				require.ErrorAs(t, err, &e)
				_, err = h.Agent(agent, "good").Chat(t.Context(), "hi")
				require.NoError(t, err)
				reads.Store(0)
				pass(time.Hour)
				require.Less(t, reads.Load(), int64(100), "it is due, but tried less and less often")
				require.Len(t, rawJournal(t, h, bad.Address()), length, "nothing is written")
			})
		})
	}
}

func rawJournal(t *testing.T, h *actorstest.Harness, a feed.Address) []persistence.Record {
	t.Helper()
	s := memory.Open(memory.Config{Disk: h.Disk})
	defer s.Close()
	var records []persistence.Record
	for r, err := range s.Read(context.Background(), a.String(), 1) {
		require.NoError(t, err)
		records = append(records, r)
	}
	return records
}

func TestAnAgentThatCannotBeReadNowIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		h, r := open(t, &f, echo())
		f.outage(errCable)
		_, err := r.Chat(t.Context(), "hi")
		var e *actors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, actors.Unavailable, e.Code)
		f.outage(nil)
		pass(3 * time.Second)
		_, err = r.Chat(t.Context(), "hi")
		require.NoError(t, err)
		require.Zero(t, h.Lost(r.Address()))
	})
}

func TestASnapshotShortensTheLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		for i := range 20 {
			_, err := r.Chat(t.Context(), fmt.Sprint(i))
			require.NoError(t, err)
		}
		want := conversation(t, r)
		pass(time.Hour)
		disk := memory.Open(memory.Config{Disk: h.Disk})
		snapshot, ok, err := disk.LoadSnapshot(t.Context(), r.Address().String())
		require.NoError(t, err)
		require.True(t, ok)
		require.EqualValues(t, len(journal(t, h, r.Address())), snapshot.Seq)
		require.Equal(t, want, conversation(t, r), "with the snapshot")
		pass(time.Hour)
		again, _, err := disk.LoadSnapshot(t.Context(), r.Address().String())
		require.NoError(t, err)
		require.Equal(t, snapshot, again, "nothing has changed, nothing is written")
		require.NoError(t, disk.SaveSnapshot(t.Context(), r.Address().String(), persistence.Snapshot{Seq: snapshot.Seq, Data: []byte("rot")}))
		h.Crash()
		require.Equal(t, want, conversation(t, h.Agent(agent, "room")), "without it")
	})
}

func TestClearLeavesNothingInTheJournal(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var f faults
				agent := echo()
				h, r := open(t, &f, agent)
				_, err := r.Chat(t.Context(), "my secret")
				require.NoError(t, err)
				if crash { // right behind the clear: nobody had the time to tidy up
					f.once(func(e *journalv1.Event) bool { return e.GetCleared() != nil }, memory.Fault{Outcome: memory.AckLost})
					f.outageOfReads(errCable)
					go func() { _ = r.ClearMessages(context.Background()) }()
					synctest.Wait()
					f.outageOfReads(nil)
					h.Crash()
					r = h.Agent(agent, "room")
					require.Empty(t, conversation(t, r))
				} else {
					require.NoError(t, r.ClearMessages(t.Context()))
				}
				pass(time.Hour)
				for _, record := range rawJournal(t, h, r.Address()) {
					require.NotContains(t, string(record.Data), "my secret")
				}
				require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
				h.Await(r.Address(), ended("r1"))
				require.Equal(t, []string{"user: hi", "assistant: echo: hi"}, conversation(t, r))
			})
		})
	}
}

func TestALongJournalIsRebasedWhenItsAgentRests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		for i := range 150 {
			_, err := r.Chat(t.Context(), fmt.Sprint(i))
			require.NoError(t, err)
		}
		want := conversation(t, r)
		before := len(journal(t, h, r.Address()))
		require.Greater(t, before, 1000)
		pass(time.Hour)
		events := journal(t, h, r.Address())
		require.Len(t, events, 1)
		require.NotNil(t, events[0].GetBase())
		require.Equal(t, want, conversation(t, r))
		_, err := r.Chat(t.Context(), "more")
		require.NoError(t, err)
		h.Crash()
		require.Len(t, conversation(t, h.Agent(agent, "room")), len(want)+2)
	})
}

// Who has given up waiting does not hold an agent in memory whose turn waits for a time.
func TestWhoGivesUpWaitingHoldsNothing(t *testing.T) {
	for name, wait := range map[string]func(context.Context, *actors.Ref) error{
		"Await": func(ctx context.Context, r *actors.Ref) error {
			_, err := r.Await(ctx, "r1")
			return err
		},
		"WaitUntilStable": func(ctx context.Context, r *actors.Ref) error { return r.WaitUntilStable(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				agent := talker(func(model.Request) scripted.Answer {
					return scripted.Answer{scripted.Fail{Err: &model.Error{Cause: model.Transient, RetryAfter: time.Minute, Err: errCable}}}
				})
				agent.PassivateAfter = time.Second
				h := actorstest.New(t, agent)
				r := h.Agent(agent, "room")
				require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(t, wait(ctx, r), context.DeadlineExceeded)
				pass(10 * time.Second)
				events := journal(t, h, r.Address())
				require.NotNil(t, events[len(events)-1].GetDeactivated(), "it has left memory")
			})
		})
	}
}
