package daemon

import (
	"time"

	"gridbroker/forecast/managers"
)

// acquaintance is a broker whose jobs are here.
type acquaintance struct {
	asked   bool      // the last report is not answered yet
	answers bool      // the one before was
	heard   time.Time // when it last answered, or came to be known
}

// What a manager does for brokers that do not answer: so many are waited for at
// a time, and after so long their jobs do not wait here any more. Who comes back
// hands them in again.
const (
	maxReports    = 64
	maxAnswering  = 1000 // that answered the last time are asked at once; the others when these have answered
	brokerSilence = 10 * time.Minute
)

// due is what is to be reported now: nothing to brokers that have yet to answer
// the last report, and to some only of those that did not answer it.
func (d *Daemon) due() map[string]*Report {
	all := d.reports()
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.brokers {
		if all[name] == nil {
			delete(d.brokers, name)
		}
	}
	busy, answering := 0, 0
	for _, a := range d.brokers {
		switch {
		case a.asked && a.answers:
			answering++
		case a.asked:
			busy++
		}
	}
	due := map[string]*Report{}
	for name, r := range all {
		a := d.brokers[name]
		if a == nil {
			a = &acquaintance{heard: time.Now()}
			d.brokers[name] = a
		}
		if time.Since(a.heard) > brokerSilence {
			forget(d, name, r)
		}
		switch {
		case a.asked, len(r.Waiting)+len(r.Running) == 0:
		case a.answers && answering < maxAnswering:
			answering, a.asked, due[name] = answering+1, true, r
		case a.answers:
		case busy < maxReports:
			busy, a.asked, due[name] = busy+1, true, r
		}
	}
	return due
}

// maxHold bounds for how long the resources of a job are held whose broker is silent.
const maxHold = 24 * time.Hour

// overdue returns the jobs with resources whose brokers have been silent for longer
// than these jobs may run: their wall time, a day where they have none or a longer one.
func overdue(d *Daemon) (list []managers.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for job, a := range d.held {
		most := maxHold
		if wall := a.Job.Need.Wall; wall > 0 && wall < int64(maxHold/time.Second) {
			most = max(brokerSilence, time.Duration(wall)*time.Second)
		}
		if b := d.brokers[a.Job.Broker]; a.Granted && b != nil && time.Since(b.heard) > most {
			list = append(list, job)
		}
	}
	return list
}

// forget takes jobs out of the queue of whose broker nothing was heard, and
// leaves them out of the report; the mutex is held.
func forget(d *Daemon, broker string, r *Report) {
	if len(r.Waiting) > 0 {
		d.config.Log.Warn("jobs of a silent broker do not wait any more", "broker", broker, "jobs", len(r.Waiting))
	}
	d.manager.Withdraw(of(broker, r.Waiting)...)
	r.Waiting = nil
}

// report tells a broker which of its jobs are here and does what it orders.
func (d *Daemon) report(broker string, r *Report) {
	var orders Orders
	err := call(d.ctx, d.config.Client, broker+"/v1/report", r, &orders, callPatience)
	if err != nil {
		d.config.Log.Warn("report not taken", "broker", broker, "cause", err)
	} else {
		for _, job := range of(broker, among(orders.Ended, r.Running)) {
			d.release(job)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.brokers[broker]; a != nil {
		a.asked, a.answers = false, err == nil
		if err == nil {
			a.heard = time.Now()
			d.guests.present(broker)
		}
	}
	d.manager.Withdraw(of(broker, among(orders.Drop, r.Waiting))...)
}

// of are jobs of one broker.
func of(broker string, ids []managers.ID) (list []managers.Key) {
	for _, id := range ids {
		list = append(list, managers.Key{Broker: broker, ID: id})
	}
	return list
}

// among returns what a broker ordered of the jobs that it was told of: those of
// others are not its business.
func among(ordered, told []managers.ID) (list []managers.ID) {
	own := make(map[managers.ID]bool, len(told))
	for _, id := range told {
		own[id] = true
	}
	for _, id := range ordered {
		if own[id] {
			list, own[id] = append(list, id), false
		}
	}
	return list
}
