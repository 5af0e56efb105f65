package cli

import (
	"cmp"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"gridbroker/foreign"
)

// paint colours text that is safe already, for what is written to the terminal as it is.
func paint(d *deps, s style, text string) string {
	if !coloured(d) || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[" + string(plain) + "m"
}

// draws reports whether a stream is a terminal that acts on escape sequences: TERM=dumb is one that does not.
func draws(d *deps, terminal bool) bool { return terminal && d.env.Getenv("TERM") != "dumb" }

// ascii reports whether the locale says of the terminal that it shows no more than ASCII (C, POSIX) or another character set
// than UTF-8. One that says nothing is taken for UTF-8, as terminals are.
func ascii(d *deps) bool {
	locale := cmp.Or(d.env.Getenv("LC_ALL"), d.env.Getenv("LC_CTYPE"), d.env.Getenv("LANG"))
	set := strings.ReplaceAll(strings.ToLower(locale), "-", "")
	return locale != "" && !strings.Contains(set, "utf8")
}

// coloured reports whether standard output takes colours; NO_COLOR turns them off.
func coloured(d *deps) bool { return draws(d, d.env.Terminal) && d.env.Getenv("NO_COLOR") == "" }

// displayed is how many columns a text takes on a terminal, escape sequences of ours left out.
func displayed(text string) int {
	n, inside := 0, false
	for n < len(text) && text[n] >= ' ' && text[n] < 0x7f { // ASCII: one column each
		n++
	}
	for _, r := range text[n:] {
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
func terminalSafe(d *deps, w io.Writer) io.Writer {
	raw, terminal := rawOut(d), d.env.Terminal
	if w == d.env.Err {
		raw, terminal = d.rawErr, d.env.ErrTerminal
	}
	if terminal {
		return &foreign.Writer{W: raw}
	}
	return raw
}
