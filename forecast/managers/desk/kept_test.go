package desk

import (
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// A place that is claimed is held over a restart of the desk, though its user is not heard of at once; a second claim that the disk
// does not take leaves the first as it was.
func TestClaimsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, id := one(t, managers.Resources{CPUs: 1})
		synctest.Wait()
		f.Answer(daemon.Offer{Job: id, Manager: "https://one", System: "one"})
		if got := f.claims(t); got != "claimed one" {
			t.Fatal(got)
		}
		f.store.db.SetMaxOpenConns(1)
		if _, err := f.store.db.Exec("PRAGMA query_only = 1"); err != nil {
			t.Fatal(err)
		}
		f.claim("alice", []string{"a"})
		if got := f.state(t); got != managers.UserClaimed {
			t.Errorf("after a claim that could not be written it is %s", got)
		}
		f.open(t)
		time.Sleep(5 * time.Minute) // its user is not heard of
		if _, back := f.heard(); f.state(t) != managers.UserClaimed || len(back) > 0 {
			t.Errorf("after a restart it is %s, given back %v", f.state(t), back)
		}
		f.stop(t)
	})
}

// A manager is told to let copies go of a job that has a place elsewhere, and of one that has ended, though its user is there.
func TestCopiesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, id := one(t, managers.Resources{CPUs: 1})
		synctest.Wait()
		drops := func() int {
			return len(f.Orders(daemon.Report{Manager: "https://two", Waiting: []managers.ID{id}}).Drop)
		}
		if n := drops(); n != 0 {
			t.Errorf("of a job that waits %d", n)
		}
		f.Answer(daemon.Offer{Job: id, Manager: "https://one", System: "one"})
		if n := drops(); n != 1 {
			t.Errorf("of one that has a place %d", n)
		}
		if err := f.end("alice", []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if n := drops(); n != 1 {
			t.Errorf("of one that has ended %d", n)
		}
		f.stop(t)
	})
}
