package glue

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

// Limits on what is read from LDIF.
const (
	maxLine   = 1 << 20 // bytes of one unfolded line
	maxValues = 1 << 17 // lines of one entry
	maxNames  = 1 << 12 // different attributes of one entry
)

// ReadLDIF hands the entries of an LDIF text (RFC 2849) to each, one after the
// other. Folded lines, base64 values (::), comments and CRLF are understood;
// values by URL (:<) are refused. The error names file and line.
func ReadLDIF(r io.Reader, file string, each func(*Entry)) error {
	p := &ldif{in: bufio.NewReaderSize(r, 1<<16)}
	for {
		more, err := p.entry()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, p.line, err)
		}
		if len(p.e.DN) > 0 || len(p.e.Attrs) > 0 {
			each(&p.e)
		}
		if !more {
			return nil
		}
	}
}

// ldif reads entries into one reused Entry.
type ldif struct {
	in   *bufio.Reader
	line int
	text []byte // the logical line
	data []byte // the entry's bytes, which e points into
	e    Entry
	n    int // attribute lines of the entry
}

// entry reads up to the next empty line; more is false at the end.
func (p *ldif) entry() (more bool, err error) {
	p.data, p.e.DN, p.e.Attrs, p.n = p.data[:0], nil, p.e.Attrs[:0], 0
	for {
		ok, err := p.logical()
		if err != nil || !ok {
			return false, err
		}
		if len(p.text) == 0 {
			return true, nil
		}
		if err := p.attribute(); err != nil {
			return false, err
		}
	}
}

// logical reads one line with its continuations; ok is false at the end.
func (p *ldif) logical() (ok bool, err error) {
	p.text = p.text[:0]
	for first := true; ; first = false {
		chunk, err := p.physical()
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if err != nil && len(chunk) == 0 {
			return !first, nil
		}
		if !first {
			chunk = chunk[1:]
		}
		if len(p.text)+len(chunk) > maxLine {
			return false, fmt.Errorf("line longer than %d bytes", maxLine)
		}
		p.text = append(p.text, chunk...)
		next, err := p.in.Peek(1)
		if err != nil || next[0] != ' ' {
			return true, nil
		}
	}
}

// physical reads one line without its end.
func (p *ldif) physical() ([]byte, error) {
	p.line++
	line, err := p.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var long []byte
		for errors.Is(err, bufio.ErrBufferFull) && len(long) < maxLine {
			long = append(long, line...)
			line, err = p.in.ReadSlice('\n')
		}
		line = append(long, line...)
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// attribute takes in one "name: value" line.
func (p *ldif) attribute() error {
	if p.text[0] == '#' {
		return nil
	}
	name, rest, ok := cutByte(p.text, ':')
	if !ok || len(name) == 0 {
		return fmt.Errorf("no attribute name before a colon: %.60q", p.text)
	}
	if p.n++; p.n > maxValues || len(p.e.Attrs) > maxNames {
		return fmt.Errorf("entry of more than %d values or %d attributes", maxValues, maxNames)
	}
	value, err := p.value(rest)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case foldEqual(name, "dn"):
		p.e.DN = value
	case foldEqual(name, "version") && len(p.e.DN) == 0, foldEqual(name, "search"), foldEqual(name, "result"):
		// the header of the file, the trailer of ldapsearch
	default:
		p.add(p.keep(name), value)
	}
	return nil
}

// value decodes what stands after the first colon, into p.data.
func (p *ldif) value(rest []byte) ([]byte, error) {
	switch {
	case len(rest) > 0 && rest[0] == ':':
		text := bytes.TrimSpace(rest[1:])
		out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(out, text)
		return out[:n], err
	case len(rest) > 0 && rest[0] == '<':
		return nil, errors.New("value by URL is not supported")
	}
	return p.keep(trimSpace(rest)), nil
}

// keep copies b to the entry's own bytes. When those grow, what was kept
// before stays valid in the old memory.
func (p *ldif) keep(b []byte) []byte {
	start := len(p.data)
	p.data = append(p.data, b...)
	return p.data[start:len(p.data):len(p.data)]
}

// add appends a value to the attribute of that name, which in LDIF need not
// be the last one.
func (p *ldif) add(name, value []byte) {
	for i := len(p.e.Attrs) - 1; i >= 0; i-- {
		if bytes.EqualFold(p.e.Attrs[i].Name, name) {
			p.e.Attrs[i].Values = append(p.e.Attrs[i].Values, value)
			return
		}
	}
	n := len(p.e.Attrs)
	if n < cap(p.e.Attrs) {
		p.e.Attrs = p.e.Attrs[:n+1]
		a := &p.e.Attrs[n]
		a.Name, a.Values = name, append(a.Values[:0], value)
		return
	}
	p.e.Attrs = append(p.e.Attrs, Attr{Name: name, Values: [][]byte{value}})
}
