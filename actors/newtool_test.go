package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

type payment struct {
	To     string   `json:"to" jsonschema:"whom to pay"`
	Amount int8     `json:"amount"`
	Notes  []string `json:"notes,omitempty"`
	Urgent *bool    `json:"urgent,omitempty"`
	Limit  int      `json:"limit,omitempty"`
	Of     inner    `json:"of,omitzero"`
	Any    any      `json:"any,omitempty"`
}

type inner struct {
	Day  time.Time          `json:"day,omitzero"`
	Rate map[string]float64 `json:"rate,omitempty"`
	Size uint64             `json:"size,omitempty"`
}

// echoing returns its input, as it has got it.
func echoing[In any](options ...actors.ToolOption) actors.Tool {
	return actors.NewTool("echo", "Says it again.", func(_ context.Context, in In) (In, error) { return in, nil }, options...)
}

func echoed(t *testing.T, tool actors.Tool, input string) string {
	t.Helper()
	out, err := actors.Execute(t.Context(), tool, &actors.ToolCall{}, input)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func TestTheSchemaOfAToolIsThatOfItsInput(t *testing.T) {
	require.JSONEq(t, `{"type":"object","required":["to","amount"],"additionalProperties":false,"properties":{
		"to":{"type":"string","description":"whom to pay"},
		"amount":{"type":"integer","minimum":-128,"maximum":127},
		"notes":{"type":"array","items":{"type":"string"}},
		"urgent":{"type":"boolean"},
		"limit":{"type":"integer"},
		"of":{"type":"object","additionalProperties":false,"properties":{
			"day":{"type":"string"},"rate":{"type":"object","additionalProperties":{"type":"number"}},"size":{"type":"integer","minimum":0}}},
		"any":true}}`, string(echoing[payment]().Schema))
	require.JSONEq(t, `{"type":"object","additionalProperties":false}`, string(echoing[struct{}]().Schema))
	require.JSONEq(t, `{"type":"object","additionalProperties":true}`, string(echoing[map[string]any]().Schema))
	require.JSONEq(t, string(echoing[payment]().Schema), string(actors.SchemaOf[payment]()))
}

func TestAnInputIsLookedAtBeforeTheFunction(t *testing.T) {
	for input, want := range map[string]string{
		`{"to":"Ann","amount":5}`:                            `{"to":"Ann","amount":5}`,
		`{"to":"Ann","amount":5.0,"limit":1e3}`:              `{"to":"Ann","amount":5,"limit":1000}`,
		`{"to":"Ann","amount":1,"limit":9007199254740993}`:   `{"to":"Ann","amount":1,"limit":9007199254740993}`,
		`{"to":"Ann","amount":1,"limit":9007199254740993.0}`: `{"to":"Ann","amount":1,"limit":9007199254740993}`,
		`{"to":"Ann","amount":1,"to":"Bea"}`:                 `{"to":"Bea","amount":1}`,
		`{"to":"Ann","amount":1,"of":{"size":7},"of":{}}`:    `{"to":"Ann","amount":1}`,
		`{"to":"Ann","amount":1,"notes":null,"urgent":null}`: `{"to":"Ann","amount":1}`,
		`{"amount":5}`:                                                `The input is wrong: required: missing properties: ["to"]`,
		`{"to":"Ann","amount":"5"}`:                                   `The input is wrong: amount: type: 5 has type "string", want "integer"`,
		`{"to":"Ann","amount":5.5}`:                                   `The input is wrong: amount: type: 5.5 has type "number", want "integer"`,
		`{"to":"Ann","amount":300}`:                                   `The input is wrong: amount: maximum: 300 is greater than 127`,
		`{"to":"Ann","amount":1,"tip":2}`:                             `The input is wrong: unexpected additional properties ["tip"]`,
		`{"to":"Ann","amount":1,"Amount":2}`:                          `The input is wrong: unexpected additional properties ["Amount"]`,
		`{"to":"Ann","amount":1,"notes":["a",2]}`:                     `The input is wrong: notes[]: type: 2 has type "integer", want "string"`,
		`{"to":"Ann","amount":1,"limit":99999999999999999999}`:        `The input is wrong: limit number 99999999999999999999 does not fit`,
		`{"to":"Ann","amount":1,"limit":1e999}`:                       `The input is wrong: has a number out of range: 1e999`,
		`{"to":"Ann","amount":1,"limit":1e-999999999}`:                `The input is wrong: has a number out of range: 1e-999999999`,
		`{"to":"Ann","amount":1,"of":{"day":"yesterday"}}`:            `The input is wrong: does not fit`,
		`{"to":"Ann","amount":1,"of":{"day":"2026-12-01T00:00:00Z"}}`: `{"to":"Ann","amount":1,"of":{"day":"2026-12-01T00:00:00Z"}}`,
		`["Ann"]`: `The input is not a JSON object: "[\"Ann\"]".`,
		`{"to":`:  `The input is not a JSON object: "{\"to\":".`,
		`null`:    `The input is not a JSON object: "null".`,
	} {
		require.Equal(t, want, echoed(t, echoing[payment](), input), input)
	}
}

func TestDefaultsAreWhatAnInputLeavesOut(t *testing.T) {
	tool := echoing[payment](actors.Defaults(payment{To: "the house", Limit: 10, Notes: []string{"a", "b"}}))
	require.Equal(t, `{"to":"the house","amount":1,"notes":["a","b"],"limit":10}`, echoed(t, tool, `{"amount":1}`))
	require.Equal(t, `{"to":"Ann","amount":1,"notes":["c"],"limit":3}`, echoed(t, tool, `{"to":"Ann","amount":1,"notes":["c"],"limit":3}`))
	require.Equal(t, `The input is wrong: required: missing properties: ["amount"]`, echoed(t, tool, `{}`), "a zero is no default")
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(tool.Schema, &schema))
	require.Equal(t, []string{"amount"}, schema.Required)
	require.JSONEq(t, `10`, string(schema.Properties["limit"].Default))
	require.NotContains(t, string(echoing[payment]().Schema), "default", "a tool's options are its own")
}

