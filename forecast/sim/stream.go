package sim

import (
	"container/heap"
	"errors"
	"io"
	"math"
	"math/rand/v2"

	"gridbroker/batch/swf"
)

// stream gives jobs in the order of their submission, each once, and keeps none of those that it has given: what a run needs grows
// with the jobs under way, not with all that it has.
type stream interface {
	// next is the next job; io.EOF behind the last.
	next() (job, error)
}

// extent is what all jobs of a stream have together: known when they have been seen once.
type extent struct {
	count       int
	first, last int64 // submissions
	area        float64
	widest      int
}

// add takes one more in.
func (e *extent) add(j *job) {
	if e.count == 0 {
		e.first = j.submit
	}
	e.count, e.last = e.count+1, j.submit
	e.area += float64(j.run) * float64(j.procs)
	e.widest = max(e.widest, j.procs)
}

// extentOf goes through a stream to its end.
func extentOf(s stream) (e extent, err error) {
	for {
		j, err := s.next()
		if errors.Is(err, io.EOF) {
			return e, nil
		}
		if err != nil {
			return e, err
		}
		e.add(&j)
	}
}

// stretched is when what was submitted then is with gaps such that the jobs ask for so many processors on average.
func (e *extent) stretched(submit int64, procs float64) int64 {
	span := float64(max(1, e.last-e.first))
	return int64(min(float64(submit-e.first)/span*e.area/procs, math.MaxInt64/4))
}

// stretch is a stream with that extent, with such gaps.
func (e extent) stretch(s stream, procs float64) stream {
	return changed{s, func(j *job) { j.submit = e.stretched(j.submit, procs) }}
}

// none is a stream without jobs.
type none struct{}

func (none) next() (job, error) { return job{}, io.EOF }

// model draws so many jobs by Lublin and Feitelson's model.
type model struct {
	swf.Lublin
	left   int
	maxRun int64 // 0: as the model has it
}

func (m *model) next() (job, error) {
	if m.left == 0 {
		return job{}, io.EOF
	}
	m.left--
	j := m.Next()
	if m.maxRun > 0 {
		j.Run, j.Limit = min(j.Run, m.maxRun), min(j.Limit, m.maxRun)
	}
	return job{submit: j.Submit, run: max(1, j.Run), limit: max(60, j.Limit), procs: j.Procs}, nil
}

// changed gives the jobs of another stream, each changed.
type changed struct {
	stream
	change func(*job)
}

func (c changed) next() (job, error) {
	j, err := c.stream.next()
	if err == nil {
		c.change(&j)
	}
	return j, err
}

// firsts gives so many of another stream.
type firsts struct {
	stream
	left int
}

func (f *firsts) next() (job, error) {
	if f.left == 0 {
		return job{}, io.EOF
	}
	f.left--
	return f.stream.next()
}

// upTo gives those of another stream that are submitted until a time.
type upTo struct {
	stream
	until int64
}

func (u upTo) next() (job, error) {
	j, err := u.stream.next()
	if err == nil && j.submit > u.until {
		err = io.EOF
	}
	return j, err
}

// shaker moves submissions by up to a minute, so that seeds differ by chance alone, and puts the jobs in order again.
type shaker struct {
	stream
	rng   *rand.Rand
	held  heldJobs
	read  int
	after int64 // what is still to be read is submitted no earlier
	end   error // of the stream
}

// shakenBy is by how many seconds at most.
const shakenBy = 60

func (s *shaker) next() (job, error) {
	for s.end == nil && (len(s.held) == 0 || s.held[0].submit > s.after) {
		j, err := s.stream.next()
		if err != nil {
			s.end = err
			break
		}
		s.after = max(0, j.submit-shakenBy)
		j.submit = max(0, j.submit+s.rng.Int64N(2*shakenBy+1)-shakenBy)
		heap.Push(&s.held, heldJob{j, s.read})
		s.read++
	}
	if len(s.held) == 0 || s.end != nil && !errors.Is(s.end, io.EOF) {
		return job{}, s.end
	}
	return heap.Pop(&s.held).(heldJob).job, nil
}

// heldJob is one that others may come before, with its place in its stream.
type heldJob struct {
	job
	place int
}

// heldJobs are a heap of them, the first submitted on top.
type heldJobs []heldJob

func (h heldJobs) Len() int { return len(h) }
func (h heldJobs) Less(i, j int) bool {
	return h[i].submit < h[j].submit || h[i].submit == h[j].submit && h[i].place < h[j].place
}
func (h heldJobs) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a job.
func (h *heldJobs) Push(x any) { *h = append(*h, x.(heldJob)) }

// Pop removes the last one.
func (h *heldJobs) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
