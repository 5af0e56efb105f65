package environment

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// The supervisor of a machine and the program inside talk over one serial line, in frames: a byte for the kind, four for
// the length, and so many bytes.
const (
	frameReady   = 'r' // the machine is up
	frameFiles   = 'f' // a tar archive of the sandbox
	frameGone    = 'g' // JSON: names that the job removed
	frameTask    = 't' // the line of JSON that process 1 reads
	frameControl = 'c' // a signal to pass on; empty: the supervisor is gone
	frameOut     = 'o'
	frameErr     = 'e'
	frameStatus  = 's' // what process 1 writes
	frameFailed  = 'x' // the machine cannot run the job, and why
	frameEnd     = 'z' // all is said
)

// maxFrame bounds a frame in bytes: a machine is not believed.
const maxFrame = 1 << 20

// A line writes frames; any number of goroutines may.
type line struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *line) send(kind byte, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	frame := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body))), body...)
	for len(frame) > 0 { // a serial line takes less than it is given, and says so
		n, err := l.w.Write(frame)
		if err != nil {
			return err
		}
		frame = frame[n:]
	}
	return nil
}

// stream is a writer of frames of one kind.
func (l *line) stream(kind byte) io.Writer { return &frameWriter{l, kind} }

type frameWriter struct {
	line *line
	kind byte
}

// Write implements io.Writer.
func (w *frameWriter) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		part := p[n:min(len(p), n+32<<10)]
		if err := w.line.send(w.kind, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// readFrame reads the next frame.
func readFrame(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}
