package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
)

// The demo's tools. The page knows the last three by name (web/src/tools).
const (
	measureTide     = "measure_tide"
	writeLog        = "write_log"
	browserTime     = "browser_time"
	browserLocation = "browser_location"
	pickColor       = "pick_color"
)

func tools() []actors.Tool {
	return []actors.Tool{
		actors.NewTool(measureTide, "Measures the water level in a harbour. The gauges are simulated.", tide, actors.Repeatable),
		actors.NewTool(writeLog, "Writes one entry into the logbook of this conversation.", logEntry, actors.NeedsApproval(true), actors.Repeatable),
		actors.ClientTool(browserTime, "The time, time zone and language of the visitor's browser.", noInput),
		actors.ClientTool(browserLocation, "Where the visitor is, to about a kilometre.", noInput, actors.NeedsApproval(true)),
		actors.ClientTool(pickColor, "Lets the visitor pick a colour.", colorQuestion),
	}
}

var (
	noInput       = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	colorQuestion = json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"what the visitor is asked"}}}`)
)

type gaugeInput struct {
	Harbour  string `json:"harbour" jsonschema:"name of the harbour"`
	Readings int    `json:"readings,omitempty" jsonschema:"how many readings to take, 5 if not given"`
}

type level struct {
	Harbour string  `json:"harbour"`
	Metres  float64 `json:"metres"`
	Next    string  `json:"next"`
}

type reading struct {
	Percent int    `json:"percent"`
	Message string `json:"message"`
}

const (
	gaugePace   = 400 * time.Millisecond
	maxReadings = 100
	tidePeriod  = 12*time.Hour + 25*time.Minute
)

// tide takes its time, and shows how far it is.
func tide(ctx context.Context, in gaugeInput) (level, error) {
	call := actors.ToolCallFrom(ctx)
	n := in.Readings
	if n <= 0 {
		n = 5
	}
	n = min(n, maxReadings)
	for i := range n {
		if err := call.Update(reading{Percent: 100 * i / n, Message: fmt.Sprintf("Reading %d of %d", i+1, n)}); err != nil {
			return level{}, err
		}
		select {
		case <-time.After(gaugePace):
		case <-ctx.Done():
			return level{}, context.Cause(ctx)
		}
	}
	return levelAt(in.Harbour, time.Now()), nil
}

// levelAt is a sine of the moon's period; each harbour has its own hour.
func levelAt(harbour string, now time.Time) level {
	h := fnv.New32a()
	h.Write([]byte(harbour))
	since := time.Duration(now.UnixNano()+int64(h.Sum32())*int64(time.Second)) % tidePeriod
	phase := float64(since) / float64(tidePeriod)
	high := time.Duration((1.25-phase)*float64(tidePeriod)) % tidePeriod
	return level{
		Harbour: harbour, Metres: math.Round(100*(0.9+0.7*math.Sin(2*math.Pi*phase))) / 100,
		Next: "High water at " + now.Add(high).UTC().Format("15:04") + " UTC",
	}
}

type entryInput struct {
	Entry string `json:"entry" jsonschema:"the entry, one sentence"`
}

type written struct {
	Entries int `json:"entries"` // in the logbook, with this one
}

// logbook is the agent's state.
type logbook struct {
	Entries []entry `json:"entries"`
}

type entry struct {
	Call string `json:"call"` // that has written it
	Text string `json:"text"`
}

// logEntry writes an entry, or finds it written by the same call, run before a crash.
func logEntry(ctx context.Context, in entryInput) (written, error) {
	call := actors.ToolCallFrom(ctx)
	book, err := actors.UpdateState(ctx, call.Self.Ref, func(b *logbook) error {
		if !slices.ContainsFunc(b.Entries, func(e entry) bool { return e.Call == call.ID }) {
			b.Entries = append(b.Entries, entry{Call: call.ID, Text: in.Entry})
		}
		return nil
	})
	return written{Entries: len(book.Entries)}, err
}
