package agent

import (
	"math"
	"slices"

	"gridbroker/forecast/wire"
)

// toldJobs are the local jobs that the scheduler has of a cluster, by name. One state after another
// shares them, as a queue is long and little in it is new: what is on its way comes in once it is taken.
type toldJobs struct {
	of   map[string]*toldJob
	look uint64 // that they were last held against
	seen int    // how many of them that has
	// was and is are those of the look before and of this one, in its order. Little comes between two jobs from look
	// to look: most are found behind the one before, without a search by name.
	was, is []*toldJob
	next    int // in was
	// until is when what was told of one that waits may be another by time alone, in seconds of Unix time.
	until int64
}

// lookOn is behind how many jobs that are gone the next is still found in its order.
const lookOn = 4

// toldJob is one of them, and the last look that had it.
type toldJob struct {
	wire.Entry
	look uint64
}

func newToldJobs() *toldJobs { return &toldJobs{of: map[string]*toldJob{}} }

// begin begins to hold them against a look.
func (t *toldJobs) begin() {
	t.was, t.is = t.is, t.was[:0]
	t.look, t.seen, t.next, t.until = t.look+1, 0, 0, math.MaxInt64
}

// see is what was told of a job that the look has; nothing: it is new.
func (t *toldJobs) see(name string) *wire.Entry {
	j := t.find(name)
	if j == nil {
		return &wire.Entry{}
	}
	if j.look != t.look {
		j.look = t.look
		t.seen++
		t.is = append(t.is, j)
	}
	return &j.Entry
}

func (t *toldJobs) find(name string) *toldJob {
	for k := t.next; k < min(t.next+lookOn, len(t.was)); k++ {
		if j := t.was[k]; j.Task == name {
			t.next = k + 1
			return j
		}
	}
	return t.of[name]
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

// take takes in what the scheduler has taken. Who is gone was not in the last look.
func (t *toldJobs) take(jobs []wire.Entry, gone []string) {
	for _, name := range gone {
		delete(t.of, name)
	}
	for i := range jobs {
		if j := t.of[jobs[i].Task]; j != nil {
			j.Entry = jobs[i]
			continue
		}
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
