package wiki

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gridbroker/durable"
)

// entry is a line of a journal: what was done to a job, and when.
type entry struct {
	At     time.Time     `json:"at"`
	Do     string        `json:"do"`
	ID     string        `json:"id"`
	Job    *Job          `json:"job,omitempty"`
	Run    time.Duration `json:"run,omitempty"`
	Tasks  []string      `json:"tasks,omitempty"`
	Params []Param       `json:"params,omitempty"`
}

// note writes an entry before what it says is done; what cannot be written is
// not done.
func (c *Cluster) note(e entry) error {
	if c.journal == nil {
		return nil
	}
	e.At = c.Now()
	line, err := json.Marshal(e)
	if err != nil {
		return &StatusError{CodeBackEnd, "the journal cannot be written"}
	}
	if c.journal.add(append(line, '\n')) != nil {
		return &StatusError{CodeBackEnd, "the journal cannot be written"}
	}
	return nil
}

// journal is what is written to. What was refused is not in it.
type journal struct {
	file    journalFile
	written int64 // bytes of it that hold
	torn    bool  // more may be there
}

type journalFile interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// add writes a line, or leaves the journal as it was. Where even that fails nothing is written any more until it is so: a part
// of a line would make all that follows unreadable, and a whole one would be done by who reads it.
func (j *journal) add(line []byte) error {
	if err := j.mend(); err != nil {
		return err
	}
	_, err := j.file.Write(line)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.torn = true
		return errors.Join(err, j.mend())
	}
	j.written += int64(len(line))
	return nil
}

// mend takes out what was refused.
func (j *journal) mend() error {
	if !j.torn {
		return nil
	}
	err := j.file.Truncate(j.written)
	if err == nil {
		err = j.file.Sync()
	}
	j.torn = err != nil
	return err
}

// close ends it.
func (j *journal) close() error { return errors.Join(j.mend(), j.file.Close()) }

// Journal keeps the cluster's jobs in a file, so that they outlive a crash: it
// takes in what the file holds, and from then on writes there, before it
// answers, what is done. It returns the number of jobs taken in. The nodes
// must be those of before.
func (c *Cluster) Journal(path string) (jobs int, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, err := c.takeIn(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	c.tick()
	written, err := compact(path, lines, func(id string) bool { return c.index[id] != nil })
	if err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	c.journal = &journal{file: f, written: written}
	return len(c.jobs), nil
}

// line is an entry as it was written.
type line struct {
	id   string
	text []byte
}

// takeIn does again what a journal says. A last line without an end was not
// answered.
func (c *Cluster) takeIn(text []byte) (lines []line, err error) {
	now := c.Now
	defer func() { c.Now = now }()
	r := bufio.NewReader(bytes.NewReader(text))
	for n := 1; ; n++ {
		one, err := r.ReadBytes('\n')
		if err == io.EOF {
			return lines, nil
		}
		var e entry
		if err := json.Unmarshal(one, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		c.Now = func() time.Time { return e.At }
		if err := c.again(e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		lines = append(lines, line{e.ID, one})
	}
}

// again does what an entry says.
func (c *Cluster) again(e entry) error {
	switch {
	case e.Do == "submit" && e.Job != nil:
		return c.submit(*e.Job, e.Run)
	case e.Do == "start":
		return c.start(e.ID, e.Tasks)
	case e.Do == "cancel":
		return c.cancel(e.ID)
	case e.Do == "suspend":
		return c.suspend(e.ID)
	case e.Do == "resume":
		return c.resume(e.ID)
	case e.Do == "requeue":
		return c.requeue(e.ID)
	case e.Do == "modify":
		return c.modify(e.ID, e.Params)
	}
	return fmt.Errorf("%q: not an entry of this version", e.Do)
}

// compact writes a journal anew, without the jobs that are forgotten, and returns
// its size.
func compact(path string, lines []line, known func(id string) bool) (int64, error) {
	var out bytes.Buffer
	for _, l := range lines {
		if known(l.id) {
			out.Write(l.text)
		}
	}
	return int64(out.Len()), durable.WriteFile(path, out.Bytes())
}

// Close ends the journal.
func (c *Cluster) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.journal == nil {
		return nil
	}
	return c.journal.close()
}
