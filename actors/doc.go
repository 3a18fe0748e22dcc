// Package actors is how an author writes durable chat agents, and what runs
// them: each agent is an actor with a journal of its own.
//
//	assistant := &actors.Agent{
//		Name:         "Assistant",
//		Instructions: "Answer briefly.",
//		Model:        someModel,
//	}
//
// An agent answers in one of two ways: with a Model (the runtime's own loop,
// journaled step by step), or with an OnChatMessage handler that writes what it
// likes. One that has neither is a plain agent: state, methods and sockets without
// a conversation. A Ref is the handle on an agent from anywhere, a Self the same
// for the agent's own code. Package actors/node puts agents on the network; this
// package needs only a journal store.
//
// Runtime, Rooms, Peer, and of a Ref Clear, Connect, Serve, SetMessages, Submit,
// Transcript and View are what package node is made with; authors need none of them.
//
// How an agent runs: the shell (shell.go) takes messages one at a time, lets the
// pure core (internal/chat) decide, appends the events in batches without ever
// waiting for the disk, and lets nothing out before what it rests on is stored.
// Models, handlers and hooks run on goroutines of their own (effect.go); their
// outcomes come back as messages. Chunks do not: they are numbered, sent and
// packed by the stream itself (livestream.go), since there are many.
package actors
