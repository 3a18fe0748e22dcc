package feed

import (
	"net/url"
	"strings"
)

// An Address names an agent: the class it was registered under, its name, and,
// if it is a sub-agent, the path of its parent. It is comparable.
type Address struct {
	Class, Name string
	Parent      string // Path of the parent; "" for a root
}

// Path is the agent's canonical name within a node, which its journal has, too:
// Class/Name for a root, whose name has no slash, and
// {parent's path}/sub/Class/{name, percent-encoded} for a sub-agent.
func (a Address) Path() string {
	if a.Parent == "" {
		return a.Class + "/" + a.Name
	}
	return a.Parent + sub + a.Class + "/" + url.PathEscape(a.Name)
}

const sub = "/sub/"

func (a Address) String() string { return a.Path() }

// Child returns the address of a's sub-agent of that class and name.
func (a Address) Child(class, name string) Address {
	return Address{Class: class, Name: name, Parent: a.Path()}
}

// Below is what the paths of all agents below the one of that path begin with.
func Below(path string) string { return path + sub }

// Up returns the address of the parent; false for a root.
func (a Address) Up() (Address, bool) {
	if a.Parent == "" {
		return Address{}, false
	}
	return ParsePath(a.Parent)
}

// ParsePath is the inverse of Path.
func ParsePath(path string) (Address, bool) {
	parent, last := "", path
	if i := strings.LastIndex(path, sub); i >= 0 {
		parent, last = path[:i], path[i+len(sub):]
	}
	class, name, ok := strings.Cut(last, "/")
	if !ok || class == "" || strings.Contains(name, "/") {
		return Address{}, false
	}
	if parent == "" {
		return Address{Class: class, Name: name}, true
	}
	name, err := url.PathUnescape(name)
	return Address{Class: class, Name: name, Parent: parent}, err == nil
}
