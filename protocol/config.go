package protocol

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Config sets up a Handler. The zero value of each field but Host is usable and
// means the default given with it.
type Config struct {
	Host Host         // required
	Log  *slog.Logger // default: nothing is logged

	// Prefix of all paths, one or more segments without slashes at its ends:
	// /agents/{class}/{name}. Default "agents".
	Prefix string

	// CORS headers for every response that is not an upgrade, of paths that
	// belong to an agent. Default none: only pages of this origin can read the
	// responses. AnyOrigin() gives the usual set.
	CORS map[string]string

	// OriginPatterns lists the web origins, besides the request's own host,
	// whose pages may use the agents. A pattern is matched with path.Match,
	// without regard to case, against the origin's host, or, if it contains
	// "://", against scheme://host. "*" lets every web page in. Requests without
	// an Origin header do not come from a web page and pass.
	//
	// What comes over the loopback interface straight from a browser must name this
	// machine (localhost or an IP address) or a host that a pattern allows: else a
	// foreign page could call itself the node's host by way of its DNS. What a proxy
	// passes on does not name the node's port, and is the proxy's business.
	OriginPatterns []string

	// MaxFrameBytes is the largest frame a client may send; a larger one closes
	// its socket with 1009. The body of a request over HTTP may be as large; a
	// larger one is refused with 413. The official hook sends the whole
	// conversation with every request. Default 16 MiB.
	MaxFrameBytes int64

	// LagFrames and LagBytes are how far a socket, or a stream over HTTP, may lag
	// behind what it is to be sent, before it is closed with 1013, or cut off (and
	// its client reconnects and resumes). No frame counts as more than half of
	// LagBytes; the transcript of its greeting and a replay do not count, and
	// while it takes those four times as much may wait. Defaults 4096 and 8 MiB.
	LagFrames int
	LagBytes  int

	// WriteTimeout is the time that the network may take for 64 KiB. Default 10 s.
	WriteTimeout time.Duration

	// PingEvery is how often a socket is probed for life, give or take a
	// quarter; PingTimeout how long it may take to answer. Two in a row without
	// an answer, or anything else from the client, end it. A stream over HTTP in
	// which nothing happens for PingEvery gets a comment. Defaults 30 s, 10 s.
	PingEvery   time.Duration
	PingTimeout time.Duration

	// ConnectTimeout is how long an agent may take to wake for a new socket,
	// before that is closed with 1013 (and its client tries again). Default 20 s.
	ConnectTimeout time.Duration

	// Paths maps paths outside the prefix to agents: basePath of the clients.
	// rest is what follows the agent's part of the path. ok is false for paths
	// that it does not know. Asked first. Default none.
	Paths func(r *http.Request) (a feed.Address, rest string, ok bool)

	// BeforeConnect and BeforeRequest decide on an upgrade and on a plain
	// request, see Gate. Default: all pass. Sub-agents have gates of their own behind
	// them: see Host.Enter.
	BeforeConnect Gate
	BeforeRequest Gate
}

// A Gate is asked about a request to an agent, or to a sub-agent somewhere below
// it, before anything is done; a is the root of them. It
// returns the request to go on with, r itself or one derived from it, or an
// error: the status, header and text of an *Error are the response, any other
// error is told as "internal error". If the path of the request has changed, it
// goes to the agent of that path, of which no gate is asked. The Host gets the
// request with its context's values. It runs on the request's goroutine.
type Gate func(r *http.Request, a feed.Address) (*http.Request, error)

// AnyOrigin returns the CORS headers that let pages of every origin read
// responses. To let them use WebSockets, OriginPatterns must allow them too.
func AnyOrigin() map[string]string {
	return map[string]string{
		"Access-Control-Allow-Origin":  "*",
		"Access-Control-Allow-Methods": "GET, POST, HEAD, OPTIONS",
		"Access-Control-Allow-Headers": "*",
		"Access-Control-Max-Age":       "86400",
	}
}

// validate fills in the defaults and reports the first field that makes no sense.
func (c *Config) validate() error {
	if c.Host == nil {
		return errors.New("protocol: Config.Host is missing")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Prefix = strings.Trim(c.Prefix, "/"); c.Prefix == "" {
		c.Prefix = "agents"
	}
	for _, p := range c.OriginPatterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("protocol: Config.OriginPatterns: %q: %w", p, err)
		}
	}
	fields := []struct {
		name     string
		value    *time.Duration
		standard time.Duration
	}{
		{"WriteTimeout", &c.WriteTimeout, 10 * time.Second},
		{"PingEvery", &c.PingEvery, 30 * time.Second},
		{"PingTimeout", &c.PingTimeout, 10 * time.Second},
		{"ConnectTimeout", &c.ConnectTimeout, 20 * time.Second},
	}
	for _, f := range fields {
		if *f.value < 0 {
			return fmt.Errorf("protocol: Config.%s is %v, must not be negative", f.name, *f.value)
		}
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	return c.validateSizes()
}

func (c *Config) validateSizes() error {
	if c.MaxFrameBytes < 0 || c.LagFrames < 0 || c.LagBytes < 0 {
		return fmt.Errorf("protocol: Config.MaxFrameBytes, LagFrames, LagBytes are %d, %d, %d, must not be negative",
			c.MaxFrameBytes, c.LagFrames, c.LagBytes)
	}
	if c.MaxFrameBytes == 0 {
		c.MaxFrameBytes = 16 << 20
	}
	if c.LagFrames == 0 {
		c.LagFrames = 4096
	}
	if c.LagBytes == 0 {
		c.LagBytes = 8 << 20
	}
	return nil
}
