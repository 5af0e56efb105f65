package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// due is a world whose job is to be sent, and the action that says so, leased.
func due(t *testing.T) (w *world, a action) {
	w, _ = booked(t)
	w.now = w.now.Add(60e9)
	if a = w.claimed(1)[0]; a.Cluster != w.job(a.Job).Booking.Cluster {
		t.Fatalf("leased for cluster %q", a.Cluster) // whose turn it takes
	}
	return w, a
}

// claimed leases what is due, which is as much as that.
func (w *world) claimed(want int) []action {
	w.t.Helper()
	list, err := outbox{w.s}.claim(w.t.Context(), "another", w.now, 10)
	if err != nil || len(list) != want {
		w.t.Fatalf("%v is due, %v; want %d", list, err, want)
	}
	return list
}

// What a killed replica was at is tried again while the slot can still be had; what a
// living one is at is not, however long it takes, and who has lost it cannot speak for it.
func TestLeaseOfTheKilled(t *testing.T) {
	w, a := due(t)
	ctx, o := t.Context(), outbox{w.s}
	if w.s.conf.Grace < lease+leaseMargin {
		t.Errorf("what the dead had is free after %v, slots are given up after %v", lease, w.s.conf.Grace)
	}
	for range 10 { // alive
		w.now = w.now.Add(lease - time.Second)
		w.claimed(0)
		if err := o.renew(ctx, a, w.now); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.Add(lease + time.Second) // dead
	again := w.claimed(1)[0]
	if again.ID != a.ID || again.Attempts != 2 {
		t.Errorf("%+v after %+v", again, a)
	}
	if err := o.renew(ctx, a, w.now); !errors.Is(err, errLeaseLost) {
		t.Errorf("the first renews: %v", err)
	}
	if err := o.finish(ctx, a, result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key, Kind: plugins.Unavailable}); !errors.Is(err, errLeaseLost) {
		t.Errorf("the first ends it: %v", err)
	}
	if err := o.again(ctx, a, w.now, result{}); err != nil {
		t.Error(err)
	}
	w.claimed(0) // the second has it still
	if err := o.finish(ctx, again, result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key, Kind: plugins.Unavailable}); err != nil {
		t.Error(err)
	}
}

// A database that is away while a job is being sent says nothing of the job, nor of its
// owner's credential: it is sent when the database is back.
func TestDatabaseAwayWhileSent(t *testing.T) {
	for _, table := range []string{"file", "credential"} {
		w, _ := bookedJob(t, Submission{Files: []File{{Name: "in", Body: []byte("x")}}, JDL: `[ Executable = "/bin/true"; WallTime = 600; InputSandbox = {"in"}; Requirements = true; ]`})
		w.now = w.now.Add(60e9)
		a := w.claimed(1)[0]
		rename := func(from, to string) {
			if _, err := w.store.db.Exec("alter table " + from + " rename to " + to); err != nil {
				t.Fatal(err)
			}
		}
		r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
		rename(table, "away")
		if again := (outbox{w.s}).attempt(t.Context(), a, &r); again == 0 || r.Kind != 0 {
			t.Errorf("without %s: it is %v, %s", table, r.Kind, r.Said)
		}
		rename("away", table)
		if again := (outbox{w.s}).attempt(t.Context(), a, &r); again != 0 || r.Kind != 0 || r.Handle.ID == "" {
			t.Errorf("with %s again: %v, %s", table, r.Kind, r.Said)
		}
	}
}

// unreserved is a site that refuses a job until its nodes are reserved.
type unreserved struct {
	*simSite
	refusals, finds int
}

func (s *unreserved) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	if s.refusals--; s.refusals >= 0 {
		return []plugins.Result{{ID: reqs[0].ID, Err: &plugins.Error{Kind: plugins.Refused, Said: "Requested reservation is invalid"}}}
	}
	return s.simSite.Submit(ctx, reqs, p)
}

func (s *unreserved) Find(ctx context.Context, e glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	s.finds++
	return s.simSite.Find(ctx, e, ids)
}

// Until its nodes are reserved a job is handed in again and again, and not looked for at the
// site, which has refused it; how long that took is how far ahead is booked from then on.
func TestReservedLate(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.sites["c0"].start = wire.Reservation
	w.step(30)
	id := w.submit("alice", "k", 600)
	cycle := func() {
		t.Helper()
		if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
			t.Fatal(err)
		}
	}
	site := &unreserved{simSite: w.sites["c0"], refusals: 5}
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: site})
		return reg, func() {}, err
	}
	w.s = New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	cycle()
	for range 6 {
		w.now = w.now.Add(3 * time.Second)
		outbox{w.s}.act(t.Context(), w.claimed(1)[0])
	}
	cycle()
	if j := w.job(id); j.State != Sent || site.finds != 0 {
		t.Errorf("it is %s, looked for %d times", j.State, site.finds)
	}
	if ms := w.s.mem.clusters["c0"].launchMS; ms < 18_000/8 {
		t.Errorf("to send is said to take %d ms", ms)
	}
}

// slowSite is a site that takes a job when the sender gives up.
type slowSite struct {
	plugins.Submitter
	asked chan struct{}
}

func (s slowSite) Submit(ctx context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	close(s.asked)
	<-ctx.Done()
	return []plugins.Result{{Err: &plugins.Error{Kind: plugins.Unavailable, Err: ctx.Err()}}}
}

// A replica that is ended gives back what it is at, before it ends.
func TestReplicaGivesBack(t *testing.T) {
	w, _ := booked(t)
	w.now = w.now.Add(60e9)
	site := slowSite{asked: make(chan struct{})}
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: site})
		return reg, func() {}, err
	}
	s := New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- outbox{s}.run(ctx) }()
	<-site.asked
	w.claimed(0)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.now = w.now.Add(2 * time.Second)
	w.claimed(1)
}

// A site to which sending takes longer than its agent's word holds is planned for all the same:
// else nothing would be sent there any more, and nobody would see that it has become faster.
func TestSlowSitesStayOpen(t *testing.T) {
	for _, ms := range []int64{0, 5_000, 60_000, 3_600_000} {
		conf := Config{Cycle: 10 * time.Second}
		p := conf.planned(&cluster{launchMS: ms, made: 1000, ttl: 180}, 1000)
		if p.TMin >= p.TMax || p.Good < p.TMax || int64(p.TMin) < min(ms/1000, 100) {
			t.Errorf("%d ms: starts from %d s on, until %d s, the agent's word holds %d s", ms, p.TMin, p.TMax, p.Good)
		}
	}
}
