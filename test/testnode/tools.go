package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/actors"
)

// testTools are the kit's tools, and shareScreen, which a client runs once somebody
// has approved. Clients bring getLocation and getTimezone.
func testTools() []actors.Tool {
	return []actors.Tool{
		actors.NewTool("getWeather", "The weather of a city.", func(_ context.Context, in city) (weather, error) { return weather{in.City, 7}, nil }),
		actors.NewTool("brokenTool", "Fails.", func(context.Context, city) (weather, error) { return weather{}, errors.New("tool blew up") }),
		actors.NewTool("progressTool", "Shows how far it is.", progress),
		actors.NewTool("deleteFile", "Deletes a file.", func(_ context.Context, in file) (deleted, error) { return deleted{in.Path}, nil }, actors.NeedsApproval(true)),
		actors.ClientTool("shareScreen", "The visitor's screen.", json.RawMessage(`{"type":"object","properties":{}}`), actors.NeedsApproval(true)),
	}
}

type (
	city struct {
		City string `json:"city"`
	}
	weather struct {
		City  string `json:"city"`
		TempC int    `json:"tempC"`
	}
	file struct {
		Path string `json:"path"`
	}
	deleted struct {
		Deleted string `json:"deleted"`
	}
	steps struct {
		N int `json:"n"`
	}
	share struct {
		Pct int  `json:"pct"`
		OK  bool `json:"ok,omitempty"`
	}
)

func progress(ctx context.Context, _ steps) (share, error) {
	call := actors.ToolCallFrom(ctx)
	whole := share{Pct: 100, OK: true}
	for i, s := range []share{{Pct: 10}, {Pct: 60}, whole} {
		if i > 0 {
			if err := sleep(ctx, 20); err != nil {
				return share{}, err
			}
		}
		if err := call.Update(s); err != nil {
			return share{}, err
		}
	}
	return whole, nil
}
