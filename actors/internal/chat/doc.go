// Package chat is the pure core of a conversation: no I/O, no clock, no
// goroutine, no random number. The shell in package actors drives it:
//
//	events, err := core.Step(cmd)          decide, apply and react
//	append events to the journal           now they have happened
//	let out what Project says              now it may be told
//	work, waits := core.State.Outstanding()  start what is due, cancel what is not
//
// A new incarnation replays the journal through State.Apply, then steps
// Activate, then takes the same last line: recovery is no separate path.
//
// One State, one journal, one Step; inside it one machine per file, and every
// event belongs to one machine:
//
//	ledger      incarnations, generation, accepted keys, ended requests
//	transcript  messages, step records, request context
//	turns       the queue of turns; at most one runs
//	steps       the model loop of the running turn, and its calls of tools
//	answers     what people and clients say to calls, and the continuation
//	stream      positions and the message being written
//	recovery    what was cut off, and how often
//	outbox      author hooks that must run at least once
//	desk        the author's state
//	family      sub-agents, the agent's own end
//
// A machine decides on a command (decide… methods), applies its events (apply…)
// and reacts to events of others (react, in step.go). Later machines (runs,
// charge, clock) take their place beside these.
//
// Time and fresh ids enter as fields of commands. Commands may be refused, sent
// twice or come late: an outcome of an attempt that is over decides nothing.
package chat
