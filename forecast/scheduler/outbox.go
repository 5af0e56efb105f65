package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// outbox does what was decided: it leases actions, does them, and tells the
// leader. It runs at every replica.
type outbox struct{ *Scheduler }

func (o outbox) run(ctx context.Context) error {
	slots, said := make(chan struct{}, allLanes), seldom{}
	var work sync.WaitGroup
	defer work.Wait() // what is begun is told, or given back
	for ctx.Err() == nil {
		if o.clock.fault() != nil { // others' leases would seem to be over
			o.pause(ctx, time.Second)
			continue
		}
		slots <- struct{}{}
		n := 1
		for ; n < lane && len(slots) < cap(slots); n++ { // what is leased is begun at once
			slots <- struct{}{}
		}
		list, err := o.claim(ctx, o.conf.Name, o.now(), n, o.lanes.full()...)
		if err != nil && ctx.Err() == nil && said.is(err, o.now()) {
			o.log.Warn("nothing is begun at sites until the database answers", "error", err)
		}
		for _, a := range list {
			leave := o.lanes.enter(a.Cluster) // before more is leased
			work.Go(func() {
				defer func() { leave(); <-slots }()
				o.hold(ctx, a)
			})
		}
		for range n - len(list) {
			<-slots
		}
		if len(list) == 0 {
			o.pause(ctx, 250*time.Millisecond)
		}
	}
	return nil
}

// hold does one action and keeps its lease meanwhile, also while the database is away
// for a moment.
func (o outbox) hold(ctx context.Context, a action) {
	ctx, cancel := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		defer cancel() // another one has it
		o.keep(ctx, a)
	}()
	tell := o.do(ctx, a)
	for tell() != nil && o.pause(ctx, time.Second) {
	}
	cancel()
	<-kept
}

// act does one action, and tells once.
func (o outbox) act(ctx context.Context, a action) { o.do(ctx, a)() }

// do does one action; told is recorded what became of it. A fault of a back-end
// costs the action, not the service.
func (o outbox) do(ctx context.Context, a action) (tell func() error) {
	r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
	began := o.now() // by the scheduler's clock: what a launch takes shifts the next bookings
	retry := o.attempt(ctx, a, &r)
	r.Said = plain(r.Said)
	if ctx.Err() != nil && r.Kind != 0 { // this replica ends: that says nothing of the job
		r.Kind, retry = 0, time.Second
	}
	r.Seconds = max(r.Seconds, o.now().Sub(began).Seconds())
	outcome := "done"
	if retry > 0 {
		outcome = "again"
	} else if r.Kind != 0 {
		outcome = r.Kind.String()
	}
	o.meter.actions.WithLabelValues(string(a.Verb), outcome).Inc()
	return func() error { return o.tell(ctx, a, r, retry) }
}

// tell records what became of an action; nil: it is known, here or by another one.
func (o outbox) tell(ctx context.Context, a action, r result, retry time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var err error
	if retry > 0 {
		err = o.again(ctx, a, o.now().Add(retry), r)
	} else {
		err = o.finish(ctx, a, r)
	}
	o.poke()
	if errors.Is(err, errLeaseLost) {
		return nil
	}
	if err != nil && o.unwell.is(err, o.now()) {
		o.log.Warn("what was done at a site is not recorded yet, and is told again", "action", a.Key, "error", err) // when the lease ends it is tried again
	}
	return err
}

func (o outbox) attempt(ctx context.Context, a action, r *result) (retry time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			r.Said, retry = fmt.Sprint("internal error: ", p), time.Minute
		}
	}()
	j, all, err := o.about(ctx, a)
	if err != nil {
		r.Said = err.Error()
		return 2 * time.Second
	}
	if j == nil || j.Booking == nil || a.Key != string(a.Verb)+"/"+j.request() {
		return r.end(plugins.Refused, "the booking is over") // the job is booked elsewhere, or not at all, by now
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeFor(a, j))
	defer cancel()
	return o.attemptOf(ctx, a, j, all, r)
}

// end ends an action for which no site was asked, and says why.
func (r *result) end(kind plugins.Kind, why string) (retry time.Duration) {
	r.Kind, r.Said, r.unasked = kind, why, true
	return 0
}

