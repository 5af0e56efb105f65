package scheduler

import (
	"errors"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// What was told of an older booking changes nothing, and a site whose times make no sense has nobody paid back more than he was charged.
func TestRefundsAndOldNews(t *testing.T) {
	w, a := due(t)
	j := w.s.mem.jobs.job(a.Job)
	now := &work{s: w.s, mem: w.s.mem, now: w.now, changed: map[string]*Job{}}
	charged := j.Charged
	j.Tries++
	news{now}.result(result{Job: j.ID, Verb: launch, Key: a.Key, Handle: plugins.Handle{ID: "old"}})
	if j.State != Booked {
		t.Fatalf("an older booking's launch made it %s", j.State)
	}
	news{now}.result(result{Job: j.ID, Verb: launch, Key: string(launch) + "/" + j.request(), Handle: plugins.Handle{ID: "new"}})
	if now.seen(seen{Job: j.ID, Request: j.ID + "-1", State: plugins.Done, Started: 1, Ended: 2}); j.State != Sent {
		t.Fatalf("an older booking's end made it %s", j.State)
	}
	now.seen(seen{Job: j.ID, Request: j.request(), State: plugins.Done, Started: w.now.Unix() + 1000, Ended: w.now.Unix()})
	back := int64(0)
	for _, row := range now.ledger {
		if row.Account == purse(j.Owner) {
			back += row.Amount
		}
	}
	if second := fee(j.Priority, j.Procs, 1); j.State != Collecting || second == 0 || back != charged-second || j.Charged != second {
		t.Errorf("%s: charged %d, paid back %d, %d left; a second costs %d", j.State, charged, back, j.Charged, second)
	}
	deals := len(now.ledger)
	news{now}.result(result{Job: j.ID, Verb: launch, Key: string(launch) + "/" + j.request(), Kind: plugins.Refused})
	if j.State != Collecting || len(now.ledger) > deals {
		t.Errorf("what is said of its launch after its end makes it %s, with %d deals more", j.State, len(now.ledger)-deals)
	}
}

// Jobs that are shorter than a second cost their owner something, also where the site does not tell when they began; one that
// never began costs nothing.
func TestShortJobsCost(t *testing.T) {
	for _, c := range []struct {
		state          plugins.State
		started, ended int64 // after the booking was made
		cost           bool
	}{{plugins.Done, 3, 3, true}, {plugins.Done, 0, 3, true}, {plugins.Failed, 3, 3, true}, {plugins.Failed, 0, 3, false}, {plugins.Lost, 0, 0, false}} {
		w, a := due(t)
		j := w.s.mem.jobs.job(a.Job)
		now := &work{s: w.s, mem: w.s.mem, now: w.now, changed: map[string]*Job{}}
		news{now}.result(result{Job: j.ID, Verb: launch, Key: string(launch) + "/" + j.request(), Handle: plugins.Handle{ID: "new"}})
		v := seen{Job: j.ID, Request: j.request(), State: c.state}
		for to, after := range map[*int64]int64{&v.Started: c.started, &v.Ended: c.ended} {
			if after > 0 {
				*to = w.now.Unix() + after
			}
		}
		now.seen(v)
		if (j.Charged > 0) != c.cost {
			t.Errorf("%+v: %s, and cost %d", c, j.State, j.Charged)
		}
	}
}

// A job that goes back into the queue has paid nothing, whatever becomes of it there.
func TestUnbookedIsPaidBack(t *testing.T) {
	w, a := due(t)
	j := w.s.mem.jobs.job(a.Job)
	charged := j.Charged
	now := &work{s: w.s, mem: w.s.mem, now: w.now, changed: map[string]*Job{}}
	if now.unbook(j, "it did not start", 0); charged == 0 || j.Charged != 0 || len(now.ledger) != 2 || now.ledger[1].Account != purse(j.Owner) || now.ledger[1].Amount != charged {
		t.Errorf("charged %d, then %d, and %+v", charged, j.Charged, now.ledger)
	}
}

// A job that its owner's budget does not pay for waits, and its owner is told why where he looks first.
func TestBudgetThatDoesNotSufficeIsTold(t *testing.T) {
	f := newFront(t, func(c *Config, _ *API) { c.Budget = 1 })
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/true"; WallTime = 86400;`))
	if err != nil {
		t.Fatal(err)
	}
	user := f.backend(f.proxy(f.user(f.ca, "Alice"), credential.ProxyOptions{Lifetime: time.Hour}))
	res := user.Submit(t.Context(), []plugins.Request{{ID: "k1", Job: job, Endpoint: f.endpoint()}}, nil)
	epoch, err := takeOver(t.Context(), f.store, "front")
	if err = errors.Join(err, res[0].Err); err != nil {
		t.Fatal(err)
	}
	f.s.setLead(epoch)
	if _, err := f.s.Cycle(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	for _, o := range user.Status(t.Context(), []plugins.Handle{res[0].Handle}) {
		if o.Err != nil || o.State != plugins.Queued || o.Reason != "not yet: its owner's budget does not suffice" {
			t.Errorf("%+v", o)
		}
	}
}
