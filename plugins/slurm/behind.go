package slurm

import (
	"time"

	"gridbroker/batch"
)

// planStep is to how much Slurm's backfill rounds the starts that it plans, by default (bf_resolution).
const planStep = time.Minute

// mostBehind bounds how many others a job is planned behind.
const mostBehind = 64

// behind are who has, or is planned to have, each node, so that it can be told behind whose
// ends Slurm plans a job: it counts with limits, and most end sooner.
type behind struct {
	jobs  []batch.Job
	nodes [][]string       // of each job, those that it has or is planned to have
	ends  []time.Time      // by their limits
	on    map[string][]int // jobs by node, of which an end is known
}

func (c *cluster) behind(now time.Time, jobs []batch.Job, said map[string]*entry) *behind {
	b := &behind{jobs, make([][]string, len(jobs)), make([]time.Time, len(jobs)), map[string][]int{}}
	for i := range jobs {
		j, e := &jobs[i], said[jobs[i].ID]
		if e == nil {
			continue
		}
		b.nodes[i], b.ends[i] = c.planned(j), unix(e.end)
		if j.Held || j.Unfit != "" || j.Suspended || !j.Deadline.IsZero() || !b.ends[i].After(now) || e.waits() && !e.plan().After(now) {
			continue // nobody knows when it ends, or whether it starts
		}
		for _, name := range b.nodes[i] {
			b.on[name] = append(b.on[name], i)
		}
	}
	return b
}

// planned are the nodes of a job that runs, and those on which Slurm plans one that waits; none
// where squeue's column is too narrow for them.
func (c *cluster) planned(j *batch.Job) (names []string) {
	if j.Started.IsZero() {
		_, d, _ := c.demandOf(j.ID)
		return hosts(d.planned)
	}
	for _, p := range j.Placed {
		names = append(names, p.Node)
	}
	return names
}

// whom tells behind whose ends a job is planned to start at a time: they are the last to have its nodes before that, by
// their limits. Slurm takes ends together, the more the farther off they are, so that its plan may be some time behind the
// last of them: none are told where that is more than half of the time until then.
func (b *behind) whom(i int, now, at time.Time) (after []batch.Dependency) {
	var last time.Time
	seen, all := map[int]bool{i: true}, []int{}
	for _, name := range b.nodes[i] {
		for _, k := range b.on[name] {
			if end := b.ends[k]; !seen[k] && !end.After(at) {
				seen[k], all, last = true, append(all, k), later(last, end)
			}
		}
	}
	if at.Sub(last) > max(planStep, at.Sub(now)/2) {
		return nil
	}
	for _, k := range all {
		if b.ends[k].After(last.Add(-planStep)) && len(after) < mostBehind {
			after = append(after, batch.Dependency{ID: b.jobs[k].ID, On: batch.OnEnd})
		}
	}
	return after
}
