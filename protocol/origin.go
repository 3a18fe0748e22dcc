package protocol

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// checkOrigin refuses requests of foreign web pages: browsers let any page open
// a WebSocket to any host, with the user's cookies or from the user's machine.
func (h *Handler) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" {
		if strings.EqualFold(u.Host, r.Host) {
			return nil
		}
		for _, p := range h.cfg.OriginPatterns {
			if originMatches(p, u) {
				return nil
			}
		}
	} else if h.anyOrigin {
		return nil // "null" of a sandboxed page or a file
	}
	return &Error{Code: Denied, Message: fmt.Sprintf("origin %q may not use this host; to allow it, add it to OriginPatterns", origin)}
}

func originMatches(pattern string, origin *url.URL) bool {
	subject := origin.Host
	if strings.Contains(pattern, "://") {
		subject = origin.Scheme + "://" + origin.Host
	}
	ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(subject))
	return ok
}
