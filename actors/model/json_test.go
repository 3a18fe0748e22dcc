package model_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
)

func FuzzAMessageComesBackAsItWas(f *testing.F) {
	f.Add("assistant", "text", "hello", "", []byte(`{"a":1}`), []byte(`null`), []byte(`{"signature": "a<b"}`))
	f.Add("tool", "tool-result", "", "c1", []byte(`{"cut":`), []byte(` [1, 2] `), []byte(`{}`))
	f.Add("user", "file", "\u2028<&>", "c1", []byte("\xff\x00"), []byte(`"x"`), []byte(`{"a":{"b":[1e400]}}`))
	f.Fuzz(func(t *testing.T, role, kind, text, call string, input, output, metadata []byte) {
		utf8 := func(s string) string { return strings.ToValidUTF8(s, "") }
		c := model.Content{
			Kind: model.ContentKind(utf8(kind)), Text: utf8(text), CallID: utf8(call), IsError: len(text) > 3,
			Input: orNil(input), Output: orNil(output), Data: orNil(metadata),
		}
		if json.Valid(metadata) && strings.HasPrefix(string(metadata), "{") {
			c.Metadata = model.Metadata{"acme": metadata}
		}
		want := model.Message{Role: model.Role(utf8(role)), Content: []model.Content{c, {Kind: model.TextContent, Text: utf8(text)}}}
		stored, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		var got model.Message
		if err := json.Unmarshal(stored, &got); err != nil {
			t.Fatalf("unmarshal %s: %v", stored, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("stored as %s\ngot  %#v\nwant %#v", stored, got, want)
		}
		if again, _ := json.Marshal(got); string(again) != string(stored) {
			t.Errorf("stored as %s, then as %s", stored, again)
		}
	})
}

func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func TestMetadataThatIsNoObjectIsRefused(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `"x"`, `{"cut":`} {
		if _, err := json.Marshal(model.Metadata{"acme": json.RawMessage(raw)}); err == nil || !strings.Contains(err.Error(), "acme") {
			t.Errorf("metadata %s: error %v, want one that names the provider", raw, err)
		}
	}
	for _, stored := range []string{`{"acme":1}`, `{"acme":"bm8="}`, `{"acme":[]}`, `{"acme":null}`} {
		var m model.Metadata
		if err := json.Unmarshal([]byte(stored), &m); err == nil {
			t.Errorf("%s was read as %v", stored, m)
		}
	}
}

func TestAModelPrefillsOnlyIfItSaysSo(t *testing.T) {
	var silent struct{ model.Model }
	if model.Prefills(silent) {
		t.Error("a model that does not say so prefills")
	}
}
