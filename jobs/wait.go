package jobs

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gridbroker/broker"
	"gridbroker/plugins"
)

const (
	// defaultPatience is for how long a job that is followed may find no
	// resource before it fails.
	defaultPatience = time.Hour
	// lookAgain is the time between two looks for a resource.
	lookAgain = time.Minute
	// afterSending is the longest time to the look after half of the jobs that were out have ended, or others were sent.
	afterSending = 200 * time.Millisecond
	// mostAhead is the longest time to the look after jobs were sent where those before took long: half as long as these.
	mostAhead = time.Second
	// lateness is the part of their time, an eighth, by which ends of jobs are seen late: of the time since jobs were
	// last sent, or half of those that were out have ended. A node of a DAG that ends soon holds the next one up
	// for no longer, and a job that runs for hours is looked at seldom.
	lateness = 8
	// cancelAgain is when a cancellation is asked for again of a job that goes on: the first may not have arrived.
	cancelAgain = time.Minute
	// seldom is how many times as long as a look the pause after it is at least: as long as it when jobs were
	// just sent, or half of those that were out have ended, and once longer with each other look.
	seldom = 5
)

// Waiting is how jobs are followed to their end.
type Waiting struct {
	// Discover gives fresh resources for jobs that are sent again or that
	// waited for others.
	Discover Discover
	// Seen is called after every look at the jobs; may be nil.
	Seen func([]*Outcome)
	// Pause is the longest time between looks; 0: ten seconds. The first
	// looks are closer together.
	Pause time.Duration
	// First is the first pause; they grow from there, and are never shorter than five times what a look takes, but after news.
	// 0: 200 ms.
	First time.Duration
	// Patience is for how long a job that nothing takes now, but perhaps
	// later, is looked for again; 0: one hour. The job's ExpiryTime ends it, too.
	Patience time.Duration
	// Replan is when jobs are taken back from queues; the zero value: never.
	Replan Replanning
	// Current is that the records were just read: one of which its back-end has nothing new to say is not read again.
	Current bool
	// Thorough is that a look waits for large files that it has begun to bring or send; else they
	// go on beside the later ones, and Rest waits for them.
	Thorough bool
}

// Wait follows jobs until all have ended, or ctx ends. On the way it sends
// jobs whose predecessors are done, and sends failed jobs again as their
// RetryCount and ShallowRetryCount allow, never to a resource where they
// failed. What a job left behind there stays reachable.
func (c *Controller) Wait(ctx context.Context, os []*Outcome, w Waiting) error {
	f := &following{Controller: c, Waiting: w, jobs: os, patience: cmp.Or(w.Patience, defaultPatience), idle: seldom}
	longest := w.Pause
	if longest <= 0 {
		longest = 10 * time.Second
	}
	pause := min(longest, cmp.Or(w.First, afterSending))
	ctx, cancel := context.WithCancel(ctx)
	defer Rest(c)
	defer cancel()
	heard := Listen(ctx, c)
	defer heard.End()
	sent := f.now()
	for {
		ended, err := f.step(ctx)
		if w.Seen != nil {
			w.Seen(os)
		}
		if err != nil || ended {
			return err
		}
		if f.sent || f.halved {
			pause, f.idle = min(pause, afterSending), 0 // what comes next may be due soon
		}
		var ahead time.Duration
		if now := f.now(); f.sent {
			ahead, sent = min(mostAhead, now.Sub(sent)/2), now
		}
		f.idle = min(f.idle+1, seldom)
		heard.About(os)
		if err := rest(ctx, f, heard, min(longest, max(pause, ahead, time.Duration(f.idle)*f.took))); err != nil {
			return err
		}
		pause = min(longest, pause+max(pause/lateness, 1))
	}
}

// Step looks at jobs once and does what is due, as Wait does again and again.
// It reports whether all have ended.
func (c *Controller) Step(ctx context.Context, os []*Outcome, w Waiting) (ended bool, err error) {
	f := &following{Controller: c, Waiting: w, jobs: os, patience: cmp.Or(w.Patience, defaultPatience)}
	return f.step(ctx)
}

// following is one call of Wait.
type following struct {
	*Controller
	Waiting
	jobs     []*Outcome
	patience time.Duration
	sent     bool          // by the last look
	halved   bool          // the last look found at least as many jobs ended as were left: the others may end as soon
	idle     int           // looks since either, at most seldom
	took     time.Duration // that a look takes, what is sent then apart: half of it the last one, half those before
}

