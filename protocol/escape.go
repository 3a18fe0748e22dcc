package protocol

import "unicode/utf8"

const hex = "0123456789abcdef"

// plain marks the ASCII bytes that stand for themselves in a JSON string.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// appendEscaped appends s as the inside of a JSON string. Bytes that are not
// UTF-8 become U+FFFD: a browser closes its socket when a text frame is not
// valid UTF-8.
func appendEscaped[T []byte | string](dst []byte, s T) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain[c] {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendControl(dst, c)
			i++
			start = i
			continue
		}
		n := runeLen(s, i)
		if n == 0 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += n
	}
	return append(dst, s[start:]...)
}

// runeLen is the length of the UTF-8 sequence at s[i], or 0 if it is none.
func runeLen[T []byte | string](s T, i int) int {
	var b [utf8.UTFMax]byte
	n := copy(b[:], s[i:])
	if r, size := utf8.DecodeRune(b[:n]); r != utf8.RuneError || size > 1 {
		return size
	}
	return 0
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}
