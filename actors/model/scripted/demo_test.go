package scripted_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

func says(role model.Role, text string) model.Message {
	return model.Message{Role: role, Content: []model.Content{{Kind: model.TextContent, Text: text}}}
}

func request(messages ...model.Message) model.Request { return model.Request{Messages: messages} }

var demoQuestions = []string{
	"hello", "help", "tell me a long story", "count to 50", "Count from one up to 3, please", "count to 999999", "what is the capital of France?", "",
}

func TestTheDemoSaysThatNoModelIsConnectedAndWhatToSet(t *testing.T) {
	for _, q := range demoQuestions {
		t.Run(q, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := sayings(t, scripted.Demo(), request(says(model.User, q)))
				for _, want := range []string{"real model", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"} {
					if !strings.Contains(said, want) {
						t.Errorf("%q is missing in %q", want, said)
					}
				}
				if plain := variables.ReplaceAllString(said, ""); strings.ContainsAny(plain, "*#`_|") {
					t.Errorf("markdown in %q", said)
				}
			})
		})
	}
}

var variables = regexp.MustCompile(`[A-Z]+_[A-Z_]+`)

// However an answer was cut, the partial and what follows are the answer.
func TestTheDemoGoesOnExactlyWhereItWasCut(t *testing.T) {
	for _, q := range demoQuestions {
		t.Run(q, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				whole := sayings(t, scripted.Demo(), request(says(model.User, q)))
				for cut := 1; cut <= len(whole); cut += 1 + len(whole)/37 {
					partial := says(model.Assistant, whole[:cut])
					if rest := sayings(t, scripted.Demo(), request(says(model.User, q), partial)); whole[:cut]+rest != whole {
						t.Fatalf("cut after %d bytes it went on with %q", cut, rest)
					}
				}
			})
		})
	}
}

func TestTheDemoGoesOnFromAPartialInSeveralPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		partial := model.Message{Role: model.Assistant, Content: []model.Content{
			{Kind: model.ReasoningContent, Text: "thinking"},
			{Kind: model.TextContent, Text: "1, 2"},
			{Kind: model.TextContent, Text: ", 3, "},
		}}
		if rest := sayings(t, scripted.Demo(), request(says(model.User, "count to 5"), partial)); !strings.HasPrefix(rest, "4, 5. ") {
			t.Errorf("went on with %q", rest)
		}
	})
}

func TestTheDemoAnswersTheLastUserMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := sayings(t, scripted.Demo(), request(says(model.User, "tell me a story"), says(model.Assistant, "Once."), says(model.User, "count to 3")))
		if !strings.HasPrefix(said, "1, 2, 3. ") {
			t.Errorf("said %q", said)
		}
	})
}

func TestTheDemoThinksFirstAndSpeaksAtAReadablePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		parts, err := collect(t.Context(), scripted.Demo(), request(says(model.User, "tell me a long story")))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := parts[0].(model.ReasoningStart); !ok {
			t.Errorf("begins with %#v", parts[0])
		}
		if d := time.Since(start); d < 10*time.Second || d > time.Minute {
			t.Errorf("a long story took %v", d)
		}
	})
}
