package slurm

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/batch"
)

// parts are how the processors of jobs on several nodes lie on them, where
// squeue and the nodes do not tell: each such job is asked about once.
type parts struct {
	mu    sync.Mutex
	known map[string]part // by job
}

// part is where a job that started at a time has its processors.
type part struct {
	started time.Time
	placed  []batch.Placement
}

const (
	mostAsked   = 32 // jobs asked about in one reading: 3 kB each
	askedAtOnce = 4
)

// learn asks about the running jobs of which it is in doubt where their
// processors lie, places those that it knows, and forgets those that are gone.
// What cannot be asked stays as it was guessed.
func (p *parts) learn(ctx context.Context, s *site, jobs []batch.Job, nodes []map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ask := map[string]part{}, []string{}
	for _, i := range doubtful(jobs, nodes) {
		j := &jobs[i]
		if at, ok := p.known[j.ID]; ok && at.started.Equal(j.Started) {
			known[j.ID] = at
		} else if len(ask) < mostAsked {
			ask = append(ask, j.ID)
		}
	}
	told := make([][]batch.Placement, len(ask))
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i, id := range ask {
		group.Go(func() error {
			if text, err := s.Command(ctx, "scontrol", "--oneliner", "--details", "show", "job", id); err == nil {
				told[i] = allocated(text)
			}
			return nil // it may have ended meanwhile
		})
	}
	group.Wait()
	started := map[string]time.Time{}
	for i := range jobs {
		started[jobs[i].ID] = jobs[i].Started
	}
	for i, id := range ask {
		if len(told[i]) > 0 {
			known[id] = part{started[id], told[i]}
		}
	}
	p.known = known
	exact := map[int]bool{}
	for i := range jobs {
		if at, ok := known[jobs[i].ID]; ok && onSame(at.placed, &jobs[i]) {
			jobs[i].Placed, exact[i] = at.placed, true
		}
	}
	if len(exact) > 0 {
		place(jobs, nodes, exact)
	}
}

// onSame tells whether placements are all of a job's processors, on its nodes: what a
// user has called a job may look like one.
func onSame(placed []batch.Placement, j *batch.Job) bool {
	sum, nodes := 0, map[string]bool{}
	for _, p := range j.Placed {
		nodes[p.Node] = true
	}
	for _, p := range placed {
		if sum += p.Procs; !nodes[p.Node] {
			return false
		}
	}
	return sum == j.Procs && len(placed) == len(j.Placed)
}

// doubtful lists the jobs on several nodes of which place can only guess how their
// processors lie: those that share a node with another such job, or do not add
// up to what their nodes have left.
func doubtful(jobs []batch.Job, nodes []map[string]string) (list []int) {
	left, wide := leftOf(jobs, nodes, nil)
	sharers := map[string]int{}
	for _, i := range wide {
		for _, p := range jobs[i].Placed {
			sharers[p.Node]++
		}
	}
	for _, i := range wide {
		sum, shared := 0, false
		for _, p := range jobs[i].Placed {
			sum += left[p.Node]
			shared = shared || sharers[p.Node] > 1
		}
		if shared || sum != jobs[i].Procs {
			list = append(list, i)
		}
	}
	return list
}

// allocated reads where a job's processors lie from the details of "scontrol show
// job": "Nodes=n[1-2] CPU_IDs=0-3,6 Mem=100" for each kind of part.
func allocated(text string) (placed []batch.Placement) {
	var on []string
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "Nodes":
			on = hosts(value)
		case "CPU_IDs":
			n := len(hosts("c[" + value + "]"))
			for _, name := range on[:min(len(on), maxHosts-len(placed))] {
				placed = append(placed, batch.Placement{Node: name, Procs: n})
			}
			on = nil
		}
	}
	return placed
}
