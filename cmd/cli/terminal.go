package cli

import (
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// displayed is how many columns a text takes on a terminal, escape sequences of ours left out.
func displayed(text string) int {
	n, inside := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			inside = true
		case inside:
			inside = r != 'm'
		default:
			n += runewidth.RuneWidth(r)
		}
	}
	return n
}

// terminalSafe keeps what a job wrote from steering the user's terminal; in a pipe everything passes as it is.
func (a *app) terminalSafe(w io.Writer) io.Writer {
	raw, terminal := a.rawOut(), a.env.Terminal
	if w == a.env.Err {
		raw, terminal = a.rawErr, a.env.ErrTerminal
	}
	if terminal {
		return &harmless{to: raw}
	}
	return raw
}

// harmless writes control characters as "?", but for newline, tab and carriage return.
type harmless struct {
	to   io.Writer
	rest []byte // of a character that is not complete yet
}

// Write implements io.Writer.
func (h *harmless) Write(p []byte) (int, error) {
	text := append(h.rest, p...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 && (utf8.FullRune(text) || len(text) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			out = append(out, byte(r))
		case r == utf8.RuneError && size == 1, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			out = append(out, '?')
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	h.rest = append([]byte(nil), text...)
	if _, err := h.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
