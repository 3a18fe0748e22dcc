package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// policy lets the page load its own files and talk to its own origin, sockets included, and nothing else. Pictures may also come
// inline in a message. Foreign hosts are never contacted: a picture's address in a model's answer could carry the conversation away.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the media types of the files that a build makes. They are listed, since package mime asks the machine it runs on.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".md":   "text/markdown; charset=utf-8",
}

// Handler serves the chat page at "/" and its files; any other path is 404. Files with a hash in their name may be kept for ever, all
// others are revalidated by ETag. Responses are compressed for clients that accept gzip. Safe for concurrent use.
func Handler() http.Handler {
	files := make(map[string]file)
	root := dist()
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		files["/"+name] = newFile(name, body)
		return nil
	})
	if err != nil {
		panic(err) // embedded files are in memory: reading them cannot fail
	}
	files["/"] = files["/index.html"]
	return handler(files)
}

// handler maps a URL path to its file. Nothing in it changes after construction.
type handler map[string]file

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := h[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, r.Method+" is not allowed here; use GET", http.StatusMethodNotAllowed)
		return
	}
	f.serve(w, r)
}

// file is one file of the page, ready to be sent.
type file struct {
	contentType  string
	cacheControl string
	plain        body
	// zipped compresses on the first call, since a node should not spend its start on it; ok is false if that makes nothing smaller.
	zipped func() (b body, ok bool)
}

// body is one encoding of a file. Each has its own ETag, since an ETag names the bytes that are sent.
type body struct {
	bytes []byte
	etag  string
}

func newFile(name string, content []byte) file {
	f := file{contentType: contentType(name), cacheControl: "no-cache", plain: newBody(content)}
	f.zipped = sync.OnceValues(func() (body, bool) {
		zipped := compress(content)
		return newBody(zipped), len(zipped) < len(content)
	})
	if strings.HasPrefix(name, "assets/") { // the build puts a hash of the content into these names
		f.cacheControl = "public, max-age=31536000, immutable"
	}
	return f
}

func newBody(content []byte) body {
	sum := sha256.Sum256(content)
	return body{bytes: content, etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("Cache-Control", f.cacheControl)
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Vary", "Accept-Encoding")
	send := f.plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		if zipped, ok := f.zipped(); ok {
			send = zipped
			header.Set("Content-Encoding", "gzip")
		}
	}
	header.Set("ETag", send.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(send.bytes))
}

func contentType(name string) string {
	if t, ok := types[path.Ext(name)]; ok {
		return t
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// acceptsGzip reads an Accept-Encoding header (RFC 9110 §12.5.3) as far as one encoding needs: named, and not with weight zero.
func acceptsGzip(accept string) bool {
	for _, item := range strings.Split(accept, ",") {
		name, weight, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.ReplaceAll(weight, " ", "")
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

func compress(content []byte) []byte {
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	// Writes to a buffer do not fail.
	_, _ = zw.Write(content)
	_ = zw.Close()
	return out.Bytes()
}
