package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKebab(t *testing.T) {
	for name, want := range map[string]string{
		"ChatAgent": "chat-agent",
		"AIChat":    "a-i-chat",
		"AI":        "ai",
		"MY_AGENT":  "my-agent",
		"myAgent_":  "my-agent",
		"my_agent":  "my-agent",
		"agent2":    "agent2",
		"123":       "123",
		"":          "",
		"ÄB":        "äb",
		"Äb":        "Äb",
		"A_b":       "a-b",
	} {
		require.Equal(t, want, Kebab(name), name)
	}
}
