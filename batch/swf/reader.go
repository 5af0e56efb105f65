package swf

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// maxLine is the longest line taken, in bytes, and maxSkipped the longest one that
// is passed over: what is longer is no trace; maxLabels bounds the header.
const (
	maxLine    = 1 << 16
	maxSkipped = 64 << 20
	maxLabels  = 10000
	maxBad     = 100_000 // lines in a row that are no records
)

// byteOrderMark begins files that some editors have written.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Reader reads the records of a trace one by one.
type Reader struct {
	// Header is complete once the first record has been read.
	Header Header
	// Problem, when set, is told of every line that was skipped.
	Problem func(*LineError)

	name   string
	src    *bufio.Reader
	closes []io.Closer
	line   int
}

// LineError says what is wrong with one line of a trace.
type LineError struct {
	File string
	Line int
	Said string
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Said) }

// Open opens a trace, compressed by gzip or not (its first bytes tell).
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(path, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.closes = append(r.closes, f)
	return r, nil
}

// NewReader reads a trace from src; name is used in messages.
func NewReader(name string, src io.Reader) (*Reader, error) {
	r := &Reader{name: name, src: bufio.NewReaderSize(src, maxLine)}
	magic, _ := r.src.Peek(2)
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return r, nil
	}
	z, err := gzip.NewReader(r.src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.src, r.closes = bufio.NewReaderSize(z, maxLine), []io.Closer{z}
	return r, nil
}

// Close closes what Open opened.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.closes {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Read returns the next record that can be read, or io.EOF. Lines that are
// no records are told to Problem and skipped, unless there is no end of them. Any
// other error (a truncated gzip stream, say) ends the reading and names the line
// reached.
func (r *Reader) Read() (Record, error) {
	for bad := 0; bad < maxBad; {
		text, err := r.next()
		if err != nil {
			return Record{}, err
		}
		text = bytes.TrimSpace(bytes.TrimPrefix(text, byteOrderMark))
		if len(text) == 0 {
			continue
		}
		if text[0] == ';' {
			if len(r.Header.Labels) < maxLabels {
				r.Header.add(string(text[1:]))
			}
			continue
		}
		rec, said := parse(text)
		if said == "" {
			rec.Line = r.line
			return rec, nil
		}
		r.problem(said)
		bad++
	}
	return Record{}, fmt.Errorf("%s: %d lines in a row are no records: no trace", r.name, maxBad)
}

func (r *Reader) problem(said string) {
	if r.Problem != nil {
		r.Problem(&LineError{r.name, r.line, said})
	}
}

// next returns the next line; one that is too long is skipped.
func (r *Reader) next() ([]byte, error) {
	for {
		r.line++
		text, err := r.src.ReadSlice('\n')
		switch {
		case err == nil, err == io.EOF && len(text) > 0:
			return text, nil
		case err == io.EOF:
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%s: after line %d: %w", r.name, r.line-1, err)
		}
		r.problem(fmt.Sprintf("line is longer than %d bytes", maxLine))
		if err := r.skipLine(); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) skipLine() error {
	for skipped := maxLine; ; {
		part, err := r.src.ReadSlice('\n')
		if err == nil || err == io.EOF {
			return nil
		}
		if skipped += len(part); skipped > maxSkipped {
			return fmt.Errorf("%s: line %d is longer than %d bytes: no trace", r.name, r.line, maxSkipped)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%s: in line %d: %w", r.name, r.line, err)
		}
	}
}

// parse reads one line; said tells what is wrong with it ("" nothing).
func parse(text []byte) (rec Record, said string) {
	rec = unknown()
	wholes := rec.wholes()
	n := 0
	for field := range bytes.FieldsSeq(text) {
		if n == len(wholes) {
			rec.ExtraIgnored = true
			break
		}
		ok := false
		switch n {
		case 5:
			rec.CPU, ok = decimal(field)
		case 6:
			rec.Memory, ok = decimal(field)
		default:
			*wholes[n], ok = whole(field, &rec.DecimalsInInt)
		}
		if n++; !ok {
			return rec, fmt.Sprintf("field %d is %.40q, not a number", n, field)
		}
	}
	if n < len(wholes) {
		return rec, fmt.Sprintf("%d fields, want %d", n, len(wholes))
	}
	return rec, ""
}

// whole reads a whole number; decimals, as some logs have, are cut.
func whole(text []byte, cut *bool) (int64, bool) {
	if n, ok := digits(text); ok {
		return n, true
	}
	f, ok := decimal(text)
	if !ok || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	*cut = *cut || f != math.Trunc(f)
	return int64(f), true
}

// digits is the quick way for plain numbers of at most 18 digits.
func digits(text []byte) (n int64, ok bool) {
	neg := len(text) > 1 && text[0] == '-'
	if neg {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

func decimal(text []byte) (float64, bool) {
	if n, ok := digits(text); ok {
		return float64(n), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}
