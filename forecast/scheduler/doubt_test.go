package scheduler

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
)

// inDoubt is a job that was sent to c0 by a replica that was killed before it could say so; its
// action is leased for a second try.
func inDoubt(t *testing.T, w *world, a action) action {
	t.Helper()
	r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
	if again := (outbox{w.s}).attempt(t.Context(), a, &r); again != 0 || r.Kind != 0 || len(w.sites["c0"].guests) != 1 {
		t.Fatalf("%v, %v %s", again, r.Kind, r.Said)
	}
	w.now = w.now.Add(lease + time.Second)
	return w.claimed(1)[0]
}

// Where it is not known whether a job was sent, and its owner's credential ends before that can
// be asked, it waits for the next credential: it is not planned for another place, where it
// would run a second time.
func TestSentAndNotSaidWithoutCredential(t *testing.T) {
	w, a := due(t)
	w.delegate("alice", time.Minute)
	a = inDoubt(t, w, a)
	w.now = w.now.Add(time.Minute)
	(outbox{w.s}).act(t.Context(), a)
	if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
		t.Fatal(err)
	}
	j := w.job(a.Job)
	if j.State != Booked {
		t.Fatalf("without a credential it is %s: %s", j.State, j.Reason)
	}
	if r, err := w.s.Why(t.Context(), j); err != nil || !strings.Contains(strings.Join(r.Text, "; "), "on its way to c0") || !strings.Contains(strings.Join(r.Text, "; "), "waits: the credential") {
		t.Errorf("why: %q, %v", r.Text, err)
	}
	w.delegate("alice", time.Hour)
	w.now = w.now.Add(renewTime)
	(outbox{w.s}).act(t.Context(), w.claimed(1)[0])
	if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
		t.Fatal(err)
	}
	if j := w.job(a.Job); j.State != Sent || len(w.sites["c0"].guests) != 1 {
		t.Errorf("renewed: it is %s, %d requests at the site", j.State, len(w.sites["c0"].guests))
	}
}

// without takes clusters out of the configuration, and starts the scheduler anew.
func (w *world) without(names ...string) {
	w.conf.Clusters = maps.Clone(w.conf.Clusters)
	for _, name := range names {
		delete(w.conf.Clusters, name)
	}
	w.restart()
}

// A cluster is taken out of the configuration while a job may be there: it is looked for where it
// was booked, and followed to its end. One that was not sent is planned for another.
func TestClusterTakenOutWhileSending(t *testing.T) {
	w, a := due(t)
	a = inDoubt(t, w, a)
	w.without("c0")
	r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
	if again := (outbox{w.s}).attempt(t.Context(), a, &r); again != 0 || r.Kind != 0 || r.Handle.ID == "" {
		t.Errorf("of one that was sent: %v, %v %s", again, r.Kind, r.Said)
	}
	(outbox{w.s}).act(t.Context(), a)
	for range 60 {
		w.step(30)
	}
	if j := w.job(a.Job); j.State != Done {
		t.Errorf("it is %s", j.State)
	}
	w, a = due(t)
	w.without("c0")
	r = result{}
	if again := (outbox{w.s}).attempt(t.Context(), a, &r); again != 0 || r.Kind != plugins.Unavailable || !strings.Contains(r.Said, "taken out") || len(w.sites["c0"].guests) != 0 {
		t.Errorf("of one that was not sent: %v, %v %s", again, r.Kind, r.Said)
	}
}

// A cluster that is not in the configuration any more gets no jobs; those it has are followed to
// their ends, and until then the page and the API show it as what it is, and no longer.
func TestClusterTakenOut(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 2, 2)
	id := w.submit("alice", "runs", 1200)
	for w.job(id).State != Running {
		if w.step(30); w.now.Sub(simEpoch) > time.Hour {
			t.Fatal(w.job(id).State)
		}
	}
	at := w.job(id).Booking.Cluster
	w.without(at)
	shown := func() (names map[string]bool) {
		t.Helper()
		members, err := w.s.store.Members(t.Context(), w.now.Unix())
		if err == nil {
			members, err = present(t.Context(), w.s, members, func(m *Member) (string, *bool) { return m.Name, &m.Gone })
		}
		if err != nil {
			t.Fatal(err)
		}
		names = map[string]bool{}
		for _, m := range members {
			names[m.Name] = m.Gone
		}
		return names
	}
	other := map[string]string{"c0": "c1", "c1": "c0"}[at]
	if got := shown(); len(got) != 2 || !got[at] || got[other] {
		t.Errorf("while its job runs: %v", got)
	}
	late := w.submit("alice", "late", 300)
	for range 90 {
		w.step(30)
	}
	for _, job := range []string{id, late} {
		if j := w.job(job); j.State != Done || j.Tries != 1 {
			t.Errorf("%s is %s (%s) after %d bookings", j.Key, j.State, j.Reason, j.Tries)
		}
	}
	if at := w.booked(late); !slices.Equal(at, []string{other}) {
		t.Errorf("booked at %v", at)
	}
	if got := shown(); len(got) != 1 || got[other] {
		t.Errorf("when its job has ended: %v", got)
	}
}

