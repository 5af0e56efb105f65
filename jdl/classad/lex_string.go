package classad

import "strings"

// quoted reads a string or a quoted name. Neighbours with nothing but white
// space between them are one.
func (l *lexer) quoted(quote byte, tok token) {
	l.tok, l.lost, l.joined = tok, false, Pos{}
	first, ok := l.quotedPart(quote)
	if !ok {
		return
	}
	l.str = first
	var all strings.Builder
	for l.toNextPart(quote) {
		if l.joined == (Pos{}) {
			l.joined = l.here()
			all.WriteString(first)
		}
		part, ok := l.quotedPart(quote)
		if !ok {
			return
		}
		all.WriteString(part)
	}
	if l.joined != (Pos{}) {
		l.str = all.String()
	}
}

// toNextPart goes to a quote that only white space separates from here.
func (l *lexer) toNextPart(quote byte) bool {
	i, line, start := l.at, l.line, l.lineStart
	for i < len(l.src) && isSpace(l.src[i]) {
		if l.src[i] == '\n' {
			line, start = line+1, i+1
		}
		i++
	}
	if l.byteAt(i) != quote {
		return false
	}
	l.at, l.line, l.lineStart = i, line, start
	return true
}

// quotedPart reads one pair of quotes and what is between.
func (l *lexer) quotedPart(quote byte) (s string, ok bool) {
	start, from := l.here(), l.at+1
	escaped := false
	for i := from; i < len(l.src); i++ {
		switch l.src[i] {
		case quote:
			l.at = i + 1
			raw := l.src[from:i]
			if l.tolerant && quote == '"' && start.Line < l.line+1 {
				raw = l.joinLines(start, raw)
			}
			if escaped {
				return l.unescape(start, raw)
			}
			return raw, true
		case '\\':
			escaped = true
			if i++; l.byteAt(i) == '\n' {
				l.newline(i)
			}
		case '\n':
			l.newline(i)
		case 0:
			l.fail(start, "NUL byte in a string", "")
			return "", false
		}
	}
	what := "string"
	if quote == '\'' {
		what = "quoted name"
	}
	l.fail(start, what+" is not closed", string(quote)+" is missing")
	return "", false
}

// escapes are the letters with a meaning after a backslash; any other
// character stands for itself.
var escapes = [256]byte{'a': 7, 'b': 8, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}

func (l *lexer) unescape(start Pos, raw string) (string, bool) {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		switch c := raw[i]; {
		case isOctal(c):
			n, used := octalEscape(raw[i:])
			if n == 0 {
				l.fail(start, `\0 in a string`, "a string cannot hold a NUL byte")
				return "", false
			}
			b.WriteByte(n)
			i += used - 1
		case c == 0:
			l.fail(start, "NUL byte in a string", "")
			return "", false
		case escapes[c] != 0:
			b.WriteByte(escapes[c])
		default:
			l.lost = l.lost || isLetter(c) || isDigit(c) || strings.IndexByte(".+*()[]{}|^$-/ ", c) >= 0
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// octalEscape reads one digit, two, or three when the first two give less
// than octal 40.
func octalEscape(s string) (n byte, used int) {
	n, used = s[0]-'0', 1
	if len(s) > 1 && isOctal(s[1]) {
		n, used = n<<3+s[1]-'0', 2
		if n < 0o40 && len(s) > 2 && isOctal(s[2]) {
			n, used = n<<3+s[2]-'0', 3
		}
	}
	return n, used
}
