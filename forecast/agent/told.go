package agent

import (
	"slices"

	"gridbroker/forecast/wire"
)

// toldJobs are the local jobs that the scheduler has of a cluster, by name. One state after another
// shares them, as a queue is long and little in it is new: what is on its way comes in once it is taken.
type toldJobs struct {
	of   map[string]*toldJob
	look uint64 // that they were last held against
	seen int    // how many of them that has
}

// toldJob is one of them, and the last look that had it.
type toldJob struct {
	wire.Entry
	look uint64
}

func newToldJobs() *toldJobs { return &toldJobs{of: map[string]*toldJob{}} }

// begin begins to hold them against a look.
func (t *toldJobs) begin() { t.look, t.seen = t.look+1, 0 }

// see is what was told of a job that the look has; nothing: it is new.
func (t *toldJobs) see(name string) *wire.Entry {
	j := t.of[name]
	if j == nil {
		return &wire.Entry{}
	}
	if j.look != t.look {
		j.look = t.look
		t.seen++
	}
	return &j.Entry
}

// gone are those that the look does not have.
func (t *toldJobs) gone() (list []string) {
	if t.seen == len(t.of) {
		return nil
	}
	for name, j := range t.of {
		if j.look != t.look {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// take takes in what the scheduler has taken.
func (t *toldJobs) take(jobs []wire.Entry, gone []string) {
	for _, name := range gone {
		delete(t.of, name)
	}
	for i := range jobs {
		t.of[jobs[i].Task] = &toldJob{Entry: jobs[i]}
	}
}

// list are all of them.
func (t *toldJobs) list() []wire.Entry {
	list := make([]wire.Entry, 0, len(t.of))
	for _, j := range t.of {
		list = append(list, j.Entry)
	}
	return list
}
