package pcre

// Without case means without the case of ASCII letters, whatever the bytes
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

// fold returns s in lower case.
func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

func equalFold(s, t string) bool { return len(s) == len(t) && fold(s) == fold(t) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isOctal(c byte) bool  { return '0' <= c && c <= '7' }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// isName reports whether s is letters and digits after a letter.
func isName(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
