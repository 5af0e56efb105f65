package daemon

import (
	"crypto/tls"
	"time"

	"gridbroker/forecast/managers"
)

const (
	offerPatience = time.Minute // for a broker that does not answer an offer
	callPatience  = 10 * time.Second
)

// offers begins to offer what an assignment is now, while the mutex is held.
func offers(d *Daemon, a assignment) { d.work.Go(func() { d.offer(a) }) }

// offer asks a job's broker whether it starts the job here. Resources are held
// until it refuses, says that the job has ended, does not answer for too long, or
// is silent for longer than the job it has granted may take (overdue).
func (d *Daemon) offer(a assignment) {
	o := Offer{Job: a.Job.ID, Attempt: a.Job.Attempt, Manager: d.config.Name, System: d.config.System}
	for began := time.Now(); d.ctx.Err() == nil && holds(d, &a.Job); {
		var answer Answer
		err := call(d.ctx, d.config.Client, a.Job.Broker+"/v1/offer", o, &answer, callPatience)
		heard(d, a.Job.Broker, err == nil)
		switch {
		case !holds(d, &a.Job): // what was said is of no other attempt
			return
		case err == nil && answer.Granted && !answer.Ended:
			d.granted(a.Job.Key())
			return
		case err == nil:
			d.release(a.Job.Key())
			return
		case !a.Granted && time.Since(began) > offerPatience:
			abandon(d, &a.Job)
			return
		}
		d.config.Log.Warn("offer not answered", "job", a.Job.ID, "cause", err)
		select {
		case <-d.ctx.Done():
		case <-time.After(d.config.Beat):
		}
	}
}

// holds says whether a job has resources here still: it may have had its time while its broker was silent.
func holds(d *Daemon, j *managers.Job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.held[j.Key()]
	return a != nil && a.Job.Attempt == j.Attempt
}

func (d *Daemon) granted(job managers.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.held[job]; a != nil && !a.Granted {
		a.Granted = true
		d.ways.note(&a.Job, Granted, "")
		if err := d.keep.put(d.held, a); err != nil {
			d.config.Log.Error("grant not kept", "job", job.ID, "broker", job.Broker, "error", err)
		}
	}
}

// heard remembers whether a broker answers.
func heard(d *Daemon, broker string, answers bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answers {
		d.guests.present(broker)
	} else {
		d.guests.missed(broker)
	}
}

// abandon gives the resources of a job back whose broker has not answered its offer
// at all; what waits here of that broker does not wait any more.
func abandon(d *Daemon, j *managers.Job) {
	d.config.Log.Warn("an offer was never answered: its resources are free", "job", j.ID, "broker", j.Broker)
	d.release(j.Key())
	d.mu.Lock()
	defer d.mu.Unlock()
	var gone []managers.Key
	for _, w := range d.manager.Waiting() {
		if w.Broker == j.Broker {
			gone = append(gone, w.Key())
		}
	}
	d.manager.Withdraw(gone...)
}

// reportForever tells every broker which of its jobs are here, and sees to what
// could not be kept.
func (d *Daemon) reportForever() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-time.After(d.config.Beat):
		}
		reopen(d)
		for _, job := range overdue(d) {
			d.config.Log.Warn("a silent broker's job has had its time: its resources are free", "job", job.ID, "broker", job.Broker)
			d.release(job)
		}
		for broker, r := range d.due() {
			d.work.Go(func() { d.report(broker, r) })
		}
	}
}

func (d *Daemon) reports() map[string]*Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	byBroker := map[string]*Report{}
	at := func(broker string) *Report {
		if byBroker[broker] == nil {
			byBroker[broker] = &Report{Manager: d.config.Name}
		}
		return byBroker[broker]
	}
	for _, j := range d.manager.Waiting() {
		r := at(j.Broker)
		r.Waiting = append(r.Waiting, j.ID)
	}
	for job, a := range d.held {
		if a.Granted {
			r := at(job.Broker)
			r.Running = append(r.Running, job.ID)
		}
	}
	return byBroker
}

// ask asks a job's broker about it, since somebody says that it has ended.
func (d *Daemon) ask(job managers.Key) {
	d.mu.Lock()
	a := d.held[job]
	d.mu.Unlock()
	if a != nil {
		d.report(job.Broker, &Report{Manager: d.config.Name, Running: []managers.ID{job.ID}})
	}
}

// ownJob is the job of who tells its end without its broker's name, as brokers of before do: one here whose broker's
// certificate that is.
func ownJob(d *Daemon, id managers.ID, shown *tls.ConnectionState) managers.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	for job := range d.held {
		if job.ID == id && named(shown, job.Broker) == nil {
			return job
		}
	}
	return managers.Key{}
}
