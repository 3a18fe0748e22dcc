package uimessage

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestMessageRoundTripKeepsUnknownFields(t *testing.T) {
	for _, m := range []string{
		`{"id":"u1","role":"user","parts":[{"type":"text","text":"hi"}]}`,
		`{"id":"u1","role":"system","parts":[]}`,
		`{"id":"a","role":"assistant","parts":[{"type":"hologram","state":{"a":1},"text":5},{"type":"tool-"}],"metadata":{"z":1,"a":[1.50]},"createdAt":"x","own":null}`,
		`{"id":"a","role":"assistant","parts":[{"type":"text","text":"","state":"done","mark":1}]}`,
		`{"id":"a","role":"assistant","parts":[{"type":"tool-x","toolCallId":"c","state":"output-available","input":null,"output":{"b":1,"a":2},"approval":{"id":"p","approved":true,"signature":"s"},"index":3}]}`,
	} {
		if got := string(message(t, m).AppendJSON(nil)); got != m {
			t.Errorf("\n got %s\nwant %s", got, m)
		}
		var viaJSON struct{ M Message }
		if err := json.Unmarshal([]byte(`{"M":`+m+`}`), &viaJSON); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(viaJSON.M); err != nil || string(got) != m {
			t.Errorf("json.Marshal: %s, %v", got, err)
		}
	}
}

func TestParseMessageRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                                   `value must be an object, got null`,
		`{"role":"user","parts":[]}`:             `id is missing`,
		`{"id":"","role":"user","parts":[]}`:     `id must be a non-empty string, got ""`,
		`{"id":7,"role":"user","parts":[]}`:      `id must be a non-empty string, got 7`,
		`{"ID":"x","role":"user","parts":[]}`:    `id is missing`,
		`{"id":"x","parts":[]}`:                  `role is missing`,
		`{"id":"x","role":"data","parts":[]}`:    `role must be "user", "assistant" or "system", got "data"`,
		`{"id":"x","role":"user"}`:               `parts is missing`,
		`{"id":"x","role":"user","parts":{}}`:    `parts must be an array, got {}`,
		`{"id":"x","role":"user","parts":null}`:  `parts must be an array, got null`,
		`{"id":"x","role":"user","parts":["a"]}`: `parts[0] must be an object, got "a"`,
		`{"id":"x","role":"user","parts":[{}]}`:  `parts[0].type is missing`,
		`{"id":"x","role":"user","parts":[{"type":"step-start"},{"type":"text"}]}`:                       `parts[1].text is missing`,
		`{"id":"x","role":"user","parts":[{"type":"text","text":5}]}`:                                    `parts[0].text must be a string, got 5`,
		`{"id":"x","role":"user","parts":[{"type":"tool-a","state":"x"}]}`:                               `parts[0].toolCallId is missing`,
		`{"id":"x","role":"user","parts":[{"type":"tool-a","toolCallId":"c","state":"x","approval":1}]}`: `parts[0].approval must be an object with a string id, approved a boolean, reason a string, got 1`,
	} {
		_, err := ParseMessage([]byte(in))
		if err == nil || err.Error() != "invalid UI message: "+want {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
	}
	long := `{"id":"` + strings.Repeat("x", maxID+1) + `","role":"user","parts":[]}`
	if _, err := ParseMessage([]byte(long)); err == nil || !strings.Contains(err.Error(), "id must be at most 256 bytes long") || len(err.Error()) > 200 {
		t.Errorf("long id: %v", err)
	}
}

func TestParseMessagesNamesThePlace(t *testing.T) {
	_, err := ParseMessages([]byte(`[{"id":"a","role":"user","parts":[]},{"id":"b","role":"user","parts":[{"type":3}]}]`))
	if want := `invalid UI message: messages[1].parts[0].type must be a non-empty string, got 3`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := ParseMessages([]byte(`{}`)); err == nil || err.Error() != `invalid UI message: messages must be an array, got {}` {
		t.Errorf("got %v", err)
	}
	ms, err := ParseMessages([]byte(` [ ] `))
	if err != nil || len(ms) != 0 {
		t.Errorf("got %v, %v", ms, err)
	}
}

func TestPartPredicates(t *testing.T) {
	for _, tc := range []struct {
		part             Part
		tool             string
		settled, pending bool
	}{
		{Part{Type: "tool-a-b", State: InputStreaming}, "a-b", false, false},
		{Part{Type: "tool-a", State: InputAvailable}, "a", false, true},
		{Part{Type: "tool-a", State: ApprovalRequested}, "a", false, true},
		{Part{Type: "tool-a", State: ApprovalResponded}, "a", false, false},
		{Part{Type: "tool-a", State: OutputAvailable}, "a", true, false},
		{Part{Type: DynamicTool, ToolName: "m", State: OutputError}, "m", true, false},
		{Part{Type: "tool-a", State: OutputDenied}, "a", true, false},
		{Part{Type: "tool-", State: InputAvailable}, "", false, false},
		{Part{Type: "text", State: OutputError}, "", false, false},
	} {
		p := tc.part
		if p.Tool() != tc.tool || p.Settled() != tc.settled || p.Pending() != tc.pending || p.IsTool() != (tc.tool != "") {
			t.Errorf("%s %s: tool %q, settled %v, pending %v", p.Type, p.State, p.Tool(), p.Settled(), p.Pending())
		}
	}
}

func TestTrailingUsers(t *testing.T) {
	list := func(roles ...Role) (ms []Message) {
		for i, r := range roles {
			ms = append(ms, Message{ID: string(rune('a' + i)), Role: r})
		}
		return ms
	}
	for _, tc := range []struct {
		ms   []Message
		want []string
	}{
		{nil, nil},
		{list(Assistant), nil},
		{list(User), []string{"a"}},
		{list(User, Assistant, User, User), []string{"c", "d"}},
		{list(User, Assistant), nil},
	} {
		if got := TrailingUsers(tc.ms); !slices.Equal(got, tc.want) {
			t.Errorf("got %v, want %v", got, tc.want)
		}
	}
}

func TestAppendList(t *testing.T) {
	if got := string(AppendList(nil, nil)); got != `[]` {
		t.Error(got)
	}
	if got := string(AppendList([]byte("x"), [][]byte{[]byte(`{}`), []byte(`1`)})); got != `x[{},1]` {
		t.Error(got)
	}
}
