package scheduler

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A replica whose clock has come to be a minute off the database's gives its lead back, leases nothing of what others
// are at and takes nothing in, so that who asks goes to the next one. When the clock is right again it leads.
func TestWrongClock(t *testing.T) {
	f := newFrontOn(t, postgresDSN(t), nil)
	var off atomic.Int64
	f.s.now = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
	f.s.clock.every = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- f.s.Run(ctx) }()
	defer func() { cancel(); <-over }()
	until := func(what string, true func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !true(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	epoch := func() (n int64) {
		if err := f.store.db.QueryRow("select epoch from leader").Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	until("it never led", f.s.Leads)
	for _, by := range []time.Duration{time.Minute, -time.Minute} {
		off.Store(int64(by))
		until("it leads on", func() bool { return !f.s.Leads() })
		before := epoch()
		if err := f.s.term(ctx, false); err == nil || !strings.Contains(err.Error(), "1m0s") || epoch() != before {
			t.Errorf("%v off, it leads again: %v", by, err)
		}
		got := f.asked(t.Context(), "alice", http.MethodPost, "/v1/jobs", []byte(`{"jobs": [{"key": "k", "jdl": "[ Executable = \"/bin/true\"; ]"}]}`))
		if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "clock") {
			t.Errorf("%v off, a submission: %d %s", by, got.Code, got.Body)
		}
		off.Store(0)
		until("it never led again", f.s.Leads)
	}
	if ahead, err := ClockAhead(t.Context(), f.store, f.s.now); err != nil || ahead.Abs() > leaseMargin {
		t.Errorf("%v ahead: %v", ahead, err)
	}
}

// An action that another replica is at is not taken by one to which its lease seems to be over.
func TestWrongClockTakesNoLease(t *testing.T) {
	w := newWorld(t, postgresDSN(t), 1, 0, 4)
	w.submit("alice", "k", 120)
	for range 3 {
		w.step(5)
	}
	var n int
	rows := func(where string) int {
		if err := w.store.db.QueryRow("select count(*) from action where " + where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := w.store.db.Exec("update action set done = 0, due = 0, lease_until = $1, leased_by = 'another'", time.Now().Add(lease).Unix()); err != nil {
		t.Fatal(err)
	}
	if rows("leased_by = 'another'") == 0 {
		t.Fatal("nothing was to be done")
	}
	s := w.s
	s.now = func() time.Time { return time.Now().Add(time.Minute) }
	s.clock.compare(t.Context(), s, seldom{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	outbox{s}.run(ctx)
	if rows("leased_by <> 'another'") != 0 {
		t.Error("it took what another replica is at")
	}
}
