package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/swf"
)

// traceInput is an open trace.
type traceInput struct {
	reader     *swf.Reader
	cleaner    *swf.Cleaner
	load       float64
	unreadable int
}

// shownProblems is the number of unusable lines told one by one.
const shownProblems = 5

// openSWF opens a trace, which may be a pipe as long as something writes to it.
func openSWF(path string) (*swf.Reader, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return swf.Open(path)
	}
	f, err := openWithin(path, pipeWait)
	if err != nil {
		return nil, err
	}
	return swf.NewReader(path, spoken{f, madeWait})
}

// openTrace opens a trace; procs 0: its header tells the size of the machine.
func openTrace(d *deps, path string, procs int, load float64) (*traceInput, error) {
	var r *swf.Reader
	var err error
	if path == "-" {
		r, err = swf.NewReader("standard input", d.env.In)
	} else {
		r, err = openSWF(abs(d, path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError(err)
	}
	if err != nil {
		return nil, err
	}
	in := &traceInput{reader: r, load: load}
	in.cleaner = &swf.Cleaner{Source: r, Name: path, Procs: procs}
	r.Problem = func(e *swf.LineError) {
		if in.unreadable++; in.unreadable <= shownProblems {
			sayErr(d, "%v: line skipped", e)
		}
	}
	in.cleaner.Problem = func(e *swf.LineError) {
		if d.verbose > 0 {
			sayErr(d, "%v", e)
		}
	}
	return in, nil
}

func (in *traceInput) close() { in.reader.Close() }

// start reads the first job, by which the size of the machine is known.
func (in *traceInput) start() (swf.Jobs, error) {
	first, err := in.cleaner.Next()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: no usable job in %d lines of jobs, %d unreadable", in.cleaner.Name, in.cleaner.Report.Read, in.unreadable)
	}
	if errors.Is(err, swf.ErrNoSize) {
		return nil, usageError(fmt.Errorf("%w: --procs N", err))
	}
	if err != nil {
		return nil, err
	}
	return func(yield func(swf.Job, error) bool) {
		if yield(first, nil) {
			in.cleaner.All()(yield)
		}
	}, nil
}

// tasks are the jobs as the engine sees them.
func (in *traceInput) tasks(jobs swf.Jobs) iter.Seq2[batch.Task, error] {
	return func(yield func(batch.Task, error) bool) {
		for job, err := range jobs {
			if !yield(in.task(job), err) || err != nil {
				return
			}
		}
	}
}

func (in *traceInput) task(j swf.Job) batch.Task {
	return batch.Task{
		ID: j.ID, Submit: swf.Scale(j.Submit, in.load), Run: j.Run, Limit: j.Limit, Procs: j.Procs, User: j.User,
	}
}

func (in *traceInput) result(policy string, s *batch.Summary, took time.Duration) *queueRun {
	run := &queueRun{
		Policy: policy, Procs: s.Procs, All: s.Total(), Classes: s.Classes(), Makespan: s.Makespan(),
		Utilisation: s.Utilisation(), Trace: in.cleaner.Report, Unreadable: in.unreadable, Elapsed: took.Seconds(), summary: s,
	}
	if took > 0 {
		run.JobsPerSec = float64(run.All.Jobs) / took.Seconds()
	}
	return run
}

// writeStarts writes a line "job start" for every job, in order of the jobs.
func writeStarts(path string, starts []int64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(file)
	var line []byte
	for i, start := range starts {
		line = append(strconv.AppendInt(line[:0], int64(i+1), 10), ' ')
		line = append(strconv.AppendInt(line, start, 10), '\n')
		buf.Write(line) // an error comes back from Flush
	}
	return errors.Join(buf.Flush(), file.Close())
}
