package batch

import (
	"fmt"
	"strings"
)

// Belief says how long jobs will really run.
type Belief interface {
	// Run is the believed run time in seconds of a job that has run for
	// elapsed seconds and has not ended (0: has not started). It is more
	// than elapsed.
	Run(t *Task, elapsed int64) int64
	// Learn takes in a job that has ended after Run seconds.
	Learn(t *Task)
}

// BeliefNames lists the beliefs NewBelief knows.
func BeliefNames() []string { return []string{"estimate", "last-two", "history", "similar", "perfect"} }

// NewBelief makes a belief that has learned nothing yet.
func NewBelief(name string) (Belief, error) {
	switch name {
	case "estimate":
		return Estimate{}, nil
	case "last-two":
		return NewLastTwo(), nil
	case "history":
		return NewHistory(), nil
	case "similar":
		return NewSimilar(), nil
	case "perfect":
		return Perfect{}, nil
	}
	return nil, fmt.Errorf("belief %q: want one of %s", name, strings.Join(BeliefNames(), ", "))
}

// Estimate believes what the owner asked for.
type Estimate struct{}

// Run implements Belief.
func (Estimate) Run(t *Task, elapsed int64) int64 { return max(t.Limit, elapsed+1) }

// Learn implements Belief.
func (Estimate) Learn(*Task) {}

// Perfect knows; it is for simulations only.
type Perfect struct{}

// Run implements Belief.
func (Perfect) Run(t *Task, elapsed int64) int64 { return max(t.Run, elapsed+1) }

// Learn implements Belief.
func (Perfect) Learn(*Task) {}

// LastTwo believes the mean of the user's last two run times, never more than
// the limit, and the limit where there are none (Tsafrir, Etsion, Feitelson
// 2007, "Backfilling using system-generated predictions rather than user
// runtime estimates"). A job that has outrun the belief is believed to run
// to its limit.
type LastTwo struct{ last map[int64][2]int64 }

// NewLastTwo has seen no job.
func NewLastTwo() *LastTwo { return &LastTwo{map[int64][2]int64{}} }

// Run implements Belief.
func (b *LastTwo) Run(t *Task, elapsed int64) int64 {
	run, limit := t.Limit, max(t.Limit, elapsed+1)
	if last, ok := b.last[t.User]; ok {
		if run = last[0]; last[1] > 0 {
			run = (last[0] + last[1]) / 2
		}
	}
	if run <= elapsed {
		run = limit
	}
	return min(max(run, 1), limit)
}

// Learn implements Belief.
func (b *LastTwo) Learn(t *Task) { b.last[t.User] = [2]int64{t.Run, b.last[t.User][0]} }