// about reads the job of an action, nil: it is not there, and what its owner has delegated and, where it is to be begun, until
// when his attributes are good.
func (o outbox) about(ctx context.Context, a action) (j *Job, all authorities, err error) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	err = o.store.read(ctx, func(h handle) error {
		if j, err = h.queue.job(ctx, a.Job); j == nil {
			return err
		}
		if all, err = h.wallet.credentials(ctx, []string{j.Owner}); err == nil && a.Verb == launch && j.Lapses {
			all.vouched, err = h.wallet.vouchers(ctx, j.Owner)
		}
		return err
	})
	return j, all, err
}

// timeFor is how long an action may take: sending until the slot is given up, and what is tried
// again longer than before.
func (o outbox) timeFor(a action, j *Job) time.Duration {
	switch a.Verb {
	case launch:
		until := time.Duration(j.Booking.From-o.now().Unix())*time.Second + o.conf.Grace
		return max(actionTime, until, 2*time.Duration(j.lead(j.Booking.Cluster))*time.Second)
	case collect:
		return actionTime * time.Duration(min(10, max(1, a.Attempts)))
	}
	return actionTime
}

// attemptOf does an action with the credential of the job's owner.
func (o outbox) attemptOf(ctx context.Context, a action, j *Job, all authorities, r *result) (retry time.Duration) {
	doubt, err := o.doubt(ctx, a, j)
	if err != nil {
		r.Said = err.Error()
		return 2 * time.Second
	}
	cred, _ := all.of(j.holder(), o.now().Unix())
	reg, release, err := o.asOwner(ctx, j.Owner, cred)
	if err != nil {
		r.Said = err.Error()
		if doubt || a.Verb != launch && o.now().Unix() < j.givenUp(a.Verb, o.conf.KeepAtSites) { // the site has it, or may: until the owner renews
			r.untaken = a.Verb != launch // nothing was tried: what is tried a few times only is none the less then
			return renewTime
		}
		return r.end(plugins.Credential, err.Error())
	}
	defer release()
	if doubt {
		if again, known := o.known(ctx, j, reg, r); known {
			return again
		}
	}
	if a.Verb == launch {
		if over := unentitled(j, cred, all.vouched[j.Owner], o.now().Unix()); over != nil {
			return r.end(plugins.Credential, over.Error())
		}
	}
	at := o.conf.siteOf(j.Booking)
	if j.Handle.ID != "" {
		at.Interface = j.Handle.Interface
	}
	if _, there := o.conf.Clusters[j.Booking.Cluster]; !there && a.Verb == launch {
		return r.end(plugins.Unavailable, "the cluster was taken out of the scheduler's configuration")
	}
	back, ok := reg.For(at.Interface)
	if !ok {
		r.Kind, r.Said = plugins.Unavailable, "no back-end for "+at.Interface
		return 0
	}
	return o.perform(ctx, a, j, back, r)
}

// siteOf is where a booking's job is sent: what the configuration said when it was made.
func (c Config) siteOf(p *Place) glue.Endpoint {
	if p.Endpoint != "" {
		return glue.Endpoint{URL: p.Endpoint, Interface: p.Interface}
	}
	to := c.Clusters[p.Cluster] // booked by a program of before
	return glue.Endpoint{URL: to.Endpoint, Interface: to.Interface}
}

// doubt tells whether a job that is to be sent may be at a site already: where that was tried
// before, and where the database is an older copy.
func (o outbox) doubt(ctx context.Context, a action, j *Job) (bool, error) {
	if a.Verb != launch || j.State != Booked {
		return false, nil
	}
	older, err := o.store.doubtful(ctx, j)
	return older || a.Attempts > 1, err
}

// known asks whether a job is at a site already: the one of its booking, and every one
// where the database is an older copy.
func (o outbox) known(ctx context.Context, j *Job, reg *plugins.Registry, r *result) (again time.Duration, known bool) {
	older, err := o.store.doubtful(ctx, j)
	if err != nil {
		r.Said = err.Error()
		return 2 * time.Second, true
	}
	sites := []glue.Endpoint{o.conf.siteOf(j.Booking)}
	for _, name := range slices.Sorted(maps.Keys(o.conf.Clusters)) {
		if to := o.conf.Clusters[name]; older && name != j.Booking.Cluster {
			sites = append(sites, glue.Endpoint{URL: to.Endpoint, Interface: to.Interface})
		}
	}
	for _, at := range sites {
		back, ok := reg.For(at.Interface)
		if !ok {
			r.Said = fmt.Sprintf("whether it is at %s already cannot be asked: there is no back-end for %q", j.Booking.Cluster, at.Interface)
			return renewTime, true
		}
		h, found, err := find(ctx, back, at, j.request())
		if err == nil && !found && older {
			var most int
			h, most, err = sentOtherwise(ctx, o.Scheduler, j, back, at)
			found, r.Number = h.ID != "", max(r.Number, most)
		}
		if err != nil {
			r.Said = err.Error()
			return 5 * time.Second, true
		}
		if found {
			r.Handle = h
			return 0, true
		}
	}
	return 0, false
}

