package classad

import (
	"fmt"
	"strings"
)

// Severity orders diagnostics.
type Severity uint8

// Severities.
const (
	Warning Severity = iota
	Fatal
)

// String returns "warning" or "error".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is a positioned message about a text: a warning for a repair
// that was made, or an error. As an error it prints itself as
//
//	job.jdl:3:21: unexpected ")"
//	 | Requirements = (a > );
//	 | ....................^
type Diagnostic struct {
	Severity Severity
	File     string
	Pos      Pos
	Msg      string // what is wrong
	Hint     string // what to do; may be empty
	Line     string // the source line; may be empty
	Code     string // stable short name of the check, for --json and tests

	caret int // bytes of Line before the place; 0: as Pos.Col says
}

// ShowLine takes the line of the place from the whole text, so that Error can
// show it. It returns d.
func (d *Diagnostic) ShowLine(src string) *Diagnostic {
	d.Line, d.caret = sourceLine(src, d.Pos)
	return d
}

// Warnings hands on the warnings of one text of another language, each with its line,
// as long as they are few; that there are more is the last one.
func Warnings(src string, to func(*Diagnostic)) func(*Diagnostic) {
	n := 0
	return func(d *Diagnostic) {
		if n++; n > maxWarnings+1 {
			return
		}
		if n > maxWarnings {
			d.Code, d.Msg, d.Hint = "warnings", "there are more warnings, not shown", ""
		}
		if d.Pos.Line > 0 {
			d.ShowLine(src)
		}
		to(d)
	}
}

// Error implements error.
func (d *Diagnostic) Error() string {
	var b strings.Builder
	if d.File != "" {
		fmt.Fprintf(&b, "%s:", d.File)
	}
	if d.Pos.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", d.Pos.Line, d.Pos.Col)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(d.Msg)
	if d.Hint != "" {
		fmt.Fprintf(&b, " (%s)", d.Hint)
	}
	if d.Line != "" {
		before := d.caret
		if before == 0 {
			before = min(max(0, d.Pos.Col-1), len(d.Line))
		}
		fmt.Fprintf(&b, "\n | %s\n | %s^", d.Line, strings.Repeat(".", before))
	}
	return b.String()
}
