package agent

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestEventsAreToldFirst: what a look shows is published before the whole queue and
// the odds of its jobs are worked out, and looks go on while they are.
func TestEventsAreToldFirst(t *testing.T) {
	b := newBench(t)
	for i := range 40 {
		b.later(fmt.Sprint("j", i), false)
	}
	a := b.agent()
	first := true
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first && a.foretold.Load() != nil {
			t.Error("the whole queue was worked out before anything was told")
		}
		first = false
		b.c.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	a.Conf.Scheduler = srv.URL
	if err := a.Step(t.Context()); err != nil || first {
		t.Fatal("nothing was told", err)
	}
	if a.foretold.Load() == nil {
		t.Error("nothing was worked out")
	}
	b.same(a)
	b.later("one more", false)
	if err := tell(t.Context(), a); err != nil {
		t.Error(err)
	}
	work := ponder(a) // of this look; not yet done
	b.later("another", true)
	if err := tell(t.Context(), a); err != nil {
		t.Error(err)
	}
	b.same(a)
	if ponder(a) != nil {
		t.Error("two ponder at once")
	}
	if work == nil {
		t.Fatal("nothing is pondered")
	}
	work()
}

// TestFarStartsStay: an event that moves all later starts a little tells of the jobs
// that begin soon and not of the whole queue; dates that are off by more are told.
func TestFarStartsStay(t *testing.T) {
	a := &Agent{Conf: Config{Cluster: "c"}, Now: time.Now}
	a.Conf = a.Conf.withDefaults()
	s := busy(20, 100, 400)
	live, err := (&batch.Forecaster{Policy: batch.Policy{Name: "easy"}}).Live(s)
	if err != nil {
		t.Fatal(err)
	}
	has := newToldJobs()
	tell := func() (changed int) {
		whole := live.Fork()()
		out := &outlook{forecast: whole, starts: map[string]batch.Expected{}}
		for _, e := range whole.Jobs {
			out.starts[e.ID] = e
		}
		a.foretold.Store(out)
		list, gone := local(a, live.State(), live.Near(a.Conf.Horizon), has)
		has.take(list, gone)
		for _, e := range has.list() {
			id := e.Task
			x, ok := out.starts[id]
			if !ok || e.State != "waiting" {
				continue
			}
			ahead := x.Start.Sub(live.Now())
			if off := (time.Duration(e.Start-x.Start.Unix()) * time.Second).Abs(); off > max(startOff*time.Second, ahead/startShare) {
				t.Errorf("job %s is told off by %s, %s ahead", id, off, ahead)
			}
		}
		return len(list)
	}
	n := tell()
	if n != 500 {
		t.Fatalf("%d jobs told at first", n)
	}
	s.Now = s.Now.Add(time.Second)
	s.Jobs = s.Jobs[1:] // one has ended
	if _, err := live.Sync(s); err != nil {
		t.Fatal(err)
	}
	if n = tell(); n > 250 {
		t.Errorf("after one event %d of 499 jobs are told of", n)
	}
}
