package desk

import (
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// Answer grants the first offer for a job whose user is there, and the same again; every other is refused.
func (d *Desk) Answer(o daemon.Offer) daemon.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobs[o.Job]
	switch {
	case j == nil || j.Ended != 0:
		return daemon.Answer{Ended: true}
	case j.manager() == "" && !d.away(j):
		d.grant(j, place{o.Manager, o.System})
	}
	return daemon.Answer{Granted: j.manager() == o.Manager}
}

// Orders takes a report in and says what the manager is to let go.
func (d *Desk) Orders(r daemon.Report) (o daemon.Orders) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range r.Waiting {
		j := d.jobs[id]
		switch {
		case j == nil || j.Ended != 0 || j.manager() != "":
			o.Drop = append(o.Drop, id)
		case d.away(j):
			o.Drop, j.handed = append(o.Drop, id), 0
		case strays(j, time.Now()):
			o.Drop = append(o.Drop, id)
			j.handed, j.heard = 0, time.Now().Add(again-d.config.Lease) // when it is dropped
		default:
			j.heard = time.Now()
		}
	}
	for _, id := range r.Running {
		if j := d.jobs[id]; j == nil || j.Ended != 0 || j.manager() != r.Manager {
			o.Ended = append(o.Ended, id)
		}
	}
	return o
}

// again is after how long a job that was dropped to get another age is handed in again.
const again = 3 * time.Second

// see does what is due: places that nobody has claimed in time are given back, jobs whose users are there are in the tree, and
// what nobody wants any more is forgotten.
func (d *Desk) see() {
	in := d.due()
	for len(in) > 0 {
		n := min(len(in), atOnce)
		if err := d.config.HandIn(in[:n]); err != nil {
			d.config.Log.Warn("jobs of users not handed in", "jobs", n, "cause", err)
			d.sooner(in[:n])
		}
		in = in[n:]
	}
}

// atOnce is how many jobs are handed in together.
const atOnce = 10_000

// due are the jobs to be handed in now.
func (d *Desk) due() (in []managers.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	var old, over, wait []*job
	for _, j := range d.jobs {
		switch {
		case j.Ended != 0:
			if now.Sub(time.UnixMilli(j.Ended)) > keptEnded {
				old = append(old, j)
			}
		case j.Claimed != nil:
			if now.Sub(j.asked) > holds(j) {
				j.Gone = true
				over = append(over, j)
			}
		case j.offered != nil:
			if now.Sub(j.since) > d.config.Patience {
				d.giveBack(j)
			}
		case d.away(j):
			if now.Sub(time.UnixMilli(j.Submitted)) > keptUnseen && (j.asked.IsZero() || now.Sub(j.asked) > keptUnseen) {
				old = append(old, j)
			}
		default:
			wait = append(wait, j)
		}
	}
	d.shared.run(func() { share(wait, now) })
	for _, j := range wait {
		if now.Sub(j.heard) > d.config.Lease {
			j.attempt, j.heard, j.handed = j.attempt+1, now, j.enter
			in = append(in, managers.Job{ID: j.ID, Broker: d.config.Manager, Need: j.Need, Priority: j.Priority, Submitted: j.enter, Attempt: j.attempt})
		}
	}
	d.forget(old)
	if err := d.close(over); err != nil {
		d.config.Log.Error("places of users who are gone are not given back", "error", err)
	}
	return in
}

// For so long a place that was claimed is held for a user of whom nothing is heard: the job's wall time, at least
// the least, and a day where it has none or a longer one. Managers do the same with brokers.
const (
	leastHold = 10 * time.Minute
	mostHold  = 24 * time.Hour
)

func holds(j *job) time.Duration {
	if j.Need.Wall <= 0 || j.Need.Wall > int64(mostHold/time.Second) {
		return mostHold
	}
	return max(leastHold, time.Duration(j.Need.Wall)*time.Second)
}

// giveBack tells the manager that a job's place is free, if it has one; the mutex is held.
func (d *Desk) giveBack(j *job) {
	manager := j.manager()
	j.offered, j.heard, j.handed = nil, time.Time{}, 0
	if manager != "" {
		go d.config.Ended(manager, j.ID) // who does not hear it is told in the answer to its next report
	}
}

// sooner has jobs that were not taken handed in before their time.
func (d *Desk) sooner(list []managers.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range list {
		if j := d.jobs[list[i].ID]; j != nil {
			j.heard = time.Now().Add(-d.config.Lease * 3 / 4)
		}
	}
}
