package swf

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// Writer writes a trace record by record.
type Writer struct {
	out  *bufio.Writer
	line []byte
}

// NewWriter writes the header and returns a writer for the records.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := bufio.NewWriter(w)
	for _, l := range h.Labels {
		text := l.Value
		if l.Name != "" {
			text = l.Name + ": " + l.Value
		}
		if _, err := fmt.Fprintf(out, "; %s\n", text); err != nil {
			return nil, err
		}
	}
	return &Writer{out: out}, nil
}

// Write writes one record.
func (w *Writer) Write(r Record) error {
	w.line = w.line[:0]
	for i, field := range r.wholes() {
		if i > 0 {
			w.line = append(w.line, ' ')
		}
		switch {
		case field != nil:
			w.line = strconv.AppendInt(w.line, *field, 10)
		case i == 5:
			w.line = strconv.AppendFloat(w.line, r.CPU, 'f', -1, 64)
		default:
			w.line = strconv.AppendFloat(w.line, r.Memory, 'f', -1, 64)
		}
	}
	_, err := w.out.Write(append(w.line, '\n'))
	return err
}

// Flush writes out what is buffered.
func (w *Writer) Flush() error { return w.out.Flush() }

// Record is the job as a line of a trace.
func (j Job) Record() Record {
	r := unknown()
	r.Job, r.Submit, r.Run, r.Procs, r.ReqProcs, r.ReqTime = j.ID, j.Submit, j.Run, int64(j.Procs), int64(j.Procs), j.Limit
	r.User, r.Group, r.Queue, r.Partition, r.ReqMemory, r.Status = j.User, j.Group, j.Queue, j.Partition, j.Memory, j.Status
	return r
}
