package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/turns"
	"gridbroker/foreign"
)

// Bounds of the lines that come over links. Of those of all links of one certificate so much is kept until they have come whole,
// and one after the other is taken in, where they are long.
const (
	maxLine   = 8 << 20
	maxLines  = 2 * maxLine
	allLines  = 8 * maxLines // of all certificates
	longLine  = 64 << 10
	maxValues = 400_000 // of 32,768 amounts and the names of a tree
)

// incoming is what the links of each certificate hold of lines that have not come whole, and whose turn it is to have a long one
// taken in, or written.
type incoming struct {
	turns   turns.Turns
	written turns.Turns
	mu      sync.Mutex
	held    shared
	waiting shared // what is to be written to a certificate
}

// take keeps so many bytes more of a certificate's, or gives them back where they are below nothing. It returns whether there is room.
func (l *incoming) take(who string, bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes > 0 && !l.held.fits(who, int64(bytes), maxLines, allLines) {
		return false
	}
	l.held.add(who, int64(bytes))
	return true
}

var errLines = fmt.Errorf("the links of its certificate have more than %d bytes of lines that have not come whole, or all links have more than %d", maxLines, allLines)

// lineReader reads the lines of a link.
type lineReader struct {
	in   *bufio.Reader
	all  *incoming
	who  string // whose certificate the other side shows
	line []byte // a long one
}

// next returns a line, which is good until done.
func (r *lineReader) next() (line []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err == nil && r.line == nil {
			return part, nil
		}
		if err != nil && !full {
			return nil, err
		}
		if err := r.add(part); err != nil {
			return nil, err
		}
		if !full {
			return r.line, nil
		}
	}
}

// add makes a line longer.
func (r *lineReader) add(part []byte) error {
	size := len(r.line) + len(part)
	if size > maxLine {
		return bufio.ErrTooLong
	}
	if size > cap(r.line) {
		larger := min(max(2*cap(r.line), longLine), maxLine)
		if !r.all.take(r.who, larger-cap(r.line)) {
			return errLines
		}
		r.line = append(make([]byte, 0, larger), r.line...)
	}
	r.line = append(r.line, part...)
	return nil
}

// done gives back what a long line took.
func (r *lineReader) done() {
	r.all.take(r.who, -cap(r.line))
	r.line = nil
}

// readFrames passes frames on until the stream ends, as a line that makes no sense ends it.
func readFrames(ctx context.Context, in io.Reader, all *incoming, who string, take func(frame) error) error {
	r := &lineReader{in: bufio.NewReaderSize(in, 4<<10), all: all, who: who}
	defer r.done()
	for {
		line, err := r.next()
		if err != nil {
			return err
		}
		if err := r.frame(ctx, line, take); err != nil {
			return err
		}
		r.done()
	}
}

// frame passes one line on.
func (r *lineReader) frame(ctx context.Context, line []byte, take func(frame) error) error {
	if len(line) > longLine {
		turn := r.all.turns.Take(ctx, r.who, 1)
		if turn == nil {
			return ctx.Err()
		}
		defer turn()
		many := func(v foreign.Values) bool { return v.Lists+v.Objects+v.Elements+v.Members > maxValues }
		if many(foreign.CountValues(line, many)) {
			return fmt.Errorf("a line of more than %d values", maxValues)
		}
	}
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return fmt.Errorf("a line that is no frame: %.200w", err)
	}
	return take(f)
}

// Of what the links of one certificate tell of free resources and of systems so much is kept, in bytes of a message; and so many
// descriptions of more than longLine are written to them at a time.
const (
	maxTables   = 8 << 20
	largeAtOnce = 4
)

// tells takes down how much a neighbour tells, which is held against all links of its certificate; the mutex is held.
func tells(d *Daemon, c *conn, m *managers.Message) error {
	if m.Job != nil && !m.With {
		return nil
	}
	c.told = m.Rooms.Weight()
	if m.Whole != nil {
		c.kinds = m.Whole.Weight()
	}
	all := 0
	for _, other := range d.conns {
		if other.who == c.who {
			all += other.told + other.kinds
		}
	}
	if all > maxTables {
		return fmt.Errorf("%s: the links of its certificate tell more than %d bytes of what is free", c.peer, maxTables)
	}
	return nil
}
