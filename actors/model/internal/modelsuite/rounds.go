package modelsuite

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

// opaque is what a provider may put into a signature.
const opaque = "EqQB+/<&>==\u2028\\\"é"

// rounds sends what an answer was back with the next request, through JSON as
// the step records do.
func (p Provider) rounds(t *testing.T) {
	t.Run("reasoning comes back as it was", func(t *testing.T) {
		var second *providerwire.Request
		_, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
			if r.N > 1 {
				second = r
				w.Text("It is there.")
				return
			}
			w.Reasoning("I have to ")
			w.Reasoning("look.")
			w.Signature(opaque)
			w.Text("Looking.")
			w.Call("call_1", "look", `{}`)
		})
		r := Ask("where?")
		r.Tools = lookTool
		parts := Whole(t, m, r)
		if got := Reasoning(parts); p.Reasons && got != "I have to look." {
			t.Errorf("reasoning %q", got)
		}
		r.Messages = append(r.Messages, stored(t, Message(parts)), Result("call_1", `"here"`))
		Whole(t, m, r)
		var reasoning string
		var signatures []string
		for _, message := range second.Messages {
			reasoning += message.Reasoning
			signatures = append(signatures, message.Signatures...)
		}
		if p.Reasons && reasoning != "I have to look." {
			t.Errorf("reasoning came back as %q", reasoning)
		}
		if p.Signs && !slices.Equal(signatures, []string{opaque}) {
			t.Errorf("signatures %q", signatures)
		}
	})
	t.Run("reasoning that was cut off does not spoil the next request", func(t *testing.T) {
		_, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
			if r.N > 1 {
				w.Text("Again.")
				return
			}
			w.Reasoning("I have to ")
			w.Cut()
		})
		_, parts := p.mustFail(t, m)
		r := Ask("hi")
		r.Messages = append(r.Messages, stored(t, Message(parts)), Says(model.User, "go on"))
		if got := Text(Whole(t, m, r)); got != "Again." {
			t.Errorf("said %q", got)
		}
	})
	t.Run("a partial answer at the end is sent as it is", p.partial)
}

func (p Provider) partial(t *testing.T) {
	const whole = "one two three"
	_, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) { w.Text(whole[len(r.Partial()):]) })
	if !model.Prefills(m) {
		t.Log("this model does not prefill")
		return
	}
	for cut := 1; cut < len(whole); cut++ {
		r := Ask("count")
		r.Messages = append(r.Messages, Says(model.Assistant, whole[:cut]))
		if got := whole[:cut] + Text(Whole(t, m, r)); got != whole {
			t.Errorf("cut after %d bytes: %q", cut, got)
		}
	}
}

// stored is the message after it was written down and read again.
func stored(t *testing.T, m model.Message) (out model.Message) {
	t.Helper()
	raw, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
