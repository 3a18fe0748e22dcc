package feed_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestAPathNamesOneAgent(t *testing.T) {
	root := feed.Address{Class: "ChatAgent", Name: "room%201"}
	for path, a := range map[string]feed.Address{
		"ChatAgent/room%201":                                    root,
		"ChatAgent/room%201/sub/Helper/h1":                      root.Child("Helper", "h1"),
		"ChatAgent/room%201/sub/Helper/a%2Fsub%2FB%2Fc":         root.Child("Helper", "a/sub/B/c"),
		"ChatAgent/room%201/sub/Helper/h1/sub/Deep/x%20%25/sub": {},
		"ChatAgent/room%201/sub/Helper/h1/sub/Deep/x%20%25":     root.Child("Helper", "h1").Child("Deep", "x %"),
		"Helper/sub/x": {},
		"Helper":       {},
		"":             {},
	} {
		got, ok := feed.ParsePath(path)
		if ok != (a != feed.Address{}) || ok && got != a {
			t.Errorf("%q: got %#v, %v", path, got, ok)
		}
		if ok && got.Path() != path {
			t.Errorf("%q: comes back as %q", path, got.Path())
		}
	}
	child := root.Child("Helper", "h1")
	if up, ok := child.Up(); !ok || up != root {
		t.Errorf("got parent %#v, %v", up, ok)
	}
	if _, ok := root.Up(); ok {
		t.Error("a root has a parent")
	}
}
