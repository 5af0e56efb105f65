package slurm

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// details are what jobs ask for where squeue tells it alike whichever it is: memory with a processor or a node, where Slurm
// gives them more processors than they ask for, and whether all is to be on one node. Each such job that waits is asked about once.
type details struct {
	mu    sync.Mutex
	known map[string]detail // by job; by the id of an array
}

// detail is what is known of one.
type detail struct {
	asked bool
	with  with
	free  bool // it may be on any number of nodes: one is Slurm's own guess
}

// with is what memory is asked with.
type with byte

const (
	withEither with = iota // squeue does not tell
	withProcessor
	withNode
)

// learn asks about the jobs of which it is in doubt, about each by itself or, where these are many, about all jobs at once, and
// forgets those that no longer wait. What cannot be asked stays in doubt.
func (m *details) learn(ctx context.Context, s *site, c *cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ask := map[string]detail{}, []string{}
	for _, id := range c.doubts() {
		if known[id] = m.known[id]; !known[id].asked {
			ask = append(ask, id)
		}
	}
	if len(ask) > mostAsked {
		askAll(ctx, s, known)
	} else {
		askEach(ctx, s, ask, known)
	}
	m.known = known
	for id, what := range known {
		d := c.asked[id]
		d.detail = what
		c.asked[id] = d
	}
}

// doubts lists the jobs of which squeue does not tell all, each array once.
func (c *cluster) doubts() (list []string) {
	threads := c.set.cores && slices.ContainsFunc(c.nodes, func(n map[string]string) bool { return atoi(n["ThreadsPerCore"]) > 1 })
	seen := map[string]bool{}
	for _, e := range c.jobs {
		if id, d, ok := c.demandOf(e.id); ok && !seen[id] && e.waits() && (d.single(e) || (d.perGPU > 0 || threads) && d.alike(e)) {
			list, seen[id] = append(list, id), true
		}
	}
	return list
}

// askEach asks about each of some jobs by itself.
func askEach(ctx context.Context, s *site, ask []string, known map[string]detail) {
	told := make([]detail, len(ask))
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i, id := range ask {
		group.Go(func() error {
			if text, err := s.Command(ctx, "scontrol", "--oneliner", "--details", "show", "job", id); err == nil {
				told[i] = detailed(text)
			}
			return nil // it may have started meanwhile
		})
	}
	group.Wait()
	for i, id := range ask {
		known[id] = told[i]
	}
}

// askAll asks about all jobs and takes in what is told of those that are in doubt.
func askAll(ctx context.Context, s *site, known map[string]detail) {
	_ = s.Lines(ctx, func(line string) error { // what was not told stays in doubt
		job, array, task := "", "", ""
		head, _, _ := strings.Cut(line, " JobName=") // in which a user may write what he likes
		for word := range strings.FieldsSeq(head) {
			switch name, value, _ := strings.Cut(word, "="); name {
			case "JobId":
				job = value
			case "ArrayJobId":
				array = value
			case "ArrayTaskId":
				task = value
			}
		}
		for _, id := range []string{array + "_" + task, array, job} {
			if what, ok := known[id]; ok && !what.asked && strings.Contains(line, "JobState=PENDING") {
				known[id] = detailed(line)
				return nil
			}
		}
		return nil
	}, "scontrol", "--all", "--oneliner", "show", "job")
}

// detailed reads "scontrol show job" of one: "NumNodes=1-1" of a job that asks for a node, "NumNodes=1" of one that does not.
func detailed(text string) (what detail) {
	for word := range strings.FieldsSeq(text) {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "NumNodes":
			what.asked, what.free = true, !strings.Contains(value, "-")
		case "MinMemoryCPU":
			what.with = withProcessor
		case "MinMemoryNode":
			what.with = withNode
		}
	}
	return what
}

// single tells whether squeue tells a job as it would were it to be on one node: it has more processors
// than one, and Slurm guesses that they are.
func (d *demand) single(e *entry) bool {
	return d.nodes == 1 && !d.even && !d.apart && atoi(e.cpus) > 1 && nodeCount(e.nodes) <= 1
}

// demandOf is what a job asks for, and the id by which that is known: a task's may be that of its array.
func (c *cluster) demandOf(job string) (id string, d demand, ok bool) {
	if d, ok = c.asked[job]; ok {
		return job, d, true
	}
	id, _, _ = strings.Cut(job, "_")
	d, ok = c.asked[id]
	return id, d, ok
}

// alike tells whether squeue tells a job's memory as it would were it asked for otherwise: it has one
// processor on each node.
func (d *demand) alike(e *entry) bool {
	mb, told, ok := megabytes(e.memory)
	cpus := atoi(e.cpus)
	return ok && !told && mb > 0 && cpus == d.nodes && d.ofGPU == 0 && d.asProcessor(mb*float64(cpus))
}

// asProcessor tells whether the memory in all is that of so much with each processor.
func (d *demand) asProcessor(sum float64) bool { return math.Abs(d.memory-sum) <= d.memory/100 }

// byProcessor tells whether a job asks for so much memory with each processor, those that it gets beside what it asks
// for included, rather than on each node. Where nothing tells it is by processor where that is usual.
func (d *demand) byProcessor(e *entry, usual float64) bool {
	if e == nil || d.ofGPU > 0 {
		return false
	}
	mb, told, ok := megabytes(e.memory)
	switch {
	case !ok:
		return false
	case told:
		return true
	case d.alike(e):
		return d.with == withProcessor || d.with == withEither && mb == usual
	}
	return d.asProcessor(mb * float64(atoi(e.cpus)))
}
