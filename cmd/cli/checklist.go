package cli

import (
	"fmt"
	"slices"
)

// checklist is what a doctor has looked at. It is told as it goes, or at the end in one document.
type checklist struct {
	d    *deps
	over func() error // is an error when a signal came: what fails from then on was not looked at
	done []checkedLine
}

// checkedLine is one thing that a doctor has looked at.
type checkedLine struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// checklistDocument is what a doctor has found, in the order in which it looked.
type checklistDocument struct {
	OK     bool          `json:"ok"` // everything is
	Checks []checkedLine `json:"checks"`
}

// say notes whether something is as it should be.
func (l *checklist) say(ok bool, format string, args ...any) {
	if !ok && l.over() != nil {
		return
	}
	line := checkedLine{ok, fmt.Sprintf(format, args...)}
	l.done = append(l.done, line)
	if l.d.json {
		return
	}
	mark := "ok   "
	if !ok {
		mark = "WRONG"
	}
	sayOut(l.d, "%s %s", mark, passage(line.Text))
}

// try notes what came of something, with the error where it failed.
func (l *checklist) try(err error, format string, args ...any) {
	if err == nil {
		l.say(true, format, args...)
		return
	}
	l.say(false, "%s: %v", fmt.Sprintf(format, args...), err)
}

// failed tells whether anything is not as it should be.
func (l *checklist) failed() bool {
	return slices.ContainsFunc(l.done, func(line checkedLine) bool { return !line.OK })
}

// end prints the document, and is the error where anything is wrong. There is none of a look that was interrupted.
func (l *checklist) end(verb string) error {
	if err := l.over(); err != nil {
		return err
	}
	doc := checklistDocument{OK: !l.failed(), Checks: l.done}
	if l.d.json {
		if err := printJSON(l.d, verb, doc); err != nil {
			return err
		}
	}
	if !doc.OK {
		return &exitError{exitFailed, errReported}
	}
	return nil
}
