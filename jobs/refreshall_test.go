package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// noted is a store that tells when all records of a query have been read, ended ones among them.
type noted struct {
	jobs.Store
	once sync.Once
	read chan struct{}
}

func (s *noted) Select(ctx context.Context, q jobs.Query) ([]*jobs.Record, error) {
	rs, err := s.Store.Select(ctx, q)
	if !q.Live && q.Loose.IsZero() {
		s.once.Do(func() { close(s.read) })
	}
	return rs, err
}

// wait is that the back-end does not answer before the others have been read.
func (s *noted) wait(t *testing.T) {
	select {
	case <-s.read:
	case <-time.After(time.Minute):
		t.Error("the other jobs are not read while the back-end is asked")
	}
}

// While a back-end is asked about the jobs that have not ended, the others are read: all are returned in their order, each as
// it is afterwards. Of one whose attempt has turned up meanwhile, what was read is too old.
func TestOthersAreReadMeanwhile(t *testing.T) {
	c, s, o := givenUp(t)
	all(jobs.CancelAsked{}).happen(t, c.Store, o.ID) // cancelled; its attempt is looked up all the same
	submit(t, c, []*glue.Resource{site("b")}, set(stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
	n := &noted{Store: c.Store, read: make(chan struct{})}
	c.Store = n
	s.looked = func() { n.wait(t) }
	s.status = func(plugins.Handle) plugins.Status {
		n.wait(t)
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	os, err := jobs.RefreshAll(t.Context(), c, jobs.Query{})
	if err != nil || states(os) != "cancelled done done" {
		t.Fatalf("%s, %v", states(os), err)
	}
	if past := os[0].Past; len(past) != 1 || past[0].State != plugins.Cancelled {
		t.Errorf("the attempt that turned up was cancelled; %+v", past)
	}
	for _, o := range os[1:] {
		if !o.Fresh || o.Err != nil {
			t.Errorf("%+v", o)
		}
	}
	if os, err := jobs.RefreshAll(t.Context(), c, jobs.Query{Since: start.Add(24 * time.Hour)}); err != nil || len(os) != 0 {
		t.Errorf("%d jobs since tomorrow, %v", len(os), err)
	}
}

// Jobs that have not ended are found by the index of states, whatever their states are called, and the ended ones are not read.
func TestLiveByIndex(t *testing.T) {
	s := openStore(t, t.TempDir())
	var ids []string
	words := []plugins.State{"", "a", "cancelled", "cancelling", "done", "eaten", "failed", "held", "lost", "queued", "~"}
	for i := range words {
		ids = append(ids, "1m81m5y0p0000"+string(rune('a'+i)))
	}
	rs := records(ids...)
	for i, r := range rs {
		r.State = words[i]
	}
	if err := s.Add(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	live, err := s.Select(t.Context(), jobs.Query{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[plugins.State]bool{}
	for _, r := range live {
		got[r.State] = true
	}
	for _, w := range words {
		if got[w] == w.Final() {
			t.Errorf("%q: found %v", w, got[w])
		}
	}
}
