// Package arrows holds the house rules that a compiler does not know: which
// package may import which, what the pure cores must not touch, where a
// library is at home, and how large a file or a function may grow. It has tests
// only. They read the sources, never build them, and take about a second.
//
// A finding names the place, the rule and its reason. Where a rule is in the
// way of a better design, change the rule in the same commit and say why.
package arrows