// A job that asks for more than any cluster has is told that, and what the most is; nobody has to
// find it out from slots.
func TestWiderThanEveryCluster(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 12, 5)
	for key, v := range map[string]struct{ asks, want string }{
		"fits":   {"CpuNumber = 12;", ""},
		"wide":   {"CpuNumber = 500;", "it asks for 500 processors, and no cluster is so wide: the widest, c0, has 12"},
		"nodes":  {"CpuNumber = 40; HostNumber = 40;", "it asks for 40 processors, and no cluster is so wide: the widest, c0, has 12"},
		"a node": {"CpuNumber = 4; HostNumber = 1;", "it asks for 4 processors of a node, and no node has so many: the largest, of c0, has 1"},
	} {
		id := w.submitJob("alice", key, `[ Executable = "/bin/true"; WallTime = 600; Requirements = true; `+v.asks+" ]", 1)
		if w.step(30); v.want == "" {
			continue
		}
		w.step(30)
		j := w.job(id)
		if r, err := w.s.Why(t.Context(), j); err != nil || len(r.Text) != 1 || r.Text[0] != v.want {
			t.Errorf("%s: %q, %v", key, r.Text, err)
		}
		if w.s.mem.explained = 0; j.State != Waiting {
			t.Errorf("%s is %s", key, j.State)
		}
		if w.step(30); w.job(id).Blocked != v.want {
			t.Errorf("%s: blocked %q", key, w.job(id).Blocked)
		}
	}
}

// Output is asked for again as long as the site does not answer, for a day; what it says it does
// not give is asked for a few times. Waiting for a credential is no try.
func TestOutputOfASiteThatIsAway(t *testing.T) {
	ended := &Job{State: Collecting, Ended: simEpoch.Unix(), Booking: &Place{To: simEpoch.Unix()}}
	for name, v := range map[string]struct {
		kind  plugins.Kind
		tries int
		after time.Duration
		again bool
	}{
		"away":             {plugins.Unavailable, 50, time.Hour, true},
		"away for long":    {plugins.Unavailable, 50, 25 * time.Hour, false},
		"no answer":        {plugins.Uncertain, 50, time.Hour, true},
		"refused":          {plugins.Refused, 4, time.Hour, true},
		"refused for long": {plugins.Refused, 5, time.Hour, false},
	} {
		w := &world{now: simEpoch.Add(v.after)}
		s := &Scheduler{now: func() time.Time { return w.now }}
		wait := outbox{s}.collectAgain(action{Verb: collect, Attempts: v.tries}, ended, &plugins.Error{Kind: v.kind})
		if (wait > 0) != v.again {
			t.Errorf("%s: again in %v", name, wait)
		}
	}
	w := newWorld(t, sqliteDSN(t), 3, 0, 2)
	w.delegate("alice", 20*time.Minute)
	id := w.submit("alice", "k", 1800)
	for w.job(id).State != Running {
		if w.step(30); w.now.Sub(simEpoch) > time.Hour {
			t.Fatal(w.job(id).State)
		}
	}
	for _, g := range w.sites["c0"].guests { // it ends now, and with it the credential
		g.run = w.now.Unix() - g.started
	}
	w.sites["c0"].advance(w.now.Unix())
	w.follow(t.Context())
	if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil || w.job(id).State != Collecting {
		t.Fatal(w.job(id).State, err)
	}
	w.delegate("alice", 0)
	for range 2 * collectTries {
		w.now = w.now.Add(2 * renewTime)
		for _, a := range w.claimed(1) {
			(outbox{w.s}).act(t.Context(), a)
		}
	}
	w.now = w.now.Add(2 * renewTime)
	if a := w.claimed(1)[0]; a.Verb != collect || a.Attempts != 1 {
		t.Errorf("%s was tried %d times without a credential", a.Verb, a.Attempts-1)
	}
	if r, err := w.s.Why(t.Context(), w.job(id)); err != nil || !strings.Contains(strings.Join(r.Text, "; "), "output is being brought; what is to be done with it at its site waits: the credential") {
		t.Errorf("why: %q, %v", r.Text, err)
	}
}