// How long an action waits for its owner's next credential, and how often it looks for it, in
// seconds: a day after the job's end. What is not ended, withdrawn or brought by then is left at its site.
const (
	renewTime = time.Minute
	renewDay  = 24 * 3600
)

// givenUp is when an action is given up for which a job's owner has no credential.
func (j *Job) givenUp(v verb, keep time.Duration) int64 {
	at := max(j.Booking.To, j.Ended) + renewDay
	if v == clean || v == forget {
		at += int64(keep / time.Second)
	}
	return at
}

func (o outbox) perform(ctx context.Context, a action, j *Job, back plugins.Submitter, r *result) time.Duration {
	switch a.Verb {
	case launch:
		return o.launch(ctx, a, j, back, r)
	case withdraw:
		return o.withdraw(ctx, j, back, r)
	case end:
		return o.cancelAt(ctx, a, j, back, r)
	case collect:
		return o.collect(ctx, a, j, back, r)
	case clean, forget:
		return cleanAt(ctx, a, j, back, r)
	}
	r.Kind, r.Said = plugins.Invalid, noAction
	return 0
}

// asOwner opens the back-ends with the owner's credential.
func (s *Scheduler) asOwner(ctx context.Context, owner string, cred authority) (*plugins.Registry, func(), error) {
	text, err := cred.open(s.store.seal, s.now())
	if err != nil {
		return nil, nil, err
	}
	return s.open(ctx, owner, text)
}

// withdraw takes a job back that is not in its slot, unless it has started. Why it waited is what the site says before that.
func (o outbox) withdraw(ctx context.Context, j *Job, back plugins.Submitter, r *result) time.Duration {
	hs := []plugins.Handle{j.Handle}
	st := back.Status(ctx, hs)[0]
	if st.State == plugins.Unknown {
		r.Said = fmt.Sprint(st.Err)
		return 5 * time.Second
	}
	waited := ""
	if !st.State.Final() && !begun(st) {
		waited = seenOf(j.ID, j.request(), st).words()
		take, stays := back.Cancel, false
		if w, can := back.(plugins.Withdrawer); can {
			take, stays = w.Withdraw, true
		}
		if err := take(ctx, hs)[0]; err != nil {
			r.Said = err.Error()
			return 5 * time.Second
		}
		for range 20 {
			if st = back.Status(ctx, hs)[0]; st.State.Final() || stays && begun(st) || !o.pause(ctx, 500*time.Millisecond) {
				break
			}
		}
		if !st.State.Final() && !(stays && begun(st)) {
			return 2 * time.Second
		}
	}
	r.Status, r.Said = seenOf(j.ID, j.request(), st), waited
	return 0
}

// begun tells whether a job has been started at its site.
func begun(st plugins.Status) bool {
	return !st.Started.IsZero() || st.State == plugins.Running || st.State == plugins.Finishing
}

// cancelAt ends a job at its site.
func (o outbox) cancelAt(ctx context.Context, a action, j *Job, back plugins.Submitter, r *result) time.Duration {
	if err := back.Cancel(ctx, []plugins.Handle{j.Handle})[0]; err != nil {
		r.Said = err.Error()
		return time.Duration(min(a.Attempts, 10)) * 2 * time.Second
	}
	r.Status = seenOf(j.ID, j.request(), back.Status(ctx, []plugins.Handle{j.Handle})[0])
	return 0
}

func seenOf(job, request string, st plugins.Status) *seen {
	v := &seen{Job: job, Request: request, State: st.State, Native: plain(st.Native), Reason: plain(st.Reason), Node: plain(st.Node), Started: unix(st.Started), Ended: unix(st.Ended)}
	if st.ExitCode.OK {
		v.Exit = &st.ExitCode.V
	}
	return v
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
