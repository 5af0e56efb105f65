package scheduler

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gridbroker/plugins"
)

// newFile opens a database in a file, with its tables.
func newFile(t *testing.T) *Store {
	t.Helper()
	s, err := OpenStore("sqlite:"+filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// outboxTrial does the same, drawn by chance, to the outbox of a store, and writes down what that says.
type outboxTrial struct {
	t    *testing.T
	o    outbox
	rng  *rand.Rand
	now  time.Time
	held map[int64]action // by number, what is leased; nobody else is there to take it
	said []string
}

func (d *outboxTrial) say(v ...any) { d.said = append(d.said, fmt.Sprint(v...)) }

func (d *outboxTrial) tx(f func(h handle) error) {
	d.t.Helper()
	if err := d.o.store.tx(d.t.Context(), f); err != nil {
		d.t.Fatal(err)
	}
}

// job is one of a few jobs, and the key of something that is done to it.
func (d *outboxTrial) job() (id string, v verb, key string) {
	id = fmt.Sprint("job", d.rng.IntN(6))
	v = []verb{launch, withdraw, end, collect}[d.rng.IntN(4)]
	return id, v, string(v) + "/" + id + "-1"
}

func (d *outboxTrial) step() {
	ctx, t := d.t.Context(), d.now.Unix()
	id, v, key := d.job()
	switch d.rng.IntN(9) {
	case 0, 1, 2:
		due := t + int64(d.rng.IntN(80)) - 5
		d.tx(func(h handle) error { return h.actions.add(ctx, []actionRow{{key, id, v, due}}, 1) })
	case 3, 4:
		list, err := d.o.claim(ctx, "me", d.now, 1+d.rng.IntN(4))
		d.say(len(list), err)
		for _, a := range list {
			d.held[a.ID] = a
			a.ID = 0 // a table leaves numbers out
			d.say(a)
		}
	case 5:
		d.end()
	case 6:
		d.tx(func(h handle) error {
			dropped, err := h.actions.drop(ctx, id, key)
			d.say("dropped", dropped)
			return err
		})
	case 7:
		d.tx(func(h handle) error { return h.actions.hurry(ctx, id, key, t) })
	case 8:
		if d.rng.IntN(4) == 0 {
			d.tx(func(h handle) error { return forgetAtSite(ctx, h, id, d.now) })
			maps.DeleteFunc(d.held, func(_ int64, a action) bool { return a.Job == id })
		}
	}
	d.now = d.now.Add(time.Duration(d.rng.IntN(6)) * time.Second)
}

// end ends, gives back or keeps one of the actions that were leased.
func (d *outboxTrial) end() {
	if len(d.held) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(d.held))
	a := d.held[ids[d.rng.IntN(len(ids))]]
	r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key, cleanable: a.Verb == collect}
	if d.rng.IntN(3) == 0 {
		r.Kind = plugins.Refused
	}
	r.untaken = d.rng.IntN(2) == 0
	var err error
	switch d.rng.IntN(3) {
	case 0:
		err = d.o.finish(d.t.Context(), a, r)
		delete(d.held, a.ID)
	case 1:
		err = d.o.again(d.t.Context(), a, d.now.Add(3*time.Second), r)
		delete(d.held, a.ID)
	case 2:
		err = d.o.renew(d.t.Context(), a, d.now)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// outboxes does the same to two whole ones, with what an outbox does around its table.
func outboxes(t *testing.T) {
	for seed := range uint64(5) {
		var said [][]string
		for _, s := range []*Store{newFile(t), newScratch(t)} {
			d := &outboxTrial{t: t, o: outbox{&Scheduler{store: s, now: time.Now}}, rng: rand.New(rand.NewPCG(seed, 1)), held: map[int64]action{}, now: time.Unix(1_800_000_000, 0)}
			d.o.now = func() time.Time { return d.now }
			for range 250 {
				d.step()
			}
			said = append(said, d.said)
		}
		sameSaid(t, seed, said)
	}
}
