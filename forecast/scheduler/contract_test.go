package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// contractTrial does what chance draws to the parts of a store, and writes down what they say.
type contractTrial struct {
	t    *testing.T
	s    *Store
	rng  *rand.Rand
	now  int64
	last int // of the jobs and keys so far
	said []string
}

func (d *contractTrial) say(v ...any) { d.said = append(d.said, fmt.Sprint(v...)) }

func (d *contractTrial) one(list ...string) string { return list[d.rng.IntN(len(list))] }

// tell writes down what was read: as JSON, as pointers are in it.
func (d *contractTrial) tell(what string, v any, err error) error {
	text, bad := json.Marshal(v)
	d.say(what, " ", string(text))
	return cmp.Or(err, bad)
}

// Every part of a store that a simulation has in memory is held to what the tables do: the same, drawn by chance, is done to
// both, and they say the same.
func TestMemoryIsAsTheTables(t *testing.T) {
	testbed.Computes(t)
	for name, step := range map[string]func(*contractTrial, context.Context, handle) error{
		"accounts": (*contractTrial).accounts, "queue": (*contractTrial).queue, "clusters": (*contractTrial).clusters,
		"mail": (*contractTrial).mail, "wallet": (*contractTrial).wallet,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				var said [][]string
				for _, s := range []*Store{newSealedFile(t), newScratch(t)} {
					d := &contractTrial{t: t, s: s, rng: rand.New(rand.NewPCG(seed, 1)), now: 1_800_000_000}
					for range 200 {
						d.now += d.rng.Int64N(9)
						if err := s.tx(t.Context(), func(h handle) error { return step(d, t.Context(), h) }); err != nil {
							t.Fatal(err)
						}
					}
					said = append(said, d.said)
				}
				sameSaid(t, seed, said)
			}
		})
	}
	t.Run("outbox", outboxes)
}

// sameSaid compares what the tables said and what memory did.
func sameSaid(t *testing.T, seed uint64, said [][]string) {
	t.Helper()
	for i := range said[0] {
		if i >= len(said[1]) || said[0][i] != said[1][i] {
			t.Fatalf("seed %d, %d: by the table %s\nin memory %s", seed, i, said[0][i], said[1][min(i, len(said[1])-1)])
		}
	}
	if len(said[0]) < 60 || len(said[0]) != len(said[1]) {
		t.Errorf("seed %d: %d and %d were said: %v", seed, len(said[0]), len(said[1]), said[0])
	}
}

func (d *contractTrial) accounts(ctx context.Context, h handle) error {
	user := d.one("alice", "bob", "carol")
	switch d.rng.IntN(6) {
	case 0:
		return grant(ctx, h.accounts, d.now, user, float64(d.rng.IntN(50)), fmt.Sprint("k", d.rng.IntN(20)))
	case 1, 2:
		job := d.one("s1", "s2", "s3", "")
		return h.accounts.enter(ctx, deal(d.now, d.one("charge/", "refund/")+job+d.one("-1", "-2"), purse(user), fees, 1+d.rng.Int64N(9000), job, "booked"))
	case 3:
		budget, known, err := h.accounts.given(ctx, user, true)
		d.say(budget, known)
		return err
	}
	list, err := h.accounts.budgets(ctx, d.one("", user))
	return d.tell("budgets", list, err)
}

func (d *contractTrial) mail(ctx context.Context, h handle) error {
	if d.rng.IntN(4) > 0 {
		key := fmt.Sprint("forget/", d.rng.IntN(40))
		return h.mail.post(ctx, kindForget, key, key+" at "+fmt.Sprint(d.now))
	}
	list, err := h.mail.take(ctx, 1+d.rng.IntN(6))
	d.say(len(list), " are taken")
	for _, m := range list {
		text, bad := said[string](&m)
		d.say(m.kind, " ", text)
		err = cmp.Or(err, bad)
	}
	return err
}

