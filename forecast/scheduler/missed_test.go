package scheduler

import (
	"testing"

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
