package arcrest

import (
	"maps"
	"sync"
	"time"
)

// details are what a computing element told of jobs beside their states. That is a hundred times as much text, and
// little of it is news as long as a job's state stays: it is asked for the less often the longer the job has had it.
type details struct {
	mu sync.Mutex
	of map[string]detail
}

// detail is what was told of a job.
type detail struct {
	item  jobItem
	live  string    // the state that the job had in the list
	since time.Time // when it was first seen with that state, and with that of the details
	at    time.Time // when it was told
}

const (
	// queuedDetails is how long the details of a job that has not begun are good at most. The list calls it as one
	// that has; A-REX looks at its batch system once a minute where it is not told otherwise.
	queuedDetails = time.Minute
	// runningDetails is how long those of one that runs are good at most: they tell what it has used.
	runningDetails = 5 * time.Minute
	// detailsShare is the part of the time that a job has waited, after which it is looked at again whether it has begun.
	detailsShare = 8
)

// good tells whether what was told of a job, which has that state now, is told again.
func (d *detail) good(live string, now time.Time) bool {
	if d.live != live || live == "" || ended(stateOf(live)) {
		return false
	}
	had, life := now.Sub(d.since), now.Sub(d.at)
	if d.item.Info.rest() == "RUNNING" {
		return life >= 0 && life < min(had, runningDetails)
	}
	return life >= 0 && life < min(had/detailsShare, queuedDetails)
}

// known is what was told of jobs and is good still, and the ids of those that are to be asked about.
func (d *details) known(ids []string, live map[string]string, now time.Time) (known map[string]jobItem, ask []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known = make(map[string]jobItem, len(ids))
	for _, id := range ids {
		if was, ok := d.of[id]; ok && was.good(live[id], now) {
			known[id] = was.item
		} else {
			ask = append(ask, id)
		}
	}
	return known, ask
}

// keep takes in what was told of jobs, and forgets what is too old to be told again.
func (d *details) keep(told map[string]jobItem, live map[string]string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]detail{}
	}
	for id, item := range told {
		since := now
		if was, ok := d.of[id]; ok && was.live == live[id] && was.item.Info.rest() == item.Info.rest() {
			since = was.since
		}
		d.of[id] = detail{item: item, live: live[id], since: since, at: now}
	}
	maps.DeleteFunc(d.of, func(_ string, was detail) bool {
		age := now.Sub(was.at)
		return age < 0 || age >= runningDetails || ended(stateOf(was.live))
	})
}
