package slurm

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// memories are what jobs ask memory with, a processor or a node, where squeue tells both alike and Slurm
// gives them more processors than they ask for: each such job that waits is asked about once.
type memories struct {
	mu    sync.Mutex
	known map[string]with // by job; by the id of an array
}

// with is what memory is asked with.
type with byte

const (
	withEither with = iota // squeue does not tell
	withProcessor
	withNode
)

// learn asks about the jobs of which it is in doubt, up to so many in one reading, and forgets those
// that no longer wait. What cannot be asked stays in doubt.
func (m *memories) learn(ctx context.Context, s *site, c *cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	threads := c.set.cores && slices.ContainsFunc(c.nodes, func(n map[string]string) bool { return atoi(n["ThreadsPerCore"]) > 1 })
	known, ask := map[string]with{}, []string{}
	for _, e := range c.jobs {
		id, d, ok := c.demandOf(e.id)
		if _, seen := known[id]; !ok || seen || !e.waits() || d.perGPU == 0 && !threads || !d.alike(e) {
			continue
		}
		if known[id] = m.known[id]; known[id] == withEither && len(ask) < mostAsked {
			ask = append(ask, id)
		}
	}
	told := make([]with, len(ask))
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i, id := range ask {
		group.Go(func() error {
			if text, err := s.Command(ctx, "scontrol", "--oneliner", "--details", "show", "job", id); err == nil {
				told[i] = memoryWith(text)
			}
			return nil // it may have started meanwhile
		})
	}
	group.Wait()
	for i, id := range ask {
		known[id] = told[i]
	}
	m.known = known
	for id, with := range known {
		d := c.asked[id]
		d.with = with
		c.asked[id] = d
	}
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

// memoryWith reads what memory is asked with from "scontrol show job".
func memoryWith(text string) with {
	for word := range strings.FieldsSeq(text) {
		switch name, _, _ := strings.Cut(word, "="); name {
		case "MinMemoryCPU":
			return withProcessor
		case "MinMemoryNode":
			return withNode
		}
	}
	return withEither
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