func (d *contractTrial) queue(ctx context.Context, h handle) error {
	all, err := h.queue.open(ctx)
	if len(all) == 0 || err != nil || d.rng.IntN(4) == 0 {
		return cmp.Or(err, d.enter(ctx, h, all))
	}
	j := all[d.rng.IntN(len(all))]
	switch d.rng.IntN(7) {
	case 0, 1:
		return d.book(ctx, h, j)
	case 2:
		return d.over(ctx, h, j)
	case 3:
		list, err := h.queue.these(ctx, []string{j.ID, "s none"})
		one, bad := h.queue.job(ctx, d.one(j.ID, "s none"))
		return d.tell("these", []any{list, one}, cmp.Or(err, bad))
	case 4:
		ids, err := h.queue.before(ctx, j.Owner, []string{j.Key, "never"})
		d.say("before ", ids)
		of, bad := h.queue.held(ctx, []string{j.Owner}, false)
		d.say(of[j.Owner].open, " held")
		return cmp.Or(err, bad)
	case 5:
		ack := &wire.Ack{}
		err := bookingsOf(ctx, h.bookings, d.one("c1", "c2"), d.now, ack, "")
		return d.tell("booked", ack, err)
	}
	list, err := h.actions.claim(ctx, leasing{who: "me", but: []string{d.one("c1", "c2")}, now: d.now, until: d.now - 1, limit: 100})
	for i := range list {
		list[i].ID = 0 // a table leaves numbers out
	}
	return d.tell("claimed", list, err)
}

// enter hands jobs in, of which one may be there already.
func (d *contractTrial) enter(ctx context.Context, h handle, all []*Job) error {
	var list []*Job
	for range 1 + d.rng.IntN(3) {
		d.last++
		list = append(list, &Job{ID: fmt.Sprint("s", 1000+d.last), Owner: d.one("alice", "bob"), Key: fmt.Sprint("k", d.last), State: Waiting, Priority: 1})
	}
	if len(all) > 0 && d.rng.IntN(3) == 0 {
		again := all[d.rng.IntN(len(all))]
		list[0].Owner, list[0].Key = again.Owner, again.Key
	}
	ids, err := h.queue.enter(ctx, list)
	d.say("new ", ids)
	if err != nil || d.rng.IntN(2) == 0 {
		return err
	}
	all, err = h.queue.open(ctx)
	for _, j := range all {
		d.say(j.ID, j.State, j.Tries)
	}
	return err
}

// book books a job, or has it run.
func (d *contractTrial) book(ctx context.Context, h handle, j *Job) error {
	if j.State == Booked {
		j.State = Running
		return h.queue.save(ctx, []*Job{j})
	}
	if j.State == Running {
		return nil
	}
	j.State, j.Tries = Booked, j.Tries+1
	at := d.one("c1", "c2")
	row := bookingRow{j.request(), j.ID, at, d.now + d.rng.Int64N(40), d.now + 40 + d.rng.Int64N(300), 1, wire.Booking{Job: j.ID, Key: j.request(), Way: wire.Begin}}
	return cmp.Or(h.queue.save(ctx, []*Job{j}), h.bookings.book(ctx, []bookingRow{row}, 1),
		h.actions.add(ctx, []actionRow{{string(launch) + "/" + j.request(), j.ID, launch, d.now}}, 1))
}

// over ends a job, or its booking.
func (d *contractTrial) over(ctx context.Context, h handle, j *Job) error {
	if j.State == Waiting {
		return nil
	}
	err := h.bookings.close(ctx, []closedRow{{j.request(), "over", d.now, j.ID}})
	if j.State = Waiting; d.rng.IntN(2) == 0 {
		j.State = Done
		err = cmp.Or(err, d.finish(ctx, h, j.ID))
	}
	err = cmp.Or(err, h.queue.save(ctx, []*Job{j}))
	h.queue.over(map[string]*Job{j.ID: j})
	return err
}

// finish does all that is to be done of a job.
func (d *contractTrial) finish(ctx context.Context, h handle, job string) error {
	list, err := h.actions.claim(ctx, leasing{who: "me", now: d.now, until: d.now - 1, limit: 1000})
	for _, a := range list {
		if a.Job == job {
			err = cmp.Or(err, h.actions.close(ctx, a, result{}))
		}
	}
	return err
}

func (d *contractTrial) clusters(ctx context.Context, h handle) error {
	name := d.one("c1", "c2", "c3")
	ack := &wire.Ack{}
	known, torn, err := h.clusters.standing(ctx, name, true, ack)
	d.say(name, known, torn, ack.Seq, ack.Digest)
	if err != nil || !known && d.rng.IntN(3) > 0 {
		return cmp.Or(err, h.clusters.askAgain(ctx, name), h.clusters.beat(ctx, &wire.Beat{Cluster: name, Made: d.now, TTL: 60}, d.now))
	}
	switch d.rng.IntN(8) {
	case 0, 1:
		return h.clusters.keep(ctx, d.delta(name, ack.Seq, !known), d.now)
	case 2:
		return h.clusters.beat(ctx, &wire.Beat{Cluster: name, Made: d.now - d.rng.Int64N(20), TTL: 30 + d.rng.Int64N(90)}, d.now)
	case 3:
		return h.clusters.askAgain(ctx, name)
	case 4:
		c := &cluster{name: name, drained: d.rng.IntN(2) == 0, hits: d.rng.Int64N(9), misses: d.rng.Int64N(9), launchMS: d.rng.Int64N(9)}
		c.trust.Count(0.9, 0.5, d.rng.IntN(2) == 0, d.now)
		return h.clusters.count(ctx, c)
	case 5:
		return h.clusters.hear(ctx, []beatRow{{name, int64(ack.Seq) - d.rng.Int64N(2), d.now - d.rng.Int64N(9), 77}}, d.now)
	case 6:
		good, err := h.clusters.goodFor(ctx, name, d.now)
		d.say("good for ", good)
		list, bad := h.clusters.beats(ctx)
		slices.SortFunc(list, func(a, b beatRow) int { return cmp.Compare(a.Name, b.Name) })
		d.say("beats ", list)
		return cmp.Or(err, bad)
	}
	return d.readClusters(ctx, h, name)
}

