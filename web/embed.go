// Package web holds the demo chat page: React sources in src, what they build to in dist, and the handler that serves it.
//
// The built page is committed and embedded, so that a node needs nothing but its binary. check-dist.sh proves that dist is what the
// sources build to. The page asks its own origin for three things: a room's socket and transcript below /agents/, and
// GET /holdfast/info, a JSON object that may be missing:
//
//	{"version": "…", "model": {"name": "…", "note": "…", "scripted": false}, "agents": [{"class": "Assistant", "path": "/agents/assistant"}]}
//
// If model.scripted is true the page shows model.note, which is the place to say what to set for a real model.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// dist is the built page with its root at index.html.
func dist() fs.FS {
	root, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the name is a constant: this cannot depend on anything but the build
	}
	return root
}
