package classad

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// fail notes the first error and ends the text.
func (l *lexer) fail(pos Pos, msg, hint string) {
	if l.err == nil && l.quiet {
		l.err = &Diagnostic{Severity: Fatal, Pos: pos} // nobody reads it
	}
	if l.err == nil {
		l.err = l.diagnostic(Fatal, pos, "syntax", msg, hint)
	}
	l.tok, l.at = tokEOF, len(l.src)
}

func (l *lexer) warning(pos Pos, code, msg, hint string) {
	l.warned = true
	if l.err != nil || l.quiet || l.warnings > maxWarnings {
		return
	}
	if l.warnings++; l.warnings > maxWarnings {
		code, msg, hint = "warnings", "there are more warnings, not shown", ""
	}
	l.warn(l.diagnostic(Warning, pos, code, msg, hint))
}

const (
	maxWarnings = 200 // of one text
	lineShown   = 160 // bytes of a long line that a message shows
	textShown   = 300 // bytes of a message or a hint
)

// clip shortens a text that quotes too much.
func clip(s string) string {
	if len(s) > textShown {
		return strings.ToValidUTF8(s[:textShown], "") + "..."
	}
	return s
}

func (l *lexer) diagnostic(s Severity, pos Pos, code, msg, hint string) *Diagnostic {
	d := &Diagnostic{Severity: s, File: l.file, Pos: pos, Msg: clip(msg), Hint: clip(hint), Code: code}
	d.ShowLine(l.src)
	return d
}

// sourceLine returns the line of a place, cut to a window around it when it
// is long, and how many bytes of it stand before the place.
func sourceLine(src string, pos Pos) (line string, caret int) {
	for n := 1; n < pos.Line; n++ {
		i := strings.IndexByte(src, '\n')
		if i < 0 {
			return "", 0
		}
		src = src[i+1:]
	}
	line, _, _ = strings.Cut(src, "\n")
	line = strings.TrimSuffix(line, "\r")
	caret = max(0, min(pos.Col-1, len(line)))
	if len(line) > lineShown {
		from := max(0, caret-lineShown/2)
		line, caret = line[from:min(len(line), from+lineShown)], caret-from
	}
	return line, caret
}

// badByte reports a character that starts no token.
func badByte(l *lexer) {
	r, _ := utf8.DecodeRuneInString(l.src[l.at:])
	switch r {
	case '“', '”', '„', '‟', '«', '»':
		l.fail(l.here(), fmt.Sprintf("typographic quote %c", r), `write "`)
	case '‘', '’', '‚', '‛', '`':
		l.fail(l.here(), fmt.Sprintf("typographic quote %c", r), `write " around a string`)
	case '\u00a0':
		l.fail(l.here(), "no-break space", "write a plain space")
	case '\ufeff':
		l.fail(l.here(), "byte-order mark", "remove it")
	case '#':
		l.fail(l.here(), "unexpected #", "a comment starts with //")
	case '\\':
		l.fail(l.here(), `unexpected \`, "a backslash has a meaning only inside quotes")
	case utf8.RuneError:
		l.fail(l.here(), fmt.Sprintf("unexpected byte 0x%02x", l.src[l.at]), "")
	default:
		l.fail(l.here(), fmt.Sprintf("unexpected character %q", r), "")
	}
}
