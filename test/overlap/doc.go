// Package overlap sends a node chat requests so close together that it could mix
// them up: in one write, from two sockets at once, and in the instant in which a
// turn ends. Turns never run at the same time, each request gets one end, and what
// becomes of it is what its agent's strategy says.
package overlap
