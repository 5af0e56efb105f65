// Package foreign makes text that came from outside safe to show: on a
// terminal it moves no cursor and changes no colour, in a line it makes no
// other line, in a log it forges no entry. What is not harmless is written out
// visibly, never dropped.
package foreign

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Text makes one line of s: control characters (C0, DEL, C1), line ends, the
// controls of bidirectional text, other characters without a shape and bytes
// that are no UTF-8 are written as \n, \t, \xNN or \u{N}.
func Text(s string) string { return escape(s, "") }

// Lines is Text for text of several lines: line feeds and tabs stay, carriage
// returns before a line feed go.
func Lines(s string) string {
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t")
}

// Message is Text for a message of our own that may quote others: its lines
// stay lines, each set in, so that none can pass for a message by itself. Of one that is
// longer than anybody reads the beginning and the end are shown.
func Message(s string) string {
	lines := strings.Split(Lines(strings.TrimRight(s, "\n")), "\n")
	for i, line := range lines {
		lines[i] = shortened(line)
	}
	return strings.Join(lines, "\n  ")
}

// longLine is how many bytes of a line of a message are shown, and endOfLine how many of
// them are its last.
const (
	longLine  = 4 << 10
	endOfLine = 512
)

// shortened is a line without its middle, where it is long.
func shortened(line string) string {
	if len(line) <= longLine {
		return line
	}
	head, tail := longLine-endOfLine, len(line)-endOfLine
	for !utf8.RuneStart(line[head]) {
		head--
	}
	for !utf8.RuneStart(line[tail]) {
		tail++
	}
	return fmt.Sprintf("%s ... (%d bytes) ... %s", line[:head], tail-head, line[tail:])
}

// harmless reports whether a character is shown as it is.
func harmless(r rune, keep string) bool {
	return unicode.IsPrint(r) && r != utf8.RuneError || strings.ContainsRune(keep, r)
}

func escape(s, keep string) string {
	at := 0
	for at < len(s) && s[at] >= ' ' && s[at] < 0x7f { // most texts are no more than that
		at++
	}
	for at < len(s) {
		r, n := utf8.DecodeRuneInString(s[at:])
		if r == utf8.RuneError && n == 1 || !harmless(r, keep) {
			break
		}
		at += n
	}
	if at == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:at])
	for at < len(s) {
		r, n := utf8.DecodeRuneInString(s[at:])
		writeRune(&b, r, n, s[at], keep)
		at += n
	}
	return b.String()
}

// Page makes a page of HTML show what stands in it: what orders text from right to left, and other characters without a shape,
// which others may have in their names, are written as \u{N}. Markup is left to who made the page.
func Page(html []byte) []byte {
	var b strings.Builder
	done := 0
	for at := 0; at < len(html); {
		r, n := utf8.DecodeRune(html[at:])
		if r >= 0x7f && shapeless(r) || r == utf8.RuneError && n == 1 {
			b.Write(html[done:at])
			writeRune(&b, r, n, html[at], "")
			done = at + n
		}
		at += n
	}
	if done == 0 {
		return html
	}
	b.Write(html[done:])
	return []byte(b.String())
}

// shapeless reports whether a character is none that a reader sees, a blank aside.
func shapeless(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp)
}

func writeRune(b *strings.Builder, r rune, n int, first byte, keep string) {
	switch {
	case r == utf8.RuneError && n == 1:
		fmt.Fprintf(b, `\x%02x`, first)
	case harmless(r, keep) || r == utf8.RuneError: // U+FFFD itself is a shape
		b.WriteRune(r)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < 0x100:
		fmt.Fprintf(b, `\x%02x`, r)
	default:
		fmt.Fprintf(b, `\u{%x}`, r)
	}
}

// Writer passes text on to a terminal or a log: lines stay, everything else
// that is not harmless is written out. Sequences of Own go through as they
// are: they are the program's own colours, which nobody else can know when
// they hold something random.
type Writer struct {
	W   io.Writer
	Own map[string]string // what to write for a sequence; may be nil

	mu   sync.Mutex
	rest string // the beginning of a character that has not come whole
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.rest + string(p)
	w.rest = ""
	if cut := incomplete(s); cut > 0 {
		s, w.rest = s[:len(s)-cut], s[len(s)-cut:]
	}
	if _, err := io.WriteString(w.W, w.safe(s)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// safe escapes between the sequences of Own.
func (w *Writer) safe(s string) string { return Between(s, w.Own, Lines) }

// Between applies escape to what stands between own sequences, and puts in
// their place what they stand for.
func Between(s string, own map[string]string, escape func(string) string) string {
	for mark, with := range own {
		if before, after, found := strings.Cut(s, mark); found {
			return Between(before, own, escape) + with + Between(after, own, escape)
		}
	}
	return escape(s)
}

// incomplete is how many bytes at the end begin a character without ending it.
func incomplete(s string) int {
	for n := 1; n <= min(len(s), utf8.UTFMax-1); n++ {
		if b := s[len(s)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// JSON writes out, within a JSON document, what encoding/json leaves as it is:
// DEL, C1 and characters without a shape. The document stays the same to whom
// parses it.
func JSON(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, hidden) {
		return doc
	}
	var b strings.Builder
	for _, r := range string(doc) {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

// hidden tells characters without a shape beyond ASCII's line ends and tabs.
func hidden(r rune) bool {
	return r >= 0x7f && (r != utf8.RuneError && !unicode.IsPrint(r) && !unicode.IsSpace(r) || r <= 0x9f || r == '\u2028' || r == '\u2029')
}
