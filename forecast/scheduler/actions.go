package scheduler

import (
	"context"
	"errors"
	"time"
)

// verb is what an action does in the world.
type verb string

const (
	launch   verb = "launch"   // start the job at its site, ahead of its slot
	withdraw verb = "withdraw" // take it back, unless it has started
	end      verb = "cancel"   // end it, started or not
	collect  verb = "collect"  // bring its output
	clean    verb = "clean"    // remove what the site keeps of it
	forget   verb = "forget"   // that, and the job: its owner has asked for it
)

// ending is how an action has ended, as the table has it.
type ending string

const (
	endedWell ending = "done"
	endedBad  ending = "failed"  // its site did not do it, or was not reached in time
	unasked   ending = "unasked" // its site was not asked
)

// ending is how an action ended of which this is the result.
func (r *result) ending() ending {
	switch {
	case r.unasked:
		return unasked
	case r.Kind != 0:
		return endedBad
	}
	return endedWell
}

// action is one entry of the outbox.
type action struct {
	ID       int64
	Key      string
	Job      string
	Verb     verb
	Attempts int
	Cluster  string // where it is to be done; "": its booking is over
}

// actionRow is a new action for a bulk statement.
type actionRow struct {
	Key  string `json:"key"`
	Job  string `json:"job"`
	Verb verb   `json:"verb"`
	Due  int64  `json:"due"`
}

// actions are an outbox, as a transaction has it.
type actions interface {
	// add takes new ones in; one whose key is there already, done or not, is left out.
	add(ctx context.Context, rows []actionRow, epoch int64) error
	// due tells whether any may be leased, and claim leases them: of more than a limit what was due first.
	due(ctx context.Context, l leasing) (bool, error)
	claim(ctx context.Context, l leasing) ([]action, error)
	// close ends one, again gives one back, to be tried again, and renew makes its lease begin anew. Somebody else may have
	// it meanwhile, or have done it: that is errLeaseLost, and again leaves it to him.
	close(ctx context.Context, a action, r result) error
	again(ctx context.Context, a action, due int64, r result) error
	renew(ctx context.Context, a action, until int64) error
	// drop ends one of a job that nobody has tried; false: it was tried, or is done.
	drop(ctx context.Context, job, key string) (bool, error)
	// hurry has one of a job done by a time.
	hurry(ctx context.Context, job, key string, due int64) error
	// forget has a job's site forget it at a time; false: nothing is to be removed there.
	forget(ctx context.Context, job string, due int64) (bool, error)
}

// leasing is what somebody leases: nothing of some clusters. Times are seconds of Unix time.
type leasing struct {
	who        string
	but        []string
	now, until int64
	limit      int
}

// actionTable is the outbox in a table.
type actionTable struct{ *statements }

// add implements actions.
func (h actionTable) add(ctx context.Context, rows []actionRow, epoch int64) error {
	if len(rows) == 0 {
		return nil
	}
	return h.writeEach(ctx, `insert into action (key, job, verb, epoch, due)
		select t.value->>'key', t.value->>'job', t.value->>'verb', $2, cast(t.value->>'due' as {int}) from {each} where true
		on conflict (key) do nothing`, rows, epoch)
}

// A replica has an action for a lease, which it renews while it is at it. When that ends,
// since the replica was killed, another one tries: in time for a slot's grace. Clocks of
// replicas may be apart by leaseMargin.
const (
	lease       = 30 * time.Second
	leaseMargin = 10 * time.Second
	leaseRenew  = 5 * time.Second
)

// actionTime is how long an action, or a look at a site, may take.
const actionTime = 2 * time.Minute

// itsBooking is the key of an action's booking.
const itsBooking = "substr(action.key, length(action.verb) + 2)"

// isDue is an action that may be leased: not one of the clusters named in $1.
const isDue = `done = 0 and due <= $2 and lease_until < $2 and not exists (select 1 from booking where booking.key = ` + itsBooking + `
	and booking.cluster in (select t.value from {texts}))`

// claim leases actions that are due, but for those of some clusters. Where none is, nothing is
// written: this is asked several times a second.
func (o outbox) claim(ctx context.Context, who string, now time.Time, limit int, but ...string) (list []action, err error) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	l := leasing{who, but, now.Unix(), now.Add(lease).Unix(), limit}
	due := false
	err = o.store.read(ctx, func(h handle) error { due, err = h.actions.due(ctx, l); return err })
	if err != nil || !due {
		return nil, err
	}
	err = o.store.tx(ctx, func(h handle) error { list, err = h.actions.claim(ctx, l); return err })
	return list, err
}

// due implements actions.
func (h actionTable) due(ctx context.Context, l leasing) (due bool, err error) {
	names, err := jsonText(l.but)
	if err != nil {
		return false, err
	}
	err = h.rows(ctx, func(scan func(...any) error) error { var id int64; due = true; return scan(&id) },
		"select id from action where "+isDue+" limit 1", names, l.now)
	return due, err
}

