package scheduler

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// turning is a site whose job is in some state, and that counts the looks at it.
type turning struct {
	plugins.Submitter
	mu    sync.Mutex
	state plugins.State
	looks int
}

// turn puts the job into a state.
func (s *turning) turn(state plugins.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// looked is how often the site has been looked at.
func (s *turning) looked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// Status implements plugins.Submitter.
func (s *turning) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	list := make([]plugins.Status, len(hs))
	for i := range list {
		list[i] = plugins.Status{Handle: hs[i], State: s.state}
	}
	return list
}

// A cluster whose agent tells that jobs have begun or ended is looked at before its turn, a second after the last look at
// the soonest; where its own jobs come and go all the time, and ours do not, that is soon no more often than its turn.
func TestStirredClustersAreLookedAtAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := OpenStore("sqlite:"+filepath.Join(t.TempDir(), "x.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if _, err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		site := &turning{state: plugins.Queued}
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Name: "x", Interfaces: []string{"x"}}, Submitter: site})
		if err != nil {
			t.Fatal(err)
		}
		back := func(context.Context, string, []byte) (*plugins.Registry, func(), error) { return reg, func() {}, nil }
		s := New(Config{StatusEvery: time.Hour}, store, back, time.Now, slog.New(slog.DiscardHandler))
		s.mem = newMemory(0)
		s.mem.jobs.enter(&Job{ID: "1", State: Sent, Booking: &Place{Cluster: "c"}, Handle: plugins.Handle{Interface: "x", Endpoint: "x:"}})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- newFollower(s).run(ctx) }()
		stir := func(name string, state plugins.State, wait time.Duration, looks int) {
			t.Helper()
			site.turn(state)
			s.stirred <- name
			time.Sleep(wait)
			synctest.Wait()
			if n := site.looked(); n != looks {
				t.Errorf("%d looks, want %d", n, looks)
			}
		}
		stir("c", plugins.Running, 100*time.Millisecond, 1)
		stir("other", plugins.Done, 2*time.Second, 1)
		stir("c", plugins.Done, 100*time.Millisecond, 2)
		before := site.looked()
		for range 3600 {
			s.stirred <- "c"
			time.Sleep(time.Second)
		}
		if n := site.looked() - before; n > 14 {
			t.Errorf("%d looks in an hour in which nothing happened to our jobs", n)
		}
		cancel()
		<-over
	})
}

// A cycle passes on of which clusters it was told that jobs have begun or ended.
func TestCyclesTellWhereJobsBeganOrEnded(t *testing.T) {
	f := newFront(t, nil)
	l, err := f.store.Campaign(t.Context(), "front")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Resign()
	f.s.setLead(l.Epoch)
	var set wire.Set
	tell := func(seq uint64, jobs []wire.Entry, gone ...string) (told []string) {
		t.Helper()
		d := set.Diff(nil)
		if seq == 1 {
			d = set.Whole()
			d.Site = &wire.Site{Start: wire.Begin}
		}
		d.Cluster, d.Seq, d.Made, d.TTL, d.Jobs, d.JobsGone = "c0", seq, f.now.Unix(), 600, jobs, gone
		if ack, err := (Listener{f.s}).Ingest(t.Context(), d, nil); err != nil || ack.Resync {
			t.Fatal(ack, err)
		}
		if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
			t.Fatal(err)
		}
		for {
			select {
			case name := <-f.s.stirred:
				told = append(told, name)
			default:
				return told
			}
		}
	}
	tell(1, nil)
	for seq, c := range []struct {
		jobs []wire.Entry
		gone []string
		want int
	}{
		{[]wire.Entry{{Task: "7", State: "waiting", Procs: 1}}, nil, 0}, {[]wire.Entry{{Task: "7", State: "running", Procs: 1}}, nil, 1}, {nil, []string{"7"}, 1}, {nil, nil, 0},
	} {
		if told := tell(uint64(seq)+2, c.jobs, c.gone...); len(told) != c.want || c.want > 0 && told[0] != "c0" {
			t.Errorf("after %+v: %q", c, told)
		}
	}
}
