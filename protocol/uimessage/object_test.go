package uimessage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSplitKeepsOrderAndTheLastOfEqualNames(t *testing.T) {
	var b strings.Builder
	b.WriteString(` { "k0" : "first" `)
	for i := range 40 {
		fmt.Fprintf(&b, `, "k%d" : { "v" : [ %d, "}\"]" ] }`, i, i)
	}
	b.WriteString(` } `)
	list, ok := split(json.RawMessage(b.String()))
	if !ok || len(list) != 40 {
		t.Fatalf("%d members, ok %v", len(list), ok)
	}
	for i, m := range list {
		if m.name != fmt.Sprintf("k%d", i) {
			t.Errorf("member %d is %s", i, m.name)
		}
		wantJSON(t, m.raw, fmt.Sprintf(`{"v":[%d,"}\"]"]}`, i))
	}
}

func TestSplitStopsAtWhatIsNoObject(t *testing.T) {
	for _, in := range []string{``, `{`, `[`, `[]`, `"x`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":"\`, `{"a":[1}`, `{1:2}`, `nul`} {
		if list, ok := split(json.RawMessage(in)); ok {
			t.Errorf("%s: %v", in, list)
		}
	}
}

func TestMerge(t *testing.T) {
	for _, tc := range []struct{ base, over, deep, flat string }{
		{``, ``, ``, ``},
		{``, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `null`, `{"a":1}`, `{"a":1}`},
		{`{"b":1,"a":{"x":1}}`, `{"a":{"y":2},"c":3}`, `{"b":1,"a":{"x":1,"y":2},"c":3}`, `{"b":1,"a":{"y":2},"c":3}`},
		{`{"a":{"x":1}}`, `{"a":[1]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"a":1}`, `{"a":null}`, `{"a":null}`, `{"a":null}`},
		{`"text"`, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `5`, `5`, `5`},
	} {
		if got := string(merge([]byte(tc.base), []byte(tc.over))); got != tc.deep {
			t.Errorf("merge(%s, %s) = %s, want %s", tc.base, tc.over, got, tc.deep)
		}
		if got := string(overlay([]byte(tc.base), []byte(tc.over))); got != tc.flat {
			t.Errorf("overlay(%s, %s) = %s, want %s", tc.base, tc.over, got, tc.flat)
		}
	}
}
