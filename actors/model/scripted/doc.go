// Package scripted is a language model that follows a script. It needs no
// network and no key: tests use it for answers that they can predict, and a
// node without a provider's key talks to people through [Demo].
//
// An [Answer] is a list of steps, played in order:
//
//	m := scripted.New(func(r model.Request) scripted.Answer {
//		return scripted.Answer{
//			scripted.Reasoning{Pieces: scripted.Words("They greet me.")},
//			scripted.Text{Pieces: scripted.Words("Hello, how are you?"), Every: 30 * time.Millisecond},
//		}
//	})
//
// The same request gets the same parts. All waiting is done with timers and
// channels, so a script also plays inside a testing/synctest bubble, where it
// takes no time.
package scripted
