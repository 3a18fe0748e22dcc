// Package process runs a node as a process of its own: built once per test
// binary, started on a port that stays the same, killed, stopped, started again.
//
// HOLDFAST_TEST_RACE=1 builds it with the race detector; HOLDFAST_TEST_NODE
// names a binary to run instead. It must understand -listen and -data.
package process