// step looks once and does what is due. It reports whether all jobs have ended.
func (f *following) step(ctx context.Context) (bool, error) {
	if err := f.arrive(); err != nil {
		return false, err
	}
	began, out := f.now(), outOf(f.jobs)
	if err := refreshAll(ctx, f.Controller, f.here(), f.Current); err != nil {
		return false, err
	}
	f.took = (f.took + f.now().Sub(began)) / 2 // one that found the batch system busy with what was sent is no measure
	left := outOf(f.jobs)
	f.halved = left > 0 && out-left >= left
	if err := turnOf(ctx, f); err != nil {
		return false, err
	}
	due, err := f.due(ctx)
	if err != nil {
		return false, err
	}
	f.sent = len(due) > 0
	if due, err = skipAlong(ctx, f, due); err != nil {
		return false, err
	}
	if due, err = f.scripted(ctx, due); err != nil {
		return false, err
	}
	var quick, slowly []*Outcome
	for _, o := range due {
		if slow(o) {
			slowly = append(slowly, o)
		} else {
			quick = append(quick, o)
		}
	}
	if err := f.sendDue(ctx, quick); err != nil {
		return false, err
	}
	if err := f.sendBeside(ctx, slowly); err != nil {
		return false, err
	}
	if err := f.replan(ctx); err != nil {
		return false, err
	}
	now := f.now()
	for _, o := range f.jobs {
		if _, again := o.retry(now); !o.Final() || again {
			return false, nil
		}
	}
	return true, nil
}

// outOf counts the jobs that were sent and are not known to have ended.
func outOf(os []*Outcome) (n int) {
	for _, o := range os {
		if !o.Final() && o.Handle.ID != "" {
			n++
		}
	}
	return n
}

// turnOf does what the jobs' states ask for before any is sent.
func turnOf(ctx context.Context, f *following) error {
	if err := f.abort(ctx); err != nil {
		return err
	}
	if err := cancelLiving(ctx, f); err != nil {
		return err
	}
	if err := makeGood(ctx, f); err != nil {
		return err
	}
	return assign(ctx, f)
}

