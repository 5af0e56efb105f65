package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"time"

	"gridbroker/plugins"
)

// A cluster that takes none of the jobs sent there is told of with its own words; one that refuses some jobs is not, nor one
// that was not asked, whatever was said of that. What a program of the version before has ended it left no kind of.
func TestClustersThatTakeNothing(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	n := 0
	launched := func(cluster string, how ending, said ...string) {
		for _, text := range said {
			n++
			err := w.store.tx(t.Context(), func(h handle) error {
				if _, err := h.exec(t.Context(), `insert into booking (key, job, cluster, state, begins, ends, procs, epoch, body) values ($1, $1, $2, 'missed', 1, 2, 1, 1, '{}')`, fmt.Sprint("j", n), cluster); err != nil {
					return err
				}
				_, err := h.exec(t.Context(), `insert into action (key, job, verb, epoch, due, done, result, ending) values ($1, $1, 'launch', 1, 1, 1, $2, $3)`, fmt.Sprint("launch/j", n), text, string(how))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	launched("broken", endedWell, "")
	launched("broken", endedBad, "quota", "disk", "no such account")
	launched("twice", endedBad, "one", "two")
	launched("sometimes", endedBad, "no", "no")
	launched("sometimes", endedWell, "")
	launched("sometimes", endedBad, "no", "no")
	launched("unasked", unasked, onRequest, "the booking is over", "in whatever words", errExpired.Error())
	launched("says what the scheduler says", endedBad, onRequest, onRequest, onRequest)
	launched("before", "", "quota", "quota", "quota")
	launched("before, well", "", "")
	launched("before, well", endedBad, "no", "no")
	launched("before, well", "", "")
	launched("before, well", endedBad, "no")
	launched("well", endedWell, "", "", "")
	got, err := Untaken(t.Context(), w.store)
	if want := map[string]string{"broken": "no such account", "says what the scheduler says": onRequest}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// endings counts how the launches ended.
func (w *world) endings() map[string]int {
	w.t.Helper()
	n := map[string]int{}
	err := w.store.read(w.t.Context(), func(h handle) error {
		return h.rows(w.t.Context(), func(scan func(...any) error) error {
			var how string
			err := scan(&how)
			n[how]++
			return err
		}, "select ending from action where verb = 'launch' and done = 1")
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// Each way in which a launch ends is recorded by its kind, whatever is said of it.
func TestEndingsOfLaunches(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(w *world, id string)
		want      ending
	}{
		"sent": {func(*world, string) {}, endedWell},
		"cancelled before anybody takes it up": {func(w *world, id string) {
			if err := w.s.Cancel(t.Context(), Person{Subject: "alice"}, id); err != nil {
				t.Fatal(err)
			}
		}, unasked},
		"its credential runs out": {func(w *world, _ string) { w.delegate("alice", time.Second) }, unasked},
		"its site refuses it": {func(w *world, _ string) {
			open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
				reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: &unreserved{simSite: w.sites["c0"], refusals: 1}})
				return reg, func() {}, err
			}
			w.s = New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
			w.s.setLead(w.epoch)
		}, endedBad},
	} {
		t.Run(name, func(t *testing.T) {
			w, id := booked(t)
			c.meanwhile(w, id)
			for range 20 {
				if w.step(10); len(w.endings()) > 0 {
					break
				}
			}
			if got := w.endings(); got[string(c.want)] == 0 || len(got) != 1 {
				t.Errorf("%v; want %q", got, c.want)
			}
		})
	}
}
