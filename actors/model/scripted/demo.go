package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// DemoPace is the time between two words of [Demo]: about as fast as a person
// who reads along.
const DemoPace = 30 * time.Millisecond

// demoMaxCount is how far the demo counts at most.
const demoMaxCount = 1000

// Demo is what a node talks with when no provider's key is set. It answers in
// plain words, word by word, says that no real model is connected and which
// variables connect one. "tell me a long story" and "count to 50" give answers
// that are long enough to stop, to reload and to kill the node in.
//
// Its answer depends on the last user message alone, so that it can go on
// exactly where a partial answer ends.
func Demo() *Model {
	return &Model{Label: "scripted/demo", Answer: demoAnswer}
}

func demoAnswer(r model.Request) Answer {
	asked, partial := lastExchange(r.Messages)
	answer := demoReply(asked)
	if partial == "" {
		return Answer{
			Reasoning{Pieces: Words(answer.thought), Every: DemoPace},
			Text{Pieces: Words(answer.text), Every: DemoPace},
		}
	}
	rest, ok := strings.CutPrefix(answer.text, partial)
	if !ok {
		rest = " … and there my script broke off. Please ask me again."
	}
	if rest == "" {
		return Answer{Finish{Reason: model.Stop}}
	}
	return Answer{Text{Pieces: Words(rest), Every: DemoPace}}
}

// lastExchange gives the text of the last user message, and what the assistant
// has already said if the conversation ends with an assistant message.
func lastExchange(messages []model.Message) (asked, partial string) {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		switch {
		case m.Role == model.User:
			return textOf(m), partial
		case m.Role == model.Assistant && i == len(messages)-1:
			partial = textOf(m)
		}
	}
	return "", partial
}

func textOf(m model.Message) string {
	var b strings.Builder
	for _, c := range m.Content {
		if c.Kind == model.TextContent {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

type reply struct{ thought, text string }

// demoTopics are tried in order; the first whose pattern matches answers.
var demoTopics = []struct {
	pattern *regexp.Regexp
	reply   func(match []string) reply
}{
	{regexp.MustCompile(`(?i)\bcount\b\D*(\d{1,9})`), countReply},
	{regexp.MustCompile(`(?i)\bstory\b|\btale\b`), fixed(
		"They want a long story. I know one about kelp, and it gives them time to try the stop button.", story)},
	{regexp.MustCompile(`(?i)^\s*(hi|hello|hey|hallo|good (morning|evening|day))\b`), fixed(
		"A greeting. I greet back and say what I am.",
		"Hello, and welcome to Holdfast! I should say at once that no real model is connected: I am a small script that came with the node. "+whatToTry+" "+howToConnect)},
	{regexp.MustCompile(`(?i)\bhelp\b|what can you do|who are you|what are you`), fixed(
		"They ask what I can do. I keep it short and honest.",
		"I am a small script, not a language model: no real model is connected to this node. "+whatToTry+" "+howToConnect)},
}

const whatToTry = `Try "tell me a long story" or "count to 50", and while I speak press stop, reload the page, open a second tab, or kill the node and start it again: the answer goes on where it was.`

const howToConnect = "To talk to a real model, set OPENAI_API_KEY (with OPENAI_MODEL, and OPENAI_BASE_URL for any endpoint that speaks the same protocol) or ANTHROPIC_API_KEY (with ANTHROPIC_MODEL), and start the node again."

func demoReply(asked string) reply {
	for _, t := range demoTopics {
		if m := t.pattern.FindStringSubmatch(asked); m != nil {
			return t.reply(m)
		}
	}
	return echoReply(asked)
}

func fixed(thought, text string) func([]string) reply {
	return func([]string) reply { return reply{thought, text} }
}

func countReply(match []string) reply {
	asked, _ := strconv.Atoi(match[1])
	n := min(max(asked, 1), demoMaxCount)
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(strconv.Itoa(i))
		if i < n {
			b.WriteString(", ")
		}
	}
	if n < asked {
		fmt.Fprintf(&b, ". I stop here: %d is as far as I count.", n)
	} else {
		b.WriteString(". There we are.")
	}
	b.WriteString(" No real model was needed for that, and none is connected. " + howToConnect)
	return reply{fmt.Sprintf("Counting to %d. One number after the other.", n), b.String()}
}

func echoReply(asked string) reply {
	heard := strings.Join(strings.Fields(asked), " ")
	const most = 200 // runes that are worth repeating
	if r := []rune(heard); len(r) > most {
		heard = string(r[:most]) + " …"
	}
	text := "I have your message"
	if heard != "" {
		text += fmt.Sprintf(`: "%s"`, heard)
	}
	text += ". But no real model is connected to this node, so I cannot say anything clever about it: I am a small script. " + whatToTry + " " + howToConnect
	return reply{"This is not in my script. I say what I heard, and that I am no real model.", text}
}