// claim implements actions.
func (h actionTable) claim(ctx context.Context, l leasing) (list []action, err error) {
	names, err := jsonText(l.but)
	if err != nil {
		return nil, err
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var a action
		err := scan(&a.ID, &a.Key, &a.Job, &a.Verb, &a.Attempts, &a.Cluster)
		list = append(list, a)
		return err
	}, "update action set lease_until = $3, leased_by = $4, attempts = attempts + 1 where id in (select id from action where "+isDue+
		" order by due, id limit $5 {skip locked}) returning id, key, job, verb, attempts, coalesce((select booking.cluster from booking where booking.key = "+itsBooking+"), '')",
		names, l.now, l.until, l.who, l.limit)
	return list, err
}

// errLeaseLost is an action that another replica has meanwhile, or has done.
var errLeaseLost = errors.New("another replica has the action, or has done it")

// finish closes an action and tells the leader, in one transaction. Who has it now finds
// out itself what became of it.
func (o outbox) finish(ctx context.Context, a action, r result) error {
	return o.store.tx(ctx, func(h handle) error {
		if err := h.actions.close(ctx, a, r); err != nil {
			return err
		}
		if over, err := cleaning(ctx, h, a, r, o.now().Add(o.conf.KeepAtSites)); over || err != nil {
			return err
		}
		if err := h.mail.post(ctx, kindResult, "result/"+a.Key, r); err != nil {
			return err
		}
		h.wake()
		return nil
	})
}

// close implements actions.
func (h actionTable) close(ctx context.Context, a action, r result) error {
	return h.mine(ctx, "update action set done = 1, result = $1, ending = $4 where id = $2 and done = 0 and attempts = $3", r.Said, a.ID, a.Attempts, string(r.ending()))
}

// mine does something to an action that nobody else has meanwhile.
func (h actionTable) mine(ctx context.Context, query string, args ...any) error {
	n, err := h.exec(ctx, query, args...)
	if err == nil && n == 0 {
		err = errLeaseLost
	}
	return err
}

// again gives an action back, to be tried later, unless another one is at it. What a site
// is known not to have taken need not be looked for there.
func (o outbox) again(ctx context.Context, a action, due time.Time, r result) error {
	return o.store.tx(ctx, func(h handle) error { return h.actions.again(ctx, a, due.Unix(), r) })
}

// again implements actions.
func (h actionTable) again(ctx context.Context, a action, due int64, r result) error {
	_, err := h.exec(ctx, "update action set lease_until = 0, due = $1, result = $2, attempts = attempts - $5 where id = $3 and done = 0 and attempts = $4", due, r.Said, a.ID, a.Attempts, b2i(r.untaken))
	return err
}

// drop implements actions.
func (h actionTable) drop(ctx context.Context, _, key string) (bool, error) {
	n, err := h.exec(ctx, "update action set done = 1, result = $2, ending = $3 where key = $1 and done = 0 and attempts = 0", key, onRequest, string(unasked))
	return n == 1, err
}

// hurry implements actions.
func (h actionTable) hurry(ctx context.Context, _, key string, due int64) error {
	return h.write(ctx, "update action set due = $2 where key = $1 and done = 0 and due > $2", key, due)
}

// forget implements actions.
func (h actionTable) forget(ctx context.Context, job string, due int64) (bool, error) {
	n, err := h.exec(ctx, `update action set verb = $2, key = $2 || substr(key, length(verb) + 1), due = $3, attempts = 0, lease_until = 0
		where job = $1 and verb in ($2, $4) and done = 0`, job, string(forget), due, string(clean))
	return n > 0, err
}

// keep renews an action's lease until the context ends, or the lease does: another one has
// the action, or the database was away, or did not answer, for too long.
func (o outbox) keep(ctx context.Context, a action) {
	sure := o.now()
	for o.pause(ctx, leaseRenew) {
		now := o.now()
		asking, cancel := context.WithTimeout(ctx, leaseRenew)
		err := o.renew(asking, a, now)
		cancel()
		switch {
		case err == nil:
			sure = now
		case errors.Is(err, errLeaseLost), o.now().Sub(sure) > lease-leaseMargin-2*leaseRenew:
			return
		}
	}
}

// renew makes an action's lease begin anew.
func (o outbox) renew(ctx context.Context, a action, now time.Time) error {
	return o.store.tx(ctx, func(h handle) error { return h.actions.renew(ctx, a, now.Add(lease).Unix()) })
}

// renew implements actions.
func (h actionTable) renew(ctx context.Context, a action, until int64) error {
	return h.mine(ctx, "update action set lease_until = $1 where id = $2 and done = 0 and attempts = $3", until, a.ID, a.Attempts)
}
