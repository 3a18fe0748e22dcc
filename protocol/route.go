package protocol

import (
	"net/http"
	"strings"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// target is the agent that a path names, and the path behind it.
type target struct {
	address feed.Address
	rest    []string // segments; for a socket they mean nothing (a /sub/ below comes here)
}

// transcript: only the last segment tells. The hooks append it to whatever path
// their socket has.
func (t target) transcript() bool {
	return len(t.rest) > 0 && t.rest[len(t.rest)-1] == "get-messages"
}

// path is what follows the agent's own.
func (t target) path() string { return "/" + strings.Join(t.rest, "/") }

// maxName is the longest agent name, in bytes of the path.
const maxName = 512

// route finds the agent of a request's path (protocol §1.1, §2):
// /{prefix}/{kebab class}/{name}[/…]. The name is the segment as it stands,
// percent-encoded. found is false if the path is none of ours.
func (h *Handler) route(r *http.Request) (t target, found bool, err error) {
	if h.cfg.Paths != nil {
		if a, rest, ok := h.cfg.Paths(r); ok {
			return target{a, segments(rest)}, true, nil
		}
	}
	path := segments(r.URL.EscapedPath())
	n := len(h.prefix)
	if len(path) < n+2 {
		return target{}, false, nil
	}
	for i, s := range h.prefix {
		if path[i] != s {
			return target{}, false, nil
		}
	}
	class, ok := h.cfg.Host.Class(path[n])
	if !ok {
		return target{}, true, invalid("Invalid request")
	}
	name := path[n+1]
	if len(name) > maxName {
		return target{}, true, invalid("Invalid request: the agent's name has more than 512 bytes")
	}
	return target{feed.Address{Class: class, Name: name}, path[n+2:]}, true, nil
}

// segments splits a path; empty segments do not count.
func segments(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}
