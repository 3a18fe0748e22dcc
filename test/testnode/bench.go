package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// benchScript is what a bench client asks for.
type benchScript struct {
	Deltas  int `json:"deltas"`
	Size    int `json:"size"`
	DelayMs int `json:"delayMs"`
}

// bench streams as many text deltas of that size at that pace. With a pace each
// begins with the clock in milliseconds, so that a client can tell its age.
func bench(ctx context.Context, turn *actors.Turn) error {
	s := benchScript{Deltas: 10, Size: 20}
	if err := json.Unmarshal([]byte(lastUserText(turn.Messages)), &s); err != nil {
		s = benchScript{Deltas: 10, Size: 20}
	}
	p := &player{ctx: ctx, turn: turn}
	filler := strings.Repeat("x", s.Size)
	if err := raw("start", "start-step", "text-start id=t")(p); err != nil {
		return err
	}
	for range s.Deltas {
		delta := filler
		if s.DelayMs > 0 {
			clock := fmt.Sprintf("%.3f %s", float64(time.Now().UnixMicro())/1000, filler)
			delta = clock[:min(len(clock), max(s.Size, 18))]
		}
		if err := turn.Stream.Chunk(uimessage.Chunk{Type: "text-delta", ID: "t", Delta: delta}); err != nil {
			return err
		}
		if s.DelayMs > 0 {
			if err := p.sleep(s.DelayMs); err != nil {
				return err
			}
		}
	}
	return raw("text-end id=t", "finish-step", "finish")(p)
}
