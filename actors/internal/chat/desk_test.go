package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

func TestMCPServersOutliveAClearAndABase(t *testing.T) {
	r := newRig(t, Policy{})
	s := r.state()
	for _, e := range []Event{
		event(&pb.McpServerSet{Id: "a", Name: "first", Url: "http://a"}),
		event(&pb.McpServerSet{Id: "b", Name: "second", Url: "http://b", OptionsJson: []byte("{}")}),
		event(&pb.McpServerSet{Id: "a", Name: "first", Url: "http://moved"}),
		event(&pb.McpServerSet{Id: "c", Name: "third"}),
		event(&pb.McpServerRemoved{Id: "c"}),
		event(&pb.McpServerRemoved{Id: "nobody"}),
	} {
		s.Apply(e)
	}
	r.must(Clear{})
	var urls []string
	for _, m := range based(s).Desk.MCP {
		urls = append(urls, m.GetId()+" "+m.GetUrl())
	}
	require.Equal(t, []string{"a http://moved", "b http://b"}, urls)
	require.Equal(t, picture(s), picture(based(s)))
}

func TestUsageIsCountedOverAllTurns(t *testing.T) {
	r := newRig(t, Policy{})
	for _, request := range []string{"r1", "r2"} {
		r.must(submit(request, user("u-"+request)))
		cmd := answer(r.due()).(StepAnswered)
		cmd.Usage = &Usage{Input: 10, Output: 3, CacheRead: 1}
		r.must(cmd)
	}
	r.must(Clear{})
	r.rebase()
	u := r.state().Usage
	require.Equal(t, []int64{20, 6, 2}, []int64{u.GetInput(), u.GetOutput(), u.GetCacheRead()})
}
