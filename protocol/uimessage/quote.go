package uimessage

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// plain says which bytes stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendString appends s as a JSON string; see AppendEscaped.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, s)
	return append(dst, '"')
}

// AppendEscaped appends s as the inside of a JSON string. Bytes that are not
// UTF-8 become U+FFFD, each of them: a browser closes its socket when a text
// frame is not valid UTF-8. U+2028 and U+2029 are escaped, since older
// JavaScript takes them for line ends. It allocates nothing unless dst is too
// small.
func AppendEscaped[T []byte | string](dst []byte, s T) []byte {
	start := 0
	for i := 0; i < len(s); {
		if plain[s[i]] {
			i++
			continue
		}
		r, size := runeAt(s, i)
		escaped := r < utf8.RuneSelf || r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029'
		if escaped {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, r)
			start = i + size
		}
		i += size
	}
	return append(dst, s[start:]...)
}

// runeAt is utf8.DecodeRune for both kinds of s.
func runeAt[T []byte | string](s T, i int) (r rune, size int) {
	if s[i] < utf8.RuneSelf {
		return rune(s[i]), 1
	}
	var b [utf8.UTFMax]byte
	n := copy(b[:], s[i:])
	return utf8.DecodeRune(b[:n])
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case utf8.RuneError:
		return append(dst, "\uFFFD"...)
	case '\u2028', '\u2029':
		return append(dst, '\\', 'u', '2', '0', '2', hexDigits[r&0xF])
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xF])
	}
}
