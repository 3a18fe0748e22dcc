package uimessage

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestEachKindNamesTheFieldItLacks(t *testing.T) {
	for typ, k := range kinds {
		for i := range k.fields {
			f := &k.fields[i]
			if !f.required {
				continue
			}
			t.Run(typ+" without "+f.name, func(t *testing.T) {
				whole := Chunk{Type: typ, ID: "i", Delta: "d", ToolCallID: "c", ToolName: "n", ApprovalID: "a", Kind: "v.n", MediaType: "m", URL: "u", SourceID: "s", Title: "t", ErrorText: "e"}
				data := whole.AppendJSON(nil)
				if _, err := ParseChunk(data); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				var obj map[string]json.RawMessage
				if err := json.Unmarshal(data, &obj); err != nil {
					t.Fatal(err)
				}
				delete(obj, f.name)
				data, _ = json.Marshal(obj)
				_, err := ParseChunk(data)
				var bad *InvalidError
				if !errors.As(err, &bad) || bad.Field != f.name || bad.Reason != "is missing" {
					t.Errorf("%s: error %v", data, err)
				}
			})
		}
	}
}

func TestParseChunkRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{`:                             `invalid UI message: value is not JSON, got {`,
		`[]`:                            `invalid UI message: value must be an object, got []`,
		`{}`:                            `invalid UI message: type is missing`,
		`{"type":5}`:                    `invalid UI message: type must be a non-empty string, got 5`,
		`{"type":""}`:                   `invalid UI message: type must be a non-empty string, got ""`,
		`{"type":"text-start","id":7}`:  `invalid UI message: id must be a string, got 7`,
		`{"type":"text-start","ID":""}`: `invalid UI message: id is missing`,
		`{"type":"tool-output-denied","toolCallId":""}`:                              `invalid UI message: toolCallId must not be empty, got ""`,
		`{"type":"data-x","data":1,"transient":"yes"}`:                               `invalid UI message: transient must be true or false, got "yes"`,
		`{"type":"tool-approval-response","approvalId":"a","approved":null}`:         `invalid UI message: approved is missing`,
		`{"type":"text-delta","id":"t","delta":[` + strings.Repeat("1,", 60) + `1]}`: `invalid UI message: delta must be a string, got [` + strings.Repeat("1,", 38) + `…`,
	} {
		_, err := ParseChunk([]byte(in))
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
	}
}

func TestChunkRoundTrip(t *testing.T) {
	for _, line := range []string{
		`{"type":"text-delta","id":"t","delta":""}`,
		`{"type":"brand-new","a":{"b":[1,2]},"id":5,"z":null}`,
		`{"type":"text-delta","id":"t","delta":"x","zz":1.50}`,
		`{"type":"tool-output-available","toolCallId":"c","output":null}`,
		`{"type":"tool-approval-request","approvalId":"a","toolCallId":"c","reason":"r","isAutomatic":true,"signature":"s"}`,
		`{"type":"tool-approval-response","approvalId":"a","approved":false}`,
		`{"type":"data-","data":[]}`,
		`{"type":"custom","kind":"a.b","providerMetadata":{"a":{}}}`,
	} {
		c, err := ParseChunk([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(c.AppendJSON(nil)); got != line {
			t.Errorf("\n got %s\nwant %s", got, line)
		}
	}
}

func TestStringsAreAlwaysValidJSON(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 🙂 <b>&":          `"plain é 🙂 <b>&"`,
		"\"\\/\n\r\t\x00\x1f\x7f": "\"\\\"\\\\/\\n\\r\\t\\u0000\\u001f\x7f\"",
		"a\u2028b\u2029c":         `"a\u2028b\u2029c"`,
		"bad\xffbyte\xe2\x82":     "\"bad\uFFFDbyte\uFFFD\uFFFD\"",
		"\uFFFD":                  "\"\uFFFD\"",
	} {
		if got := string(AppendString(nil, in)); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%q\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestInvalidUTF8InRawFieldsIsReplaced(t *testing.T) {
	c, err := ParseChunk([]byte("{\"type\":\"data-x\",\"data\":{ \"a\":\"\xff\" }}"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(c.AppendJSON(nil)), "{\"type\":\"data-x\",\"data\":{\"a\":\"\uFFFD\"}}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
