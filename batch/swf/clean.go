package swf

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
)

// Job is a job of a cleaned trace, ready to be scheduled. Times in seconds.
type Job struct {
	ID        int64 // 1, 2, 3... in the order of submission
	Submit    int64 // the first job's is 0
	Run       int64 // what it will really take, > 0
	Limit     int64 // what its owner asked for, never less than Run
	Procs     int   // > 0
	User      int64
	Group     int64
	Queue     int64
	Partition int64
	Memory    int64 // kilobytes per processor asked for; -1: not known
	Status    int64 // field 11 of the trace
	Original  int64 // the job's number in the trace
	Line      int
}

// Cleaner turns records into jobs by one explicit rule:
//
//   - processors are field 5, else field 8; the run time is field 4;
//   - a job with no run time or no processors (both must be > 0), or wider
//     than the machine, or submitted at an unknown (negative) time is dropped;
//   - a job with a time of more than 10^11 s is dropped, a limit beyond that is cut;
//   - the limit is the longer of field 9 and the run time;
//   - the status (field 11) is not looked at: jobs that failed or were cancelled
//     after they had started took processors, and each line of a job that was
//     interrupted (status 2, 3, 4) counts as a job of its own;
//   - jobs are put in order of submission, equal times in the order of the
//     file, the first submission becomes time 0, and jobs are numbered from 1.
//
// Out-of-order submissions are sorted in a window of Window jobs, so that a
// trace of any length needs bounded memory; a job that is later than the
// whole window is an error that names its line.
type Cleaner struct {
	Source interface{ Read() (Record, error) }
	Name   string // of the trace, for messages
	Procs  int    // size of the machine; 0: as the header says
	Window int    // 0: 131,072
	// Problem, when set, is told of every job dropped or repaired.
	Problem func(*LineError)

	Report Report

	held   window
	read   int // records read; the place in the file
	base   int64
	newest int64
	last   int64
	given  int64
	ended  bool
}

// Report counts what cleaning did.
type Report struct {
	Read        int `json:"read"`
	Kept        int `json:"kept"`
	NoRunTime   int `json:"no_run_time"`  // dropped
	NoProcs     int `json:"no_procs"`     // dropped
	TooWide     int `json:"too_wide"`     // dropped
	NoSubmit    int `json:"no_submit"`    // dropped
	Endless     int `json:"endless"`      // dropped: a time that cannot be
	Partial     int `json:"partial"`      // kept: a line of a job that was interrupted
	OutOfOrder  int `json:"out_of_order"` // kept: sorted into place
	NoLimit     int `json:"no_limit"`     // kept: given the run time as limit
	LimitRaised int `json:"limit_raised"` // kept: ran longer than asked for
}

// Next returns the next job, or io.EOF.
func (c *Cleaner) Next() (Job, error) {
	if err := c.fill(); err != nil {
		return Job{}, err
	}
	if len(c.held) == 0 {
		return Job{}, io.EOF
	}
	job := heap.Pop(&c.held).(held).Job
	if c.given == 0 {
		c.base = job.Submit
	}
	if c.given > 0 && job.Submit < c.last {
		return Job{}, &LineError{c.Name, job.Line, fmt.Sprintf(
			"submitted %d s before a job %d places earlier in the trace: sort the trace by submission first",
			c.last-job.Submit, c.window())}
	}
	c.last = job.Submit
	c.given++
	c.Report.Kept++
	job.ID, job.Submit = c.given, job.Submit-c.base
	return job, nil
}

// Base is the time of the first submission in the trace, which became 0.
func (c *Cleaner) Base() int64 { return c.base }

func (c *Cleaner) window() int { return cmp.Or(c.Window, 1<<17) }

// fill reads until the window is full.
func (c *Cleaner) fill() error {
	for !c.ended && len(c.held) < c.window() {
		rec, err := c.Source.Read()
		if err == io.EOF {
			c.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.machine(); err != nil {
			return err
		}
		c.read++
		c.Report.Read++
		job, ok := c.clean(rec)
		if !ok {
			continue
		}
		if job.Submit < c.newest {
			c.Report.OutOfOrder++
		}
		c.newest = max(c.newest, job.Submit)
		heap.Push(&c.held, held{job, c.read})
	}
	return nil
}

// ErrNoSize is the error of a trace whose header does not tell the size of the machine, where nobody else does.
var ErrNoSize = errors.New("no MaxProcs or MaxNodes in the header: the number of processors must be given")

// machine finds the size of the machine in the header.
func (c *Cleaner) machine() error {
	if c.Procs > 0 {
		return nil
	}
	if r, ok := c.Source.(*Reader); ok {
		if n, ok := r.Header.Procs(); ok {
			c.Procs = n
			return nil
		}
	}
	return fmt.Errorf("%s: %w", c.Name, ErrNoSize)
}

// longest is the longest time believed, in seconds: 3,000 years.
const longest = 100_000_000_000

func (c *Cleaner) clean(r Record) (Job, bool) {
	procs := r.Procs
	if procs <= 0 {
		procs = r.ReqProcs
	}
	switch {
	case r.Run <= 0:
		return c.drop(r, &c.Report.NoRunTime, "no run time")
	case procs <= 0:
		return c.drop(r, &c.Report.NoProcs, "no processors")
	case procs > int64(c.Procs):
		return c.drop(r, &c.Report.TooWide, fmt.Sprintf("wants %d processors, the machine has %d", procs, c.Procs))
	case r.Submit < 0:
		return c.drop(r, &c.Report.NoSubmit, "no submission time")
	case max(r.Submit, r.Run) > longest:
		return c.drop(r, &c.Report.Endless, fmt.Sprintf("a time of more than %d s", longest))
	case r.ReqTime <= 0:
		c.Report.NoLimit++
	case r.ReqTime < r.Run:
		c.Report.LimitRaised++
	}
	if r.Status >= 2 && r.Status <= 4 {
		c.Report.Partial++
	}
	return Job{
		Submit: r.Submit, Run: r.Run, Limit: min(max(r.ReqTime, r.Run), longest), Procs: int(procs),
		User: r.User, Group: r.Group, Queue: r.Queue, Partition: r.Partition,
		Memory: r.ReqMemory, Status: r.Status, Original: r.Job, Line: r.Line,
	}, true
}

func (c *Cleaner) drop(r Record, count *int, said string) (Job, bool) {
	*count++
	if c.Problem != nil {
		c.Problem(&LineError{c.Name, r.Line, fmt.Sprintf("job %d dropped: %s", r.Job, said)})
	}
	return Job{}, false
}

// held is a job in the window with its place in the file.
type held struct {
	Job
	place int
}

// window is a heap in order of submission.
type window []held

func (w window) Len() int      { return len(w) }
func (w window) Swap(i, k int) { w[i], w[k] = w[k], w[i] }
func (w window) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(w[i].Submit, w[k].Submit), cmp.Compare(w[i].place, w[k].place)) < 0
}
func (w *window) Push(x any) { *w = append(*w, x.(held)) }
func (w *window) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
