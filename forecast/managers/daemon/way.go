package daemon

import (
	"time"

	"gridbroker/forecast/managers"
)

// A manager remembers for a while what it did with jobs, so that their ways through the tree can be told.
const (
	wayTime  = time.Hour
	maxWays  = 20_000 // jobs within wayTime; where there are more the older ones are forgotten
	maxSteps = 32     // of a job at one manager; the first and the last ones are kept
)

// Did is what a manager did with a job.
type Did string

// What managers do with jobs.
const (
	HandedIn Did = "handed_in" // it took the job from its broker
	SentOn   Did = "sent_on"   // it sent the job to a neighbour
	Offered  Did = "offered"   // it offers the broker resources for it
	Granted  Did = "granted"   // the broker starts it here
	Freed    Did = "freed"     // its resources are free again: it has ended, or the broker does not want them
)

// Step is one of a job's way.
type Step struct {
	At      time.Time `json:"at"` // by the manager's clock
	Did     Did       `json:"did"`
	To      string    `json:"to,omitempty"` // of SentOn: the neighbour
	Hops    int       `json:"hops"`         // links that the job has gone over so far
	Attempt int       `json:"attempt"`      // which hand-in of its broker's that was
}

// Way is what a manager did with one job, in order.
type Way struct {
	Steps []Step `json:"steps"`
}

// ways are those of the jobs of this wayTime, and of the one before. The daemon's mutex is held.
type ways struct {
	is, before map[managers.ID][]Step
	turned     time.Time
}

// note adds a step.
func (w *ways) note(j *managers.Job, did Did, to string) {
	at := time.Now()
	if w.is == nil || len(w.is) >= maxWays || at.Sub(w.turned) > wayTime {
		w.is, w.before, w.turned = map[managers.ID][]Step{}, w.is, at
	}
	steps, ok := w.is[j.ID]
	if !ok {
		steps = w.before[j.ID]
		delete(w.before, j.ID)
	}
	step := Step{At: at.UTC().Truncate(time.Millisecond), Did: did, To: to, Hops: j.Hops, Attempt: j.Attempt}
	if len(steps) >= maxSteps {
		copy(steps[maxSteps/2:], steps[maxSteps/2+1:])
		steps = steps[:maxSteps-1]
	}
	w.is[j.ID] = append(steps, step)
}

// of is a job's way here.
func (w *ways) of(id managers.ID) []Step {
	if steps, ok := w.is[id]; ok {
		return steps
	}
	return w.before[id]
}

// WayOf is what a manager did with a job.
func WayOf(d *Daemon, id managers.ID) Way {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Way{append([]Step{}, d.ways.of(id)...)}
}
