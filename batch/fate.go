package batch

import (
	"slices"
	"time"
)

// fate is how a job left the cluster. It ended well, or otherwise: it was cancelled, ran to its limit, or lost its node.
type fate struct {
	started, ended time.Time // started is zero where it never did
	well           bool
}

// awaits tells whether a job has a dependency of a kind.
func (j *Job) awaits(on Trigger) bool {
	return slices.ContainsFunc(j.After, func(d Dependency) bool { return d.On == on })
}

// settle takes in what became of another that a job may wait for: what is met is a time from which it may
// start on, what is not never will be.
func (j *Job) settle(id string, f fate) {
	var after []Dependency
	for _, d := range j.After {
		switch {
		case d.ID != id || d.On == Never:
			after = append(after, d)
		case d.On == OnSuccess && !f.well, d.On == OnFailure && f.well:
			after = append(after, Dependency{ID: id, On: Never})
		default:
			at := f.ended
			if d.On == OnStart && !f.started.IsZero() {
				at = f.started
			}
			if at = at.Add(d.Delay); at.After(j.Begin) {
				j.Begin = at
			}
		}
	}
	j.After = after
}
