package jdl

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
		fmt.Fprintf(&b, "\n | %s\n | %s^", d.Line, strings.Repeat(".", max(0, d.Pos.Col-1)))
	}
	return b.String()
}
