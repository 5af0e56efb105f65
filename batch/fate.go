package batch

import (
	"maps"
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

// settle takes in what became of jobs that are gone from the picture, for those that are said to wait for them still.
func (d *difference) settle(jobs []Job, known []bool) {
	gone, wanted := d.l.gone, map[string]bool{}
	for i := range jobs {
		for _, a := range jobs[i].After {
			wanted[a.ID] = true
		}
	}
	maps.DeleteFunc(gone, func(id string, _ fate) bool { return !wanted[id] })
	if len(wanted) == 0 {
		return
	}
	for i := range d.was.Jobs {
		if j := &d.was.Jobs[i]; !known[i] && wanted[j.ID] {
			gone[j.ID] = fate{j.Started, d.now.Now, !j.Started.IsZero()}
		}
	}
	for id, e := range d.ended {
		if wanted[id] {
			gone[id] = fate{e.Started, e.Ended, !e.Started.IsZero() && !e.Cancelled && !e.Failed}
		}
	}
	for i := range jobs {
		delete(gone, jobs[i].ID) // it is there after all
	}
	for i := range jobs {
		for _, a := range jobs[i].After {
			if f, known := gone[a.ID]; known {
				jobs[i].settle(a.ID, f)
			}
		}
	}
}
