package protocol

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
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
		if h.allows(u) {
			return nil
		}
	} else if h.anyOrigin {
		return nil // "null" of a sandboxed page or a file
	}
	return &Error{Code: Denied, Message: fmt.Sprintf("origin %q may not use this host; to allow it, add it to OriginPatterns", origin)}
}

func (h *Handler) allows(origin *url.URL) bool {
	return slices.ContainsFunc(h.cfg.OriginPatterns, func(p string) bool { return originMatches(p, origin) })
}

// checkHost refuses what may come from a page whose host's name was made to mean
// this machine: its origin is its host, as with a page of ours. Such a request
// comes over the loopback interface and names the port that it has reached, which
// what a proxy passes on does not.
func (h *Handler) checkHost(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return nil
	}
	origin := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		origin.Scheme = "https"
	}
	port := origin.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[origin.Scheme]
	}
	if port != strconv.Itoa(local.Port) || isLocal(origin.Hostname()) || h.allows(&origin) {
		return nil
	}
	return &Error{Code: Denied, Message: fmt.Sprintf("host %q may not be used for this machine; to allow it, add it to OriginPatterns", r.Host)}
}

// isLocal: no DNS server has a say in what name means.
func isLocal(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name) != nil
}

func originMatches(pattern string, origin *url.URL) bool {
	subject := origin.Host
	if strings.Contains(pattern, "://") {
		subject = origin.Scheme + "://" + origin.Host
	}
	ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(subject))
	return ok
}