// readClusters reads one or all, and what one publishes of itself.
func (d *contractTrial) readClusters(ctx context.Context, h handle, name string) error {
	list, err := h.clusters.read(ctx, d.one("", name))
	for _, r := range list {
		d.say(r.name, r.seq, r.digest, r.made, r.ttl, r.drained, r.hits, r.misses, r.launchMS, r.trust)
		err = cmp.Or(err, d.tell("of it", []any{r.site, r.load}, nil))
	}
	site, bad := h.clusters.site(ctx, name)
	if known := !errors.Is(bad, ErrNoCluster); !known {
		bad = nil
	}
	return d.tell("site", site, cmp.Or(err, bad))
}

// delta is one that goes with what is there.
func (d *contractTrial) delta(name string, seq uint64, full bool) *wire.Delta {
	v := &wire.Delta{Cluster: name, Seq: seq + 1, Digest: fmt.Sprint("digest", d.rng.IntN(1000)), Made: d.now, TTL: 60 + d.rng.Int64N(60), Full: full || d.rng.IntN(3) == 0}
	if d.rng.IntN(2) == 0 {
		v.Site = &wire.Site{LRMS: d.one("slurm", "condor"), Start: wire.Begin, Turns: d.rng.Int32N(5), Nodes: []wire.Node{{Name: "n", CPUs: 1 + d.rng.Int32N(9), Up: true}}}
	}
	if d.rng.IntN(2) == 0 {
		v.Load = &wire.Load{CPUs: d.rng.IntN(9), Waiting: d.rng.IntN(9)}
	}
	return v
}

func (d *contractTrial) wallet(ctx context.Context, h handle) error {
	owner := d.one("alice", "bob")
	if d.last++; d.last > 40 && d.rng.IntN(3) == 0 { // before that nothing is in it
		until := d.now + d.rng.Int64N(900)
		switch d.rng.IntN(3) {
		case 0:
			return h.wallet.keep(ctx, d.s.seal, delegated{owner, []byte("secret"), until, 0, []string{d.one("", "atlas")}})
		case 1:
			return h.wallet.show(ctx, owner, until, d.s.seal.Close(lastName(owner), nil))
		}
		return h.wallet.vouch(ctx, owner, []string{d.one("/atlas", "/cms")}, until)
	}
	quiet, bad := h.reign.quiet(ctx, &memory{epoch: 0})
	if d.last <= 40 {
		d.say("quiet ", quiet)
	}
	all, err := h.wallet.expiries(ctx)
	some, worse := h.wallet.credentials(ctx, []string{owner})
	for _, a := range []authorities{all, some} {
		for _, of := range slices.SortedFunc(maps.Keys(a.own), holder.compare) {
			d.say(of, a.own[of].until)
		}
		for _, of := range slices.Sorted(maps.Keys(a.last)) {
			d.say(of, a.last[of].until, a.last[of].other)
		}
		d.say(len(a.own), len(a.last), a.vouched)
	}
	return cmp.Or(bad, err, worse)
}

// newSealedFile is newFile of a scheduler that keeps credentials.
func newSealedFile(t *testing.T) *Store {
	t.Helper()
	s := newFile(t)
	var err error
	if s.seal, err = NewSeal(NewKey()); err != nil {
		t.Fatal(err)
	}
	return s
}

// What a context's end would end in a database that is needed goes on in a scratch one: its only transaction is not lost.
func TestScratchOutlivesItsCaller(t *testing.T) {
	s := newScratch(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	err := s.tx(ctx, func(h handle) error { _, err := h.exec(ctx, "delete from restored"); return err })
	if err != nil {
		t.Error(err)
	}
}
