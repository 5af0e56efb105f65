package cli

import (
	"fmt"
	"io"
	"reflect"

	"gridbroker/foreign"
)

// passage is text of several lines that others may have had a hand in: its lines stay
// lines, each set in, so that none can pass for a message by itself.
type passage string

// whole is such text that is an answer by itself: its lines stay as they are.
type whole string

// sayOut prints a line of a verb's answer on standard output, and sayErr one of the program
// itself on standard error, beside what standard output carries; say prints what is no whole
// line. Whoever wrote what stands in it: texts become one line without control characters,
// errors and passages lines that are set in. Own colours stay.
func sayOut(d *deps, format string, args ...any) error {
	return write(d, d.env.Out, "", "\n", format, args...)
}

func sayErr(d *deps, format string, args ...any) error {
	return write(d, d.env.Err, "grid: ", "\n", format, args...)
}

func say(d *deps, w io.Writer, format string, args ...any) error {
	return write(d, w, "", "", format, args...)
}

// write is what all of them do.
func write(d *deps, w io.Writer, before, after, format string, args ...any) error {
	if false {
		_ = fmt.Sprintf(format, args...) // tells go vet that these are formats
	}
	safe := make([]any, len(args))
	for i, arg := range args {
		safe[i] = safely(d, arg)
	}
	_, err := fmt.Fprintf(w, before+format+after, safe...)
	return err
}

// safely makes a part of a message safe; numbers stay numbers, for the verbs that format them.
func safely(d *deps, part any) any {
	switch p := part.(type) {
	case string:
		return oneLine(d, p)
	case passage:
		return keepingOwn(d, string(p), foreign.Message)
	case whole:
		return foreign.Lines(string(p))
	case error:
		return foreign.Message(p.Error())
	case fmt.Stringer:
		return foreign.Text(p.String())
	}
	if k := reflect.ValueOf(part).Kind(); k == reflect.Bool || k >= reflect.Int && k <= reflect.Float64 {
		return part
	}
	return foreign.Text(fmt.Sprint(part))
}
