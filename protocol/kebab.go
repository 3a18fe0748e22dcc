package protocol

import "strings"

// Kebab turns a class name into its URL segment, by the rule that the clients
// apply before they build a URL: a name in capitals is lower-cased and its
// underscores become dashes (MY_AGENT → my-agent, AI → ai); in any other name
// each of A-Z becomes a dash and its lower-case letter, with one leading and
// one trailing dash dropped (ChatAgent → chat-agent, AIChat → a-i-chat).
func Kebab(name string) string {
	if name == strings.ToUpper(name) && name != strings.ToLower(name) {
		return strings.ReplaceAll(strings.ToLower(name), "_", "-")
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			b.WriteByte('-')
			b.WriteByte(c + 'a' - 'A')
		case c == '_':
			b.WriteByte('-')
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), "-"), "-")
}
