package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// What a login node may say. A cluster with more jobs or nodes than that is not one
// that it describes: the largest have some ten thousand nodes and a hundred thousand jobs.
const (
	maxText  = 32 << 20  // bytes of an answer that is kept whole
	maxHeard = 128 << 20 // bytes of one that is taken line by line, or ad by ad
	maxLine  = 1 << 20   // bytes of a line, and of an ad
	maxLines = 200_000   // lines, and ads; a job each
	maxParts = 4_000_000 // commas in all lines: entries of lists
)

// hear runs a verb of runner.sh with the deadline of a short command, and ends it where
// out takes no more: a host that goes on and on would keep it until the deadline.
func hear(ctx context.Context, s *Site, in io.Reader, out io.Writer, verb string, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Options.Command, ErrSlow)
	defer cancel()
	return until(ctx, s, in, out, verb, args...)
}

// until is hear without a deadline.
func until(ctx context.Context, s *Site, in io.Reader, out io.Writer, verb string, args ...string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	return s.Runner(ctx, in, &stopping{out, stop}, verb, args...)
}

// stopping ends what writes to it as soon as that is too much.
type stopping struct {
	out  io.Writer
	stop context.CancelCauseFunc
}

func (w *stopping) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err != nil {
		w.stop(err)
	}
	return n, err
}

// Lines runs one of the batch system's commands and hands over its lines, without
// their ends, as they arrive. Too many of them, or what take refuses, end it.
func (s *Site) Lines(ctx context.Context, take func(line string) error, argv ...string) error {
	return cut(ctx, s, &lines{take: take}, argv)
}

// cutter cuts what is written to it into pieces; end hands over, or judges, what is left.
type cutter interface {
	io.Writer
	end() error
}

// cut runs one of the batch system's commands, whose output is cut as it arrives.
func cut(ctx context.Context, s *Site, out cutter, argv []string) error {
	err := hear(ctx, s, nil, out, "exec", argv...)
	if err == nil {
		err = out.end()
	}
	if err != nil {
		return s.Fail(argv[0], err)
	}
	return nil
}

// lines cuts what is written to it into lines.
type lines struct {
	take                 func(string) error
	rest                 []byte // of a line that is not whole yet
	bytes, count, commas int
}

func (l *lines) Write(p []byte) (int, error) {
	if l.bytes += len(p); l.bytes > maxHeard {
		return 0, errTooLong
	}
	for rest := p; len(rest) > 0; {
		at := bytes.IndexByte(rest, '\n')
		if at < 0 {
			if l.rest = append(l.rest, rest...); len(l.rest) > maxLine {
				return 0, errTooLong
			}
			break
		}
		l.rest = append(l.rest, rest[:at]...)
		rest = rest[at+1:]
		if err := l.line(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// line hands over the line that is there.
func (l *lines) line() error {
	text := string(bytes.TrimRight(l.rest, "\r"))
	l.rest = l.rest[:0]
	l.count++
	l.commas += strings.Count(text, ",")
	if l.count > maxLines || l.commas > maxParts || len(text) > maxLine {
		return errTooLong
	}
	return l.take(text)
}

// end hands over a last line that has no end.
func (l *lines) end() error {
	if len(l.rest) == 0 {
		return nil
	}
	return l.line()
}

// Records runs a command that writes a JSON list of objects, or nothing, and hands over
// each object as it arrives.
func Records(ctx context.Context, s *Site, take func(object []byte) error, argv ...string) error {
	return cut(ctx, s, &objects{take: take}, argv)
}

// objects cuts a JSON list into its objects by their braces; whether each is one is for
// its reader to say.
type objects struct {
	take         func([]byte) error
	text         []byte // of the object under way
	depth        int    // of braces and brackets within it
	quoted, next bool   // within a text; the next byte of it is escaped
	bytes, count int
	open, closed bool // the list
}

func (o *objects) Write(p []byte) (int, error) {
	if o.bytes += len(p); o.bytes > maxHeard {
		return 0, errTooLong
	}
	for _, c := range p {
		if err := o.byte(c); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (o *objects) byte(c byte) error {
	if o.depth == 0 {
		return o.between(c)
	}
	if o.text = append(o.text, c); len(o.text) > maxLine {
		return errTooLong
	}
	switch {
	case o.next:
		o.next = false
	case o.quoted:
		o.next, o.quoted = c == '\\', c != '"'
	case c == '"':
		o.quoted = true
	case c == '{' || c == '[':
		o.depth++
	case c == '}' || c == ']':
		if o.depth--; o.depth == 0 {
			if o.count++; o.count > maxLines {
				return errTooLong
			}
			return o.take(o.text)
		}
	}
	return nil
}

// between is what stands between objects.
func (o *objects) between(c byte) error {
	switch {
	case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',' && o.open && !o.closed && o.count > 0:
	case c == '[' && !o.open:
		o.open = true
	case c == ']' && o.open && !o.closed:
		o.closed = true
	case c == '{' && o.open && !o.closed:
		o.text, o.depth = append(o.text[:0], c), 1
	default:
		return fmt.Errorf("%q is no part of a list of objects", c)
	}
	return nil
}

// end tells whether the list was whole.
func (o *objects) end() error {
	if o.depth > 0 || o.open != o.closed {
		return io.ErrUnexpectedEOF
	}
	return nil
}
