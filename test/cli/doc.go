// Package cli drives the real binary from its command line, as an operator would:
// scripts in testdata, and tests where somebody types, reads and pulls the plug.
package cli
