package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// farSite is a site to which sending takes long, in virtual time. Begin and deadline count from
// when that was begun, as in a back-end that sends files first.
type farSite struct {
	*simSite
	takes func(job string) time.Duration
}

func (s farSite) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	took := s.takes(jobOf(reqs[0].ID))
	limit, bounded := ctx.Deadline()
	if bounded && time.Until(limit) < took-time.Second {
		s.w.now = s.w.now.Add(time.Until(limit))
		return []plugins.Result{{ID: reqs[0].ID, Err: &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Err: context.DeadlineExceeded}}}
	}
	s.w.now = s.w.now.Add(took)
	q := reqs[0]
	q.Booking = q.Booking.After(took)
	results := s.simSite.Submit(ctx, []plugins.Request{q}, p)
	results[0].Took = took
	return results
}

// far makes all that is sent to c0 take long.
func (w *world) far(takes func(job string) time.Duration) {
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: farSite{w.sites["c0"], takes}})
		return reg, func() {}, err
	}
	w.s = New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	w.s.setLead(w.epoch)
}

// How far ahead a slot is booked is what sending takes, once that is known: less than a cycle where it is
// quick, and more again after one that was slow. A leader who knows nothing books as far ahead as ever.
func TestLeadIsLearned(t *testing.T) {
	testbed.Computes(t)
	for _, way := range []wire.Way{wire.Begin, wire.Plain, wire.Reservation} {
		t.Run(string(way), func(t *testing.T) {
			w := newWorld(t, sqliteDSN(t), 3, 0, 600) // local jobs take some each second
			w.conf.Cycle = 5 * time.Second
			w.restart()
			w.sites["c0"].start = way
			w.step(30)
			n, takes := 0, time.Duration(0)
			lead := func() int64 {
				t.Helper()
				n++
				id := w.submit("alice", fmt.Sprint("k", n), 60)
				var p *Place
				for range 60 { // until it is there, and the leader knows
					w.step(1)
					p = cmp.Or(p, w.job(id).Booking)
				}
				if p == nil {
					t.Fatalf("job %d has no slot", n)
				}
				return p.From - p.Made
			}
			w.far(func(string) time.Duration { return takes })
			if at := lead(); at < 9 {
				t.Errorf("the first slot is %d s ahead", at)
			}
			if at := lead(); at > 5 {
				t.Errorf("where sending takes no time a slot is %d s ahead", at)
			}
			takes = 6 * time.Second
			lead()
			if at := lead(); at < 7 || at > 16 {
				t.Errorf("where it takes 6 s a slot is %d s ahead", at)
			}
			w.restart()
			if at := lead(); at < 9 {
				t.Errorf("for a leader who knows nothing a slot is %d s ahead", at)
			}
		})
	}
}

// A job that takes longer to be sent than the agent's word is good for misses a slot, or two
// where it is cut short, and then gets one that it can reach; others of its site do not wait
// for that. Sites that hold their guests start it at that time.
func TestSendingTakesLong(t *testing.T) {
	for _, way := range []wire.Way{wire.Begin, wire.Plain} {
		for _, takes := range []time.Duration{100 * time.Second, 200 * time.Second, 10 * time.Minute} {
			t.Run(fmt.Sprint(way, " ", takes), func(t *testing.T) {
				w := newWorld(t, sqliteDSN(t), 3, 0, 6)
				w.sites["c0"].start = way
				large := ""
				w.far(func(job string) time.Duration {
					if job == large {
						return takes
					}
					return 0
				})
				w.step(10)
				large = w.submit("alice", "large", 600)
				for w.job(large).State != Done && w.now.Sub(simEpoch) < 3*time.Hour {
					w.step(10)
				}
				j := w.job(large)
				if j.State != Done || j.Tries > 3 {
					log, _ := w.store.Log(t.Context(), large, 0, 100)
					t.Fatalf("it is %s after %d bookings: %s\n%+v", j.State, j.Tries, j.Reason, log)
				}
				if n, said := w.said(large, "slow"); n < j.Tries-1 || n == 0 || !strings.Contains(said, "its next slot there is that far ahead") {
					t.Errorf("told %d times of %d: %s", n, j.Tries-1, said)
				}
				if off := j.Started - j.Booking.From; way == wire.Begin && (off < 0 || off > 60) {
					t.Errorf("it began %d s from its slot", off)
				}
				if ahead := j.Booking.From - j.Booking.Made; way == wire.Begin && ahead < int64(takes/time.Second) {
					t.Errorf("booked %d s ahead", ahead)
				}
				small := w.submit("alice", "small", 600)
				for w.job(small).State == Waiting {
					w.step(10)
				}
				if p := w.job(small).Booking; len(w.job(small).Leads) != 0 || p.From-p.Made > 160 {
					t.Errorf("another job is booked %d s ahead", p.From-p.Made)
				}
			})
		}
	}
}

// What can never be sent in time is said, and not tried there again and again.
func TestSendingTakesForEver(t *testing.T) {
	testbed.Computes(t)
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	w.conf.Horizon = time.Hour
	w.far(func(string) time.Duration { return 2 * time.Hour })
	w.step(10)
	id := w.submit("alice", "k", 600)
	ahead := int64(0) // of the booking farthest ahead
	for i := range 3000 {
		w.step(30)
		if p := w.job(id).Booking; i < 100 && p != nil {
			ahead = max(ahead, p.From-p.Made)
		}
	}
	j := w.job(id)
	if n, said := w.said(id, "slow"); n == 0 || !strings.Contains(said, "longer than slots are foreseen for (1 h): it is not sent there again") {
		t.Errorf("told %d times: %s", n, said)
	}
	if took := j.Leads["c0"]; took < 300 || ahead < took {
		t.Errorf("what took %d s was sent %d s ahead at most", took, ahead)
	}
	if j.State != Waiting || j.Tries > 8 {
		t.Errorf("it is %s after %d bookings", j.State, j.Tries)
	}
	if r, err := w.s.Why(t.Context(), j); err != nil || !strings.Contains(strings.Join(r.Text, "; "), "no cluster will do; c0: it did not take this job, and is not tried again before ") {
		t.Errorf("why: %q, %v", r.Text, err)
	}
}

// Who says that his job is to stay in a site's queue has it there until it begins.
func TestStaysInTheQueue(t *testing.T) {
	for fallback, deadline := range map[Fallback]bool{Replan: true, Stay: false} {
		w := newWorld(t, sqliteDSN(t), 3, 0, 6)
		w.step(30)
		got, err := w.s.Submit(t.Context(), Person{Subject: "alice"}, []Submission{{Key: "k", JDL: `[ Executable = "/bin/true"; WallTime = 600; Requirements = true; ]`, Fallback: fallback}})
		if err != nil || got[0].Error != "" {
			t.Fatal(got, err)
		}
		for range 6 {
			w.step(10)
		}
		for _, g := range w.sites["c0"].guests {
			if (g.deadline > 0) != deadline {
				t.Errorf("%s: given up at %d", fallback, g.deadline)
			}
		}
		if len(w.sites["c0"].guests) != 1 {
			t.Errorf("%s: %d guests", fallback, len(w.sites["c0"].guests))
		}
	}
}