// What a model is told is enough: an input that follows the schema is taken, and what
// is taken reaches the function.
func TestAnInputThatFollowsTheSchemaAlwaysDecodes(t *testing.T) {
	tool := echoing[payment]()
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(tool.Schema, &schema))
	told, err := schema.Resolve(nil)
	require.NoError(t, err)
	text := rapid.SampledFrom([]string{`"x"`, `""`, `"\ud800"`, `5`, `null`, `["a"]`})
	number := rapid.SampledFrom([]string{`0`, `-0.0`, `5.0`, `127`, `128`, `12e1`, `1.5`, `-1`, `1e3`, `9007199254740993`, `"7"`, `null`, `true`})
	member := map[string]*rapid.Generator[string]{
		"to": text, "amount": number, "limit": number,
		"notes":  rapid.SampledFrom([]string{`[]`, `["a","b"]`, `[1]`, `null`, `{}`}),
		"urgent": rapid.SampledFrom([]string{`true`, `false`, `null`, `0`}),
		"of":     rapid.Map(number, func(n string) string { return `{"size":` + n + `,"rate":{"a":` + n + `}}` }),
		"any":    rapid.OneOf(text, number),
		"odd":    text,
	}
	more := []string{"to", "amount", "limit", "notes", "urgent", "of", "any", "odd"}
	followed := 0
	rapid.Check(t, func(t *rapid.T) {
		input := `{"to":"Ann","amount":1`
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(more), 0, 3).Draw(t, "names") { // the last of a name counts
			input += `,"` + name + `":` + member[name].Draw(t, name)
		}
		input += "}"
		var plain any
		if err := json.Unmarshal([]byte(input), &plain); err != nil {
			t.Fatalf("%s: %v", input, err)
		}
		taken := actors.Takes(tool, input)
		if told.Validate(plain) == nil {
			followed++
			if taken != nil {
				t.Fatalf("%s follows the schema and is refused: %v", input, taken)
			}
		}
		if _, err := actors.Execute(context.Background(), tool, &actors.ToolCall{}, input); taken == nil && err != nil {
			t.Fatalf("%s is taken and does not decode: %v", input, err)
		}
	})
	require.Positive(t, followed)
}

// What Go writes of an input is one.
func TestAnInputComesBackAsItWas(t *testing.T) {
	tool := echoing[payment]()
	number := rapid.Map(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), func(f float64) float64 { return f + 0 }) // without -0
	rapid.Check(t, func(t *rapid.T) {
		in := payment{
			To: rapid.String().Draw(t, "to"), Amount: rapid.Int8().Draw(t, "amount"), Notes: rapid.SliceOf(rapid.String()).Draw(t, "notes"),
			Urgent: rapid.Ptr(rapid.Bool(), true).Draw(t, "urgent"), Limit: rapid.Int().Draw(t, "limit"),
			Of: inner{Size: rapid.Uint64().Draw(t, "size"), Rate: rapid.MapOf(rapid.String(), number).Draw(t, "rate")},
		}
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := actors.Execute(context.Background(), tool, &actors.ToolCall{}, string(data))
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if string(out) != unescaped(t, data) {
			t.Fatalf("%s came back as %s", data, out)
		}
	})
}

// unescaped is JSON without what is escaped for HTML, as tools' results are.
func unescaped(t require.TestingT, data []byte) string {
	var in payment
	require.NoError(t, json.Unmarshal(data, &in))
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(in))
	return strings.TrimSpace(b.String())
}

