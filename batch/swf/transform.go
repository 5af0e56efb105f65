package swf

import (
	"container/heap"
	"io"
	"iter"
	"math/rand/v2"
)

// Jobs is a stream of jobs in order of submission, the first at time 0,
// numbered from 1. An error ends it.
type Jobs = iter.Seq2[Job, error]

// All is the rest of the cleaner's jobs.
func (c *Cleaner) All() Jobs {
	return func(yield func(Job, error) bool) {
		for {
			job, err := c.Next()
			if err == io.EOF || !yield(job, err) || err != nil {
				return
			}
		}
	}
}

// Generated is the first n jobs of the model.
func (l *Lublin) Generated(n int) Jobs {
	return func(yield func(Job, error) bool) {
		for range n {
			if !yield(l.Next(), nil) {
				return
			}
		}
	}
}

// Scale divides a time of submission by a load factor: 1.25 makes the jobs
// come in 1/1.25 of the time and so raises the load by a quarter. What the
// jobs are is not changed. Times are cut to whole seconds.
func Scale(submit int64, load float64) int64 {
	if load == 1 {
		return submit
	}
	return int64(float64(submit) / load)
}

// Scaled divides all times of submission by a load factor.
func Scaled(jobs Jobs, load float64) Jobs {
	return func(yield func(Job, error) bool) {
		for j, err := range jobs {
			if j.Submit = Scale(j.Submit, load); !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// Shake moves every submission by a random time of up to span seconds either
// way and puts the jobs in order again, the first at time 0. One trace gives
// many such workloads, which tell a policy's quality from the accidents of
// one log (Tsafrir, Ouaknine, Feitelson 2007, "Reducing performance evaluation
// sensitivity and variability by input shaking"). Only the jobs of twice the
// span are held in memory.
func Shake(jobs Jobs, span int64, seed uint64) Jobs {
	rng := rand.New(rand.NewPCG(seed, 0x5bd1e995))
	return ordered(func(yield func(moved, error) bool) {
		place := 0
		for j, err := range jobs {
			sure := j.Submit - span // no later job is moved ahead of this
			if span > 0 && err == nil {
				j.Submit += rng.Int64N(2*span+1) - span
			}
			if place++; !yield(moved{held{j, place}, sure}, err) || err != nil {
				return
			}
		}
	})
}

// moved is a job that may stand ahead of others in time; neither it nor any
// later one is submitted ahead of the time sure.
type moved struct {
	held
	sure int64
}

// ordered puts jobs in order that come nearly in order. Times are moved so
// that the first is 0, and jobs are numbered anew.
func ordered(jobs iter.Seq2[moved, error]) Jobs {
	return func(yield func(Job, error) bool) {
		var wait window
		number, base := int64(0), int64(0)
		give := func() bool {
			j := heap.Pop(&wait).(held).Job
			if number++; number == 1 {
				base = j.Submit
			}
			j.ID, j.Submit = number, j.Submit-base
			return yield(j, nil)
		}
		for m, err := range jobs {
			if err != nil {
				yield(Job{}, err)
				return
			}
			for len(wait) > 0 && wait[0].Submit < m.sure {
				if !give() {
					return
				}
			}
			heap.Push(&wait, m.held)
		}
		for len(wait) > 0 && give() {
		}
	}
}

// Merge makes one workload of several clusters' traces, all beginning at time
// 0, with the cluster's number (from 1) as the partition; of jobs submitted at
// one moment those of the first trace come first. Users, groups and queues of
// different traces are kept apart by numbering them anew.
func Merge(traces ...Jobs) Jobs {
	return func(yield func(Job, error) bool) {
		var users, groups, queues renumber
		heads := make([]head, 0, len(traces))
		defer func() {
			for _, h := range heads {
				h.stop()
			}
		}()
		for _, jobs := range traces {
			next, stop := iter.Pull2(jobs)
			h := head{next: next, stop: stop}
			h.pull()
			heads = append(heads, h)
		}
		for number := int64(1); ; number++ {
			i := first(heads)
			if i < 0 {
				return
			}
			j, err := heads[i].job, heads[i].err
			j.ID, j.Partition = number, int64(i+1)
			j.User, j.Group, j.Queue = users.of(i, j.User), groups.of(i, j.Group), queues.of(i, j.Queue)
			if !yield(j, err) || err != nil {
				return
			}
			heads[i].pull()
		}
	}
}

// head is the next job of one of several traces.
type head struct {
	job  Job
	err  error
	more bool
	next func() (Job, error, bool)
	stop func()
}

func (h *head) pull() { h.job, h.err, h.more = h.next() }

// first is the trace whose head is submitted first; -1: all are at an end.
func first(heads []head) int {
	best := -1
	for i := range heads {
		if h := &heads[i]; h.more && (best < 0 || h.err != nil || h.job.Submit < heads[best].job.Submit) {
			if best = i; h.err != nil {
				return i
			}
		}
	}
	return best
}

// renumber gives numbers to pairs of trace and number; unknown stays so.
type renumber struct{ numbers map[[2]int64]int64 }

func (r *renumber) of(trace int, n int64) int64 {
	if n < 0 {
		return n
	}
	if r.numbers == nil {
		r.numbers = map[[2]int64]int64{}
	}
	key := [2]int64{int64(trace), n}
	if _, ok := r.numbers[key]; !ok {
		r.numbers[key] = int64(len(r.numbers) + 1)
	}
	return r.numbers[key]
}
