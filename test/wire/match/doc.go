// Package match compares what clients have received with a recorded scenario.
//
// A scenario lists, per connection, items that must be met in order and without
// anything in between:
//
//	{…}                    one frame. Strings "<kind:name>" are variables: the first
//	                       occurrence binds, later ones must be equal, and two
//	                       variables of one kind never share a value. "<any>" is any
//	                       value, "<words>" readable text that is no JSON, "<number>" a number.
//	{"$stream": {id, chunks}}  the content frames of one turn, seq 0, 1, 2 …; options:
//	                       continuation; join (replay of a prefix, replayComplete, then
//	                       live); replay (all replayed, no replayComplete); cut (may stop
//	                       early after min chunks; binds the text so far to the variable
//	                       named by text)
//	{"$opt": [items]}      may be missing
//	{"$any": [[items], …]} one of these
//	{"$par": [[items], …]} all of these, interleaved in any way
//	{"$star": [items]}     any number of times
//	{"$improve": {want}}   want, where the protocol's first implementation does otherwise
//
// In chunks, {"$maybe": chunk} may be missing. Inside a frame: {"$opt": v} the key
// may be missing; {"$or": [v, …]}; {"$re": "text like this"}; {"$some": {…}} an
// object with at least these fields; in lists {"$maybe": v} may be missing.
//
// Supersets are accepted: unknown fields are ignored unless they belong to the
// protocol's vocabulary; a flag that is false equals a missing one; outcome
// "completed" equals a missing one; stored parts may be richer.
package match
