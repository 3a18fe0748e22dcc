package wire

import (
	"maps"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/wire/match"
)

// refusesMutations spoils what was received and demands that the recording tells:
// a comparison that passes everything proves nothing.
func refusesMutations(t *testing.T, s *match.Scenario, events map[string][]any) {
	t.Helper()
	tried := 0
	for name, list := range events {
		for i := range list {
			for what, spoiled := range mutations(list, i) {
				tried++
				all := maps.Clone(events)
				all[name] = spoiled
				if len(s.Judge(all)) == 0 {
					t.Errorf("%s, event %d: %s, and nobody minds: %v", name, i+1, what, list[i])
				}
			}
		}
	}
	if tried == 0 {
		t.Error("nothing was received that could be spoiled")
	}
	t.Logf("%d mutations refused", tried)
}

// wrong are fields of an event, by its type, and what must not be in them. (The
// body of a response may be of any kind, so it has mutations of its own.)
var wrong = map[string]map[string]any{
	"cf_agent_identity":    {"name": "somebody-else", "agent": "another-agent"},
	"cf_agent_mcp_servers": {"mcp": nil},
	"cf_agent_state":       {"state": map[string]any{"count": -1.0}},
	"cf_agent_state_error": {"error": "another reason"},
	"user-onMessage":       {"got": "something else"},
	"rpc":                  {"id": "somebody-elses", "success": nil},
	"http":                 {"request": "GET /elsewhere", "status": 299.0},
	"upgradeStatus":        {"upgradeStatus": 299.0},
	"close":                {"close": 4999.0},
}

// kind is what an event is by, in wrong.
func kind(e map[string]any) string {
	switch {
	case e["request"] != nil:
		return "http"
	case e["upgradeStatus"] != nil:
		return "upgradeStatus"
	case e["close"] != nil:
		return "close"
	}
	kind, _ := e["type"].(string)
	return kind
}

// mutations of event i that no client may be shown.
func mutations(events []any, i int) map[string][]any {
	e, ok := events[i].(map[string]any)
	if !ok {
		return nil
	}
	out := map[string][]any{}
	for field, value := range wrong[kind(e)] {
		out["another "+field] = with(events, i, field, value)
		out["twice"] = slices.Insert(slices.Clone(events), i, events[i])
		if kind(e) != "close" { // may be missing where more is accepted than must be
			out["missing"] = slices.Delete(slices.Clone(events), i, i+1)
		}
	}
	if e["type"] != client.Response {
		return out
	}
	if out["twice"] = slices.Insert(slices.Clone(events), i, events[i]); e["id"] != nil {
		out["another request"] = with(events, i, "id", "somebody-elses")
	}
	seq, content := e["seq"].(float64)
	if !content {
		out["not done"] = with(events, i, "done", e["done"] != true)
		return out
	}
	out["another position"] = with(events, i, "seq", seq+1)
	out["without a position"] = with(events, i, "seq", nil)
	if next := i + 1; next < len(events) {
		if n, ok := events[next].(map[string]any); ok && n["id"] == e["id"] && n["seq"] == seq+1 {
			swapped := slices.Clone(events)
			swapped[i], swapped[next] = swapped[next], swapped[i]
			out["swapped with the next"] = swapped
			out["missing"] = slices.Delete(slices.Clone(events), i, i+1)
		}
	}
	return out
}

// with sets a field of event i; nil removes it.
func with(events []any, i int, field string, value any) []any {
	out := slices.Clone(events)
	e := maps.Clone(out[i].(map[string]any))
	if e[field] = value; value == nil {
		delete(e, field)
	}
	out[i] = e
	return out
}
