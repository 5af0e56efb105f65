package jdl

import "strings"

// isURL reports whether s starts with "scheme://", a scheme being letters,
// digits, + - and . after a letter (RFC 3986 section 3.1).
func isURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok || scheme == "" {
		return false
	}
	for i, c := range []byte(scheme) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		other := c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return true
}
