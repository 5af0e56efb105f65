package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

func (w *world) job(id string) *Job {
	w.t.Helper()
	list, err := w.s.Jobs(w.t.Context(), Person{Admin: true}, []string{id})
	if err != nil || len(list) != 1 {
		w.t.Fatal(id, len(list), err)
	}
	return list[0]
}

// said tells how often an event is in a job's log, and its last words.
func (w *world) said(id, event string) (n int, last string) {
	w.t.Helper()
	for _, e := range w.logged(id, event) {
		n, last = n+1, e.Said
	}
	return n, last
}

// logged are the entries of a job's log about one event.
func (w *world) logged(id, event string) []Entry {
	w.t.Helper()
	list, err := w.store.Log(w.t.Context(), id, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(e Entry) bool { return e.Event != event })
}

// booked are the clusters at which the log of a job says that it was booked.
func (w *world) booked(id string) (at []string) {
	w.t.Helper()
	for _, e := range w.logged(id, "booked") {
		at = append(at, e.Cluster)
	}
	return at
}

func (w *world) delegate(owner string, life time.Duration) {
	w.t.Helper()
	if err := w.store.KeepCredential(w.t.Context(), owner, []byte("a proxy"), w.now.Add(life), time.Time{}); err != nil {
		w.t.Fatal(err)
	}
}

// A job whose credential ends too early is told about and not ended; one whose
// credential has run out waits for the next.
func TestCredentialThatEndsTooEarly(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.delegate("alice", 10*time.Minute)
	long := w.submit("alice", "long", 1200)
	for range 3 {
		w.step(30)
	}
	if n, said := w.said(long, "credential"); n != 1 || !strings.Contains(said, "renew it before") {
		t.Fatalf("told %d times: %s (%s)", n, said, w.job(long).State)
	}
	for range 25 {
		w.step(30)
	}
	late := w.submit("alice", "late", 120)
	for range 5 {
		w.step(30)
	}
	j := w.job(late)
	if n, said := w.said(late, "credential"); n != 1 || j.State != Waiting || j.Tries != 0 || !strings.Contains(said, "run out") {
		t.Errorf("with an expired credential: %s, told %d times: %s", j.State, n, said)
	}
	if r, err := w.s.Why(t.Context(), j); err != nil || len(r.Text) != 1 || !strings.Contains(r.Text[0], "renew it") {
		t.Errorf("why: %v, %v", r.Text, err)
	}
	w.delegate("alice", time.Hour)
	for range 60 {
		w.step(30)
	}
	for _, id := range []string{long, late} {
		if j := w.job(id); j.State != Done || j.Tries != 1 {
			t.Errorf("renewed: %s is %s (%s) after %d bookings", j.Key, j.State, j.Reason, j.Tries)
		}
	}
}

// A job that its owner ends while his credential has run out is ended when he
// has renewed it, and is not taken to have missed its slot again and again.
func TestCancelledWithoutCredential(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.delegate("alice", 3*time.Minute)
	id := w.submit("alice", "k", 3600)
	for w.job(id).State != Running {
		w.step(30)
		if w.now.Sub(simEpoch) > time.Hour {
			t.Fatal(w.job(id).State)
		}
	}
	for w.now.Sub(simEpoch) < 4*time.Minute {
		w.step(30)
	}
	if err := w.s.Cancel(t.Context(), Person{Subject: "alice"}, id); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		w.step(30)
	}
	if j := w.job(id); j.State != Running {
		t.Fatalf("%s without a credential to end it with", j.State)
	}
	w.delegate("alice", time.Hour)
	for range 10 {
		w.step(30)
	}
	if j := w.job(id); j.State != Cancelled || j.Reason != onRequest {
		t.Errorf("after the renewal it is %s: %s", j.State, j.Reason)
	}
}

