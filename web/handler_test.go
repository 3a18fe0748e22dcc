package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	return do(t, http.MethodGet, path, header...)
}

func do(t *testing.T, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func want(t *testing.T, r *http.Response, header, value string) {
	t.Helper()
	if got := r.Header.Get(header); got != value {
		t.Errorf("%s: got %q, want %q", header, got, value)
	}
}

func TestIndexIsRevalidatedByETag(t *testing.T) {
	first := get(t, "/")
	if first.StatusCode != http.StatusOK || !strings.Contains(text(t, first), `<div id="root">`) {
		t.Fatalf("/ is not the page: status %d", first.StatusCode)
	}
	want(t, first, "Content-Type", "text/html; charset=utf-8")
	want(t, first, "Cache-Control", "no-cache")
	again := get(t, "/", "If-None-Match", first.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("known ETag: got status %d, want 304", again.StatusCode)
	}
}

func TestEveryFileThatThePageNamesIsServed(t *testing.T) {
	page := text(t, get(t, "/"))
	names := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(names) < 4 {
		t.Fatalf("found only %d files in the page", len(names))
	}
	for _, name := range names {
		r := get(t, name[1])
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", name[1], r.StatusCode)
		}
		want(t, r, "X-Content-Type-Options", "nosniff")
		if strings.HasPrefix(name[1], "/assets/") {
			want(t, r, "Cache-Control", "public, max-age=31536000, immutable")
		} else {
			want(t, r, "Cache-Control", "no-cache")
		}
	}
}

func TestPolicyForbidsInlineScriptsAndForeignHosts(t *testing.T) {
	csp := get(t, "/").Header.Get("Content-Security-Policy")
	for _, must := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, must) {
			t.Errorf("policy lacks %q: %s", must, csp)
		}
	}
	for _, never := range []string{"unsafe", "http", "*"} {
		if strings.Contains(csp, never) {
			t.Errorf("policy contains %q: %s", never, csp)
		}
	}
	page := text(t, get(t, "/"))
	if regexp.MustCompile(`<script(?:[^>]*)>[^<]`).MatchString(page) || strings.Contains(page, "<style") || strings.Contains(page, " style=") {
		t.Error("the page has inline code or styles, which its policy forbids")
	}
}

func TestGzipIsOneOfTwoBodiesWithItsOwnETag(t *testing.T) {
	plain := get(t, "/")
	zipped := get(t, "/", "Accept-Encoding", "br, gzip;q=0.8")
	want(t, zipped, "Content-Encoding", "gzip")
	want(t, zipped, "Vary", "Accept-Encoding")
	if plain.Header.Get("ETag") == zipped.Header.Get("ETag") {
		t.Error("both bodies have the same ETag")
	}
	reader, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := io.ReadAll(reader)
	if err != nil || string(unzipped) != text(t, plain) {
		t.Errorf("the compressed page differs from the plain one (error: %v)", err)
	}
	want(t, get(t, "/", "Accept-Encoding", "gzip;q=0"), "Content-Encoding", "")
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	for _, path := range []string{"/nope", "/assets/", "/assets/nope.js", "/src/main.tsx", "/dist/index.html", "/../embed.go"} {
		if r := get(t, path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", path, r.StatusCode)
		}
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	r := do(t, http.MethodPost, "/")
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("got status %d, want 405", r.StatusCode)
	}
	want(t, r, "Allow", "GET, HEAD")
	if head := do(t, http.MethodHead, "/"); head.StatusCode != http.StatusOK || text(t, head) != "" {
		t.Errorf("HEAD: status %d, or it has a body", head.StatusCode)
	}
}