// cancelLiving cancels anew the jobs whose cancellation was asked for a while ago and that are seen to live.
func cancelLiving(ctx context.Context, f *following) error {
	var live []*Outcome
	now := f.now()
	for _, o := range f.jobs {
		if o.Final() || o.Cancelled.IsZero() || o.Handle.ID == "" || o.Err != nil {
			continue
		}
		if ago := now.Sub(o.Cancelled); ago < 0 || ago >= cancelAgain { // in the future: the clock was set back since
			live = append(live, o)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return f.Cancel(ctx, live)
}

// due lists jobs to be sent now: those that failed and may be tried again,
// and those all of whose predecessors are done. Jobs after a failed one fail.
func (f *following) due(ctx context.Context) ([]*Outcome, error) {
	now := f.now()
	byID := map[string]*Outcome{}
	there := crowd{}
	away := f.away()
	for _, o := range f.jobs {
		byID[o.ID] = o
		if busy(o.Record) || away[o.ID] && !awaitsPost(o.Record) {
			there.add(o.Record)
		}
	}
	var blocked, ready []*Outcome
	for _, o := range f.jobs {
		if away[o.ID] {
			continue
		}
		state, err := f.turn(ctx, o, byID, now)
		if err != nil {
			return nil, err
		}
		switch {
		case state == plugins.Failed:
			blocked = append(blocked, o)
		case state == plugins.Done && there.admit(o.Record):
			ready = append(ready, o)
		}
	}
	f.Scouts.see(Records(f.jobs), now)
	return f.Scouts.due(ready, f.jobs), f.apply(ctx, blocked, func(r *Record) Event {
		if r.State != plugins.Intended || !f.free(r) {
			return nil
		}
		return Blocked{}
	})
}

// turn is Done for a job that may be sent now, Failed for one that can never
// be, because a job it comes after has failed, and else Queued.
func (f *following) turn(ctx context.Context, o *Outcome, byID map[string]*Outcome, now time.Time) (plugins.State, error) {
	if _, again := o.retry(now); again {
		return plugins.Done, nil
	}
	early := o.NotBefore.Sub(now) // longer than it is ever set to: the clock was set back since
	if o.State != plugins.Intended || early > 0 && (early <= lookAgain || OwesScript(o.Record) != "") || !f.free(o.Record) {
		return plugins.Queued, nil
	}
	return f.before(ctx, o, byID, now)
}

// before sums up the predecessors: Done when all are done with exit code 0,
// Failed when one has failed for good or was forgotten, else Queued. For a job
// that comes last in its DAG, or after others however they end, it is Done when all
// have ended; for the latter Failed where none of them was ever begun.
func (c *Controller) before(ctx context.Context, o *Outcome, byID map[string]*Outcome, now time.Time) (plugins.State, error) {
	state, last, begun := plugins.Done, o.last(), false
	anyhow := last || o.afterAny()
	for _, id := range o.After {
		p := byID[id]
		if p == nil { // not among those waited for
			found, err := c.Store.Find(ctx, []string{id})
			if _, forgotten := errors.AsType[*IDError](err); forgotten {
				if anyhow {
					continue
				}
				return plugins.Failed, nil
			}
			if err != nil {
				return "", err
			}
			p = &Outcome{Record: found[0]}
		}
		_, again := p.retry(now)
		begun = begun || !futile(p.Record)
		switch {
		case p.Failure() && !again && !anyhow:
			return plugins.Failed, nil
		case !p.Final() || again:
			state = plugins.Queued
		}
	}
	if anyhow && !last && !begun {
		return plugins.Failed, nil
	}
	return state, nil
}

// sendDue plans jobs and sends those that something takes. A job that failed
// keeps how it ended until there is a place for it.
func (f *following) sendDue(ctx context.Context, os []*Outcome) error {
	placed, err := f.place(ctx, os, f.Discover, (*Record).avoided)
	if err != nil {
		return err
	}
	var send, none []*Outcome
	for _, o := range os {
		if o.Err = nil; placed[o.ID].err != nil {
			none = append(none, o)
		} else {
			send = append(send, o)
		}
	}
	if err := f.nowhere(ctx, none, placed); err != nil {
		return err
	}
	if err := f.again(ctx, send, placed); err != nil {
		return err
	}
	return f.sendPlaced(ctx, send, placed)
}

// again takes failed jobs back to Intended, unless another process did.
func (f *following) again(ctx context.Context, os []*Outcome, placed map[string]placing) error {
	var failed []*Outcome
	job := map[string]*Outcome{}
	for _, o := range os {
		if o.Final() {
			failed = append(failed, o)
			job[o.ID] = &Outcome{Record: o.Record, job: o.job}
		}
	}
	now := f.now()
	return f.apply(ctx, failed, func(r *Record) Event {
		shallow, ok := retry(r, job[r.ID].job, now)
		if !ok || r.Attempts != placed[r.ID].attempts {
			return nil
		}
		return Retried{Shallow: shallow}
	})
}

// sendPlaced records the choices of jobs that are intended and sends them.
func (c *Controller) sendPlaced(ctx context.Context, os []*Outcome, placed map[string]placing) error {
	ready := os[:0:0]
	for _, o := range os {
		if o.State == plugins.Intended && o.Err == nil {
			ready = append(ready, o)
		}
	}
	err := c.apply(ctx, ready, func(r *Record) Event {
		if r.State != plugins.Intended || !c.free(r) || r.Attempts != placed[r.ID].attempts {
			return nil
		}
		return Planned{Choices: placed[r.ID].choices}
	})
	if err != nil {
		return err
	}
	send := ready[:0:0]
	for _, o := range ready {
		if o.State == plugins.Intended && o.Attempts == placed[o.ID].attempts {
			send = append(send, o)
		}
	}
	return c.Send(ctx, send)
}

// nowhere deals with jobs that no resource takes. Where a later look may find
// one, within patience, they are planned again in a minute; else they fail, or
// stay as they ended.
func (f *following) nowhere(ctx context.Context, os []*Outcome, placed map[string]placing) error {
	hope := map[*broker.Match]bool{}
	job := map[string]*Outcome{}
	var retried []*Outcome
	for _, o := range os {
		m := placed[o.ID].match
		if _, known := hope[m]; !known {
			hope[m] = m.MayPass()
		}
		job[o.ID] = &Outcome{Record: o.Record, job: o.job}
		if o.Final() && hope[m] {
			retried = append(retried, o)
		}
	}
	if err := f.again(ctx, retried, placed); err != nil {
		return err
	}
	return f.apply(ctx, os, func(r *Record) Event {
		p := placed[r.ID]
		switch {
		case r.Attempts != p.attempts || !f.free(r):
			return nil
		case assigned(r) != nil:
			return Returned{Why: p.err.Error()}
		case r.State == plugins.Intended:
			return Unmatched{Why: p.err.Error(), Hope: hope[p.match], Patience: f.patience, Expiry: job[r.ID].job.Expiry, Next: lookAgain}
		case r.State == plugins.Failed || r.State == plugins.Lost || r.State == plugins.Done:
			return NotRetried{Why: reasonOf(p.err)}
		}
		return nil
	})
}

// reasonOf is why a job has no place, without its name.
func reasonOf(err error) string {
	if none, ok := errors.AsType[*broker.NoMatchError](err); ok {
		return none.Reason()
	}
	return err.Error()
}