// A job that is not in its slot is withdrawn once, however long its owner's
// credential has run out.
func TestLateWithoutCredential(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 1)
	w.delegate("alice", 10*time.Minute)
	id := w.submit("alice", "k", 300)
	for w.job(id).State != Sent {
		w.step(10)
		if w.now.Sub(simEpoch) > 10*time.Minute {
			t.Fatal("never sent ahead")
		}
	}
	site := w.sites["c0"]
	site.nodes[0].until = w.now.Unix() + 7200 // a local job takes the node
	for _, g := range site.guests {
		g.deadline = 0
	}
	w.delegate("alice", 20*time.Second)
	for range 20 {
		w.step(30)
	}
	if n, _ := w.said(id, "late"); n != 1 {
		t.Errorf("said to be late %d times", n)
	}
	if w.s.mem.clusters["c0"].misses != 1 {
		t.Errorf("%d misses", w.s.mem.clusters["c0"].misses)
	}
	w.delegate("alice", time.Hour)
	for range 6 {
		w.step(30)
	}
	if j := w.job(id); j.State != Waiting || j.Misses != 1 {
		t.Errorf("after the renewal it is %s, %d misses", j.State, j.Misses)
	}
}

// A late job that begins just when it is taken back, and is ended by that, is planned again:
// nobody has cancelled it.
func TestBeginsWhenWithdrawn(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 1)
	id := w.submit("alice", "k", 300)
	for w.job(id).State != Sent {
		w.step(10)
		if w.now.Sub(simEpoch) > 10*time.Minute {
			t.Fatal("never sent ahead")
		}
	}
	site := w.sites["c0"]
	site.starts = true
	site.nodes[0].until = w.now.Unix() + 7200 // a local job takes the node
	for _, g := range site.guests {
		g.deadline = 0
	}
	for n := 0; n == 0; n, _ = w.said(id, "late") {
		w.step(10)
		if w.now.Sub(simEpoch) > 30*time.Minute {
			t.Fatal("never late")
		}
	}
	site.starts = false
	for range 120 {
		w.step(30)
	}
	if j := w.job(id); j.State != Done {
		t.Errorf("it is %s: %s", j.State, j.Reason)
	}
	if n, said := w.said(id, "replan"); n != 1 || !strings.Contains(said, "withdrawn") {
		t.Errorf("planned again %d times: %s", n, said)
	}
}

// shows has an owner ask with a token that is good for as long.
func (w *world) shows(owner string, life time.Duration) {
	w.t.Helper()
	if err := showToken(w.t.Context(), w.s, Person{Subject: owner, Token: true, Expires: w.now.Add(life)}); err != nil {
		w.t.Fatal(err)
	}
}

// A job whose owner's token has run out before it was begun is held, and said to be, until he shows
// a newer one; one that runs by then goes on, and is ended without one.
func TestTokenThatEndsFirst(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.shows("alice", 10*time.Minute)
	long := w.submit("alice", "long", 7200)
	for range 25 {
		w.step(30)
	}
	if n, said := w.said(long, "credential"); n != 0 || w.job(long).State != Running {
		t.Fatalf("a job that runs needs no token: told %d times: %s (%s)", n, said, w.job(long).State)
	}
	late := w.submit("alice", "late", 120)
	for range 5 {
		w.step(30)
	}
	j := w.job(late)
	if n, said := w.said(late, "credential"); n != 1 || j.State != Waiting || j.Tries != 0 || !strings.Contains(said, "token") || !strings.Contains(said, "run out") {
		t.Errorf("with a token that has run out: %s, told %d times: %s", j.State, n, said)
	}
	if v := view(j, false); v.Plugins != plugins.Held || !strings.Contains(v.Reason, "newer one") {
		t.Errorf("its owner sees %s: %s", v.Plugins, v.Reason)
	}
	if r, err := w.s.Why(t.Context(), j); err != nil || len(r.Text) != 1 || !strings.Contains(r.Text[0], "newer one") {
		t.Errorf("why: %v, %v", r.Text, err)
	}
	if err := w.s.Cancel(t.Context(), Person{Subject: "alice"}, long); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.step(30)
	}
	if j := w.job(long); j.State != Cancelled {
		t.Errorf("cancelled without a token: %s", j.State)
	}
	w.shows("alice", time.Hour)
	w.shows("alice", time.Minute) // another one of hers, which ends before
	for range 10 {
		w.step(30)
	}
	if j := w.job(late); j.State != Done || j.Tries != 1 || view(j, false).Plugins != plugins.Done {
		t.Errorf("renewed: it is %s (%s) after %d bookings", j.State, j.Reason, j.Tries)
	}
	if n, said := w.said(late, "credential"); n != 2 || !strings.HasPrefix(said, "renewed, good until 20") {
		t.Errorf("told %d times: %s", n, said)
	}
}

