package batch

import (
	"fmt"
	"slices"
)

// Whole is the forecast of all that waits in an engine, in memory of its own.
func Whole(e *Engine, f *Forecaster) *Forecast { return f.forecast(e.c) }

// Exactly is when jobs start, in seconds from a state on, by a scheduler all of whose
// passes are exact, as far ahead as the run goes.
func Exactly(f *Forecaster, s State) (map[string]int64, error) {
	c, err := newCluster(s, f.Policy, &f.users, false)
	if err != nil {
		return nil, err
	}
	run, starts := c.forward(f.belief(), nil), map[string]int64{}
	exact(run)
	for j, ok := run.next(); ok; j, ok = run.next() {
		starts[c.state.Jobs[j.ID].ID] = j.start - c.now
	}
	return starts, nil
}

// exact lets no run go by steps.
func exact(run *forward) {
	switch p := run.m.policy.(type) {
	case *slurm:
		p.near = never
	case *conservative:
		p.near = never
	}
}

// Placed is Exactly with nodes, a line for each job, sorted.
func Placed(f *Forecaster, s State) (lines []string, err error) {
	c, err := newCluster(s, f.Policy, &f.users, false)
	if err != nil {
		return nil, err
	}
	run := c.forward(f.belief(), nil)
	exact(run)
	for j, ok := run.next(); ok; j, ok = run.next() {
		on := map[string]int{}
		for _, share := range j.shares {
			on[c.nodes.at(int(share.node)).Name] = int(share.procs)
		}
		lines = append(lines, fmt.Sprint(c.state.Jobs[j.ID].ID, " ", j.start-c.now, " ", on))
	}
	slices.Sort(lines)
	return lines, nil
}