func TestWhoApproves(t *testing.T) {
	much := func(in payment) bool { return in.Amount > 100 }
	for name, c := range map[string]struct {
		tool  actors.Tool
		input string
		want  bool
	}{
		"nobody":                       {echoing[payment](), `{"to":"Ann","amount":127}`, false},
		"false":                        {echoing[payment](actors.NeedsApproval(false)), `{"to":"Ann","amount":127}`, false},
		"true":                         {echoing[payment](actors.NeedsApproval(true)), `{"to":"Ann","amount":1}`, true},
		"little":                       {echoing[payment](actors.NeedsApproval(much)), `{"to":"Ann","amount":100}`, false},
		"much":                         {echoing[payment](actors.NeedsApproval(much)), `{"to":"Ann","amount":101}`, true},
		"a default":                    {echoing[payment](actors.Defaults(payment{Amount: 101}), actors.NeedsApproval(much)), `{"to":"Ann"}`, true},
		"what the function would get":  {echoing[payment](actors.NeedsApproval(much)), `{"to":"Ann","amount":101,"amount":1}`, false},
		"a client's":                   {actors.ClientTool("a", "", nil, actors.NeedsApproval(func(in json.RawMessage) bool { return string(in) == `{"a":2}` })), `{"a":1,"a":2}`, true},
		"what nobody can look at":      {actors.ClientTool("a", "", nil, actors.NeedsApproval(func(json.RawMessage) bool { return false })), `{"a":1e999}`, true},
		"what the tool would not take": {echoing[payment](actors.NeedsApproval(much)), `{}`, true},
	} {
		require.Equal(t, c.want, actors.NeedsPerson(c.tool, c.input), name)
	}
}

type chain struct {
	Next []chain `json:"next,omitempty"`
}

func TestMistakesInToolsAreToldAtRegistration(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	for want, tool := range map[string]actors.Tool{
		`its name must match ^[A-Za-z0-9_-]{1,64}$`:                                                                                  actors.NewTool("a b", "", func(context.Context, struct{}) (int, error) { return 0, nil }),
		`it has no function`:                                                                                                         actors.NewTool[struct{}, int]("a", "", nil),
		`JSON does not fit into its input struct { F func() }: type func()`:                                                          actors.NewTool("a", "", func(context.Context, struct{ F func() }) (int, error) { return 0, nil }),
		`its input is a string, must be a struct or a map with string keys`:                                                          actors.NewTool("a", "", func(context.Context, string) (int, error) { return 0, nil }),
		`its input is a *actors_test.payment, must be a struct or a map with string keys`:                                            actors.NewTool("a", "", func(context.Context, *payment) (int, error) { return 0, nil }),
		`its input actors_test.chain contains itself: it has no schema`:                                                              actors.NewTool("a", "", func(context.Context, chain) (int, error) { return 0, nil }),
		`its input time.Time has a decoder of its own: its fields are not known`:                                                     actors.NewTool("a", "", func(context.Context, time.Time) (int, error) { return 0, nil }),
		`NeedsApproval is given a func(int) bool, must be a bool or a function of the tool's input that returns one`:                 echoing[payment](actors.NeedsApproval(func(int) bool { return true })),
		`NeedsApproval is given a nil, must be a bool or a function of the tool's input that returns one`:                            echoing[payment](actors.NeedsApproval(nil)),
		`NeedsApproval is given a func(actors_test.payment) bool, must be a bool or a function of the tool's input that returns one`: actors.ClientTool("a", "", object, actors.NeedsApproval(func(payment) bool { return true })),
		`NeedsApproval is given a function that is nil`:                                                                              actors.ClientTool("a", "", object, actors.NeedsApproval((func(json.RawMessage) bool)(nil))),
		`Defaults are a int, must be of the tool's input, a struct`:                                                                  echoing[payment](actors.Defaults(3)),
		`its Timeout is 0s, must be more than 0`:                                                                                     echoing[payment](actors.Timeout(0)),
		`Timeout is for tools that a function of the server's runs`:                                                                  actors.ClientTool("a", "", object, actors.Timeout(time.Second)),
		`Repeatable is for tools that a function of the server's runs`:                                                               actors.ClientTool("a", "", object, actors.Repeatable),
		`its schema has type "string", must be "object"`:                                                                             actors.ClientTool("a", "", json.RawMessage(`{"type":"string"}`)),
		`its schema has type "", must be "object"`:                                                                                   actors.ClientTool("a", "", json.RawMessage(`{}`)),
		`its schema cannot be read: unexpected end of JSON input`:                                                                    actors.ClientTool("a", "", json.RawMessage(``)),
	} {
		agent := &actors.Agent{Name: "A", Model: plays(scripted.Say("")).model(), Tools: []actors.Tool{tool}}
		require.PanicsWithValue(t, fmt.Sprintf("actors: agent \"A\": Tools [0] %q: %s", tool.Name, want), func() { actorstest.New(t, agent) })
	}
	require.PanicsWithValue(t, "actors: SchemaOf: its input is a int, must be a struct or a map with string keys", func() { actors.SchemaOf[int]() })
}

func TestTheModelIsToldOfAnInputThatAClientNeverSees(t *testing.T) {
	m := plays(calls(`c1 place {"precise":"very"}`), scripted.Say("sorry"))
	answer, _ := chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{
		actors.ClientTool("place", "Where the visitor is.", actors.SchemaOf[struct {
			Precise bool `json:"precise,omitempty"`
		}]()),
	}})
	require.Equal(t, "sorry", answer.Text())
	require.Equal(t, []string{`c1 "The input is wrong: precise: type: very has type \"string\", want \"boolean\""`}, results(m.requests()[1]))
}