// A job that is booked when its owner's token ends is not sent, keeps away from no cluster for
// that, and is sent when there is a newer one.
func TestTokenThatEndsBeforeTheLaunch(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.sites["c0"].start = wire.Plain // launches wait in the outbox for their slots
	w.shows("alice", time.Hour)
	id := w.submit("alice", "k", 300)
	for w.job(id).State != Booked {
		w.step(5)
		if w.now.Sub(simEpoch) > 30*time.Minute {
			t.Fatal(w.job(id).State)
		}
	}
	err := w.store.tx(t.Context(), func(h handle) error {
		return h.write(t.Context(), "update credential set expires = $1", w.now.Unix())
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		w.step(5)
	}
	if j := w.job(id); j.State != Waiting || !j.Held || len(j.Avoid) > 0 || j.Charged != 0 {
		t.Errorf("it is %s, held %v, avoids %v, was charged %d", j.State, j.Held, j.Avoid, j.Charged)
	}
	if n := len(w.sites["c0"].guests); n != 0 {
		t.Errorf("%d jobs were sent", n)
	}
	w.restart() // what is told, and held, is not in the leader's memory alone
	w.shows("alice", 2*time.Hour)
	for range 120 {
		w.step(5)
	}
	if j := w.job(id); j.State != Done || j.Tries < 2 {
		t.Errorf("renewed: it is %s (%s) after %d bookings", j.State, j.Reason, j.Tries)
	}
}

// An operator may have jobs begun for a while after their owner's last token.
func TestTokenGrace(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.conf.TokenGrace = time.Hour
	w.restart()
	w.shows("alice", time.Minute)
	w.step(120)
	id := w.submit("alice", "k", 300)
	for range 60 {
		w.step(30)
	}
	if j := w.job(id); j.State != Done {
		t.Errorf("a minute after the token's end: %s, %s", j.State, j.Blocked)
	}
	w.step(3600)
	id = w.submit("alice", "late", 300)
	for range 10 {
		w.step(30)
	}
	if j := w.job(id); !j.Held {
		t.Errorf("an hour after that: %s", j.State)
	}
}

// Who has delegated a proxy and shows a token that is good for longer keeps the proxy, for his jobs at their sites.
func TestTokenTakesNoProxyAway(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { proxyStays(t, sqliteDSN(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { proxyStays(t, postgresDSN(t)) })
}

func (w *world) authorities() (all authorities, err error) {
	err = w.store.read(w.t.Context(), func(h handle) error {
		all, err = h.wallet.expiries(w.t.Context())
		return err
	})
	return all, err
}

func proxyStays(t *testing.T, dsn string) {
	w := newWorld(t, dsn, 3, 0, 6)
	w.delegate("alice", time.Hour)
	w.shows("alice", 24*time.Hour)
	if body, err := credentialOf(t, w.store, holder{"alice", ""}, w.now); string(body) != "a proxy" || err != nil {
		t.Errorf("the scheduler has %q of her, %v", body, err)
	}
	w.shows("bob", time.Hour)
	w.delegate("bob", 30*time.Minute)
	all, err := w.authorities()
	if a, _ := all.of(holder{"bob", ""}, w.now.Unix()); err != nil || a.until != w.now.Add(30*time.Minute).Unix() {
		t.Errorf("a proxy after a token: %+v, %v", a, err)
	}
}
