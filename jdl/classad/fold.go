package classad

import "strings"

// Names and string comparison fold ASCII letters only, whatever the bytes
// above 127 stand for.

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// Fold returns s in lower case, s itself when it has no capital.
func Fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			return mapBytes(s, lower)
		}
	}
	return s
}

func mapBytes(s string, f func(byte) byte) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		b.WriteByte(f(s[i]))
	}
	return b.String()
}

// EqualFold reports whether s and t are equal but for ASCII case.
func EqualFold(s, t string) bool {
	if len(s) != len(t) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] != t[i] && lower(s[i]) != lower(t[i]) {
			return false
		}
	}
	return true
}

// compareFold orders s and t by their bytes in lower case.
func compareFold(s, t string) int {
	n := min(len(s), len(t))
	for i := 0; i < n; i++ {
		if a, b := lower(s[i]), lower(t[i]); a != b {
			return int(a) - int(b)
		}
	}
	return len(s) - len(t)
}
