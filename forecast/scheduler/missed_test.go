package scheduler

import (
	"slices"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// A job that missed its slot says so, in the site's words, until it runs: what the site called it there is no word for where it
// waits now.
func TestMissedSlotIsTold(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	site := w.sites["c0"]
	site.start = wire.Begin
	id := w.submit("alice", "k", 600)
	for range 10 {
		if w.step(10); w.job(id).State == Sent {
			break
		}
	}
	for i := range site.nodes { // local jobs took what was foreseen to be free
		site.nodes[i] = simNode{until: w.now.Unix() + 1200}
	}
	for range 20 {
		if w.step(30); w.job(id).Misses > 0 {
			break
		}
	}
	if j := w.job(id); j.State != Waiting || j.Native != "" || j.Reason != "the site ended it before it began: DEADLINE" {
		t.Errorf("it is %s %q: %q", j.State, j.Native, j.Reason)
	}
	for range 100 {
		if w.step(30); w.job(id).State == Running {
			break
		}
	}
	if j := w.job(id); j.State != Running || j.Native != "RUNNING" || j.Reason != "" {
		t.Errorf("then it is %s %q: %q", j.State, j.Native, j.Reason)
	}
}

// A job that is taken back since it did not start says what it waited for at the site, in its log as well.
func TestWithdrawnSaysWhatItWaitedFor(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	site := w.sites["c0"]
	site.start = wire.Plain
	id := w.submit("alice", "k", 600)
	for range 100 {
		if w.step(1); w.job(id).State == Booked {
			break
		}
	}
	for i := range site.nodes {
		site.nodes[i] = simNode{until: w.now.Unix() + 3600}
	}
	for range 60 {
		if w.step(10); w.job(id).State == Sent {
			for _, g := range site.guests {
				g.reason = "Resources"
			}
		}
		if w.job(id).Misses > 0 {
			break
		}
	}
	const want = "it did not start in its slot: the site said PENDING Resources"
	if j := w.job(id); j.Reason != want {
		t.Errorf("it is %s: %q", j.State, j.Reason)
	}
	list, err := w.store.Log(t.Context(), id, 0, 1000)
	if err != nil || !slices.ContainsFunc(list, func(e Entry) bool { return e.Event == "replan" && e.Said == want }) {
		t.Errorf("its log says %+v (%v)", list, err)
	}
}

// A job that misses slot after slot at a site, as where its batch system takes it and begins it never, is sent there ever more seldom: each
// try takes a slot from others, and counts as one that the site did not keep.
func TestSlotsThatAreMissedAgainAndAgain(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	site := w.sites["c0"]
	site.start = wire.Begin
	id := w.submit("alice", "k", 600)
	var at []int64 // when a slot was missed
	for tries := 0; len(at) < 9 && w.now.Before(simEpoch.Add(4*time.Hour)); w.step(10) {
		j := w.job(id)
		if j.State == Sent && j.Tries > tries {
			tries = j.Tries
			for i := range site.nodes {
				site.nodes[i] = simNode{until: w.now.Unix() + 120}
			}
		}
		if j.Misses > len(at) {
			at = append(at, w.now.Unix())
		}
	}
	if len(at) < 9 {
		t.Fatalf("only %d slots were missed", len(at))
	}
	if first, last := at[1]-at[0], at[8]-at[7]; first > 300 || last < 600 || last > 1000 {
		t.Errorf("the second was %d s after the first, the ninth %d s after the eighth", first, last)
	}
}
