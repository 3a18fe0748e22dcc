// Package providerwire is a local HTTP server that speaks the wire of the model
// providers, so that a test drives a whole node with its real provider clients
// and no network.
//
//	POST …/chat/completions   OpenAI Chat Completions, streamed
//	POST …/responses          OpenAI Responses, streamed
//	POST …/messages           Anthropic Messages, streamed
//	POST …:streamGenerateContent   Google Gemini, streamed
//	GET  /requests            what was recorded, as JSON
//
// A [Handler] decides each answer. It gets the decoded request and a [Writer]
// whose deltas are the same for all four protocols; it runs on the request's
// goroutine and may block (on channels of the test, on Writer.Sleep), so a test
// can hold a stream at an exact point:
//
//	gate := make(chan struct{})
//	s := providerwire.Start(func(r *providerwire.Request, w *providerwire.Writer) {
//		w.Text("first half, ")
//		w.Wait(gate)
//		w.Text("second half")
//	})
//	defer s.Close()
//
// A handler that returns without ending its answer ends it well, as Finish("stop").
//
// The server refuses what the providers refuse, with their status and shape of
// error: a request without its key, a tool result without its call, thinking
// whose signature it never gave out, a missing max_tokens. Shapes follow the
// providers' published references (platform.openai.com/docs/api-reference,
// docs.anthropic.com/en/api/messages-streaming, ai.google.dev/api).
package providerwire
