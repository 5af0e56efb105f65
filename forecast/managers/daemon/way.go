package daemon

import (
	"slices"
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
	Broker  string    `json:"broker"` // whose job it is
	At      time.Time `json:"at"`     // by the manager's clock
	Did     Did       `json:"did"`
	To      string    `json:"to,omitempty"` // of SentOn: the neighbour
	Hops    int       `json:"hops"`         // links that the job has gone over so far
	Attempt int       `json:"attempt"`      // which hand-in of its broker's that was
}

// Way is what a manager did with one job, in order; where several brokers have a job of that name, with one after the other.
type Way struct {
	Steps []Step `json:"steps"`
}

// ways are those of the jobs of this wayTime, and of the one before. The daemon's mutex is held.
type ways struct {
	is, before map[managers.Key][]Step
	turned     time.Time
}

// note adds a step.
func (w *ways) note(j *managers.Job, did Did, to string) {
	at := time.Now()
	if w.is == nil || len(w.is) >= maxWays || at.Sub(w.turned) > wayTime {
		w.is, w.before, w.turned = map[managers.Key][]Step{}, w.is, at
	}
	job := j.Key()
	steps, ok := w.is[job]
	if !ok {
		steps = w.before[job]
		delete(w.before, job)
	}
	step := Step{Broker: j.Broker, At: at.UTC().Truncate(time.Millisecond), Did: did, To: to, Hops: j.Hops, Attempt: j.Attempt}
	if len(steps) >= maxSteps {
		copy(steps[maxSteps/2:], steps[maxSteps/2+1:])
		steps = steps[:maxSteps-1]
	}
	w.is[job] = append(steps, step)
}

// maxNamesakes bounds of how many brokers' jobs of one name the ways are told.
const maxNamesakes = 16

// of is the way here of the jobs of a name.
func (w *ways) of(id managers.ID) (steps []Step) {
	var brokers []string
	for _, list := range []map[managers.Key][]Step{w.is, w.before} {
		for job := range list {
			if job.ID == id {
				brokers = append(brokers, job.Broker)
			}
		}
	}
	slices.Sort(brokers)
	for _, broker := range brokers[:min(len(brokers), maxNamesakes)] {
		job := managers.Key{Broker: broker, ID: id}
		steps = append(append(steps, w.is[job]...), w.before[job]...)
	}
	return steps
}

// WayOf is what a manager did with a job.
func WayOf(d *Daemon, id managers.ID) Way {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Way{append([]Step{}, d.ways.of(id)...)}
}
