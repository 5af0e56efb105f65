package batch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestEndsDecide: who waits for the success of a job that runs to its limit, loses its node or is cancelled never starts, who waits
// for its failure does, and of one that ends before its limit the other way round; who waits for its end starts in any case
// (22.05: of a job with TIMEOUT and one with CANCELLED). It is the same where the engine is set up anew after that,
// and in forecasts from the state that it gives.
func TestEndsDecide(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	nodes := []batch.Node{{Name: "n", CPUs: 8, Up: true}, {Name: "m", CPUs: 4, Up: true}}
	well, ill := "any late ok start", "any late not start"
	for how, want := range map[string]string{"ends": well, "is told to end": well, "reaches its limit": ill, "loses its node": ill, "is cancelled": ill} {
		for _, anew := range []bool{false, true} {
			e, err := batch.NewEngine(batch.State{Now: now, Nodes: nodes}, batch.Policy{Name: "slurm"})
			if err != nil {
				t.Fatal(err)
			}
			submit := func(id string, run time.Duration, after ...batch.Dependency) {
				t.Helper()
				j := batch.Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now, After: after}
				if id == "x" {
					j.Within = []string{"m"}
				}
				if err := e.Submit(j, run); err != nil {
					t.Fatal(err)
				}
			}
			var started []string
			e.Observe(func(v batch.Event) {
				if v.Kind == batch.Started {
					started = append(started, v.Job.ID)
				}
			})
			submit("x", map[string]time.Duration{"ends": time.Minute}[how])
			submit("ok", time.Minute, batch.Dependency{ID: "x", On: batch.OnSuccess})
			submit("not", time.Minute, batch.Dependency{ID: "x", On: batch.OnFailure})
			submit("any", time.Minute, batch.Dependency{ID: "x", On: batch.OnEnd})
			submit("late", time.Minute, batch.Dependency{ID: "x", On: batch.OnEnd, Delay: time.Hour})
			submit("start", time.Minute, batch.Dependency{ID: "x", On: batch.OnStart})
			end := now.Add(time.Minute)
			switch how {
			case "is told to end":
				err = e.End("x", end)
			case "is cancelled":
				err = e.Cancel("x", end)
			case "loses its node":
				err = e.Configure(nodes[:1], nil, nil, end)
			case "reaches its limit":
				end = now.Add(time.Hour)
			}
			if err == nil {
				err = e.Advance(end)
			}
			if err == nil && anew {
				err = e.Configure(nodes[:1], nil, nil, end)
			}
			if err != nil {
				t.Fatal(err)
			}
			picture := e.State()
			for e.Step() {
			}
			if slices.Sort(started[1:]); strings.Join(started[1:], " ") != want || len(e.State().Jobs) != 1 {
				t.Errorf("x %s, set up anew %v: %v start, want %s; there are %+v", how, anew, started, want, e.State().Jobs)
			}
			if want := "late; " + map[string]string{well: "not", ill: "ok"}[want] + ": a job that it waits for has ended otherwise than it was to"; outlook(t, picture) != want {
				t.Errorf("x %s, set up anew %v: %s, want %s", how, anew, outlook(t, picture), want)
			}
			if over := end.Add(time.Hour + time.Minute); !e.Now().Equal(over) {
				t.Errorf("x %s, set up anew %v: all is over at %v, want %v", how, anew, e.Now(), over)
			}
		}
	}
}

// outlook is which of the jobs that wait start by a forecast, and why the others do not.
func outlook(t *testing.T, s batch.State) string {
	t.Helper()
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	var starts, refused []string
	for _, j := range out.Jobs {
		starts = append(starts, j.ID)
	}
	for _, r := range out.Refused {
		refused = append(refused, fmt.Sprint(r.ID, ": ", r.Reason))
	}
	slices.Sort(starts)
	slices.Sort(refused)
	return strings.Join(starts, " ") + "; " + strings.Join(refused, ", ")
}

// TestSyncDecides: of a job that is gone from the pictures accounting says, now or later, how it ended, and who is said to wait for it
// still goes by that, also in the pictures after; where nobody says one that ran has ended well and one that waited was cancelled.
// One that is there again is waited for, and who waits for one that a Live has never seen does so no more.
func TestSyncDecides(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	const hopeless = ": a job that it waits for has ended otherwise than it was to"
	well, ill := "any late ok; not"+hopeless, "any late not; ok"+hopeless
	for _, v := range []struct {
		ran         bool
		ended       batch.Ending
		then, later string
	}{
		{true, batch.Ending{}, well, well},
		{true, batch.Ending{ID: "x", Started: now, Ended: now}, well, well},
		{true, batch.Ending{ID: "x", Started: now, Ended: now, Failed: true}, ill, ill},
		{true, batch.Ending{ID: "x", Started: now, Ended: now, Cancelled: true}, ill, ill},
		{false, batch.Ending{}, ill, ill},
		{false, batch.Ending{ID: "x", Started: now, Ended: now}, well, well},
	} {
		for _, told := range []int{1, 2} { // after so many pictures
			picture := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}}
			for id, on := range map[string]batch.Trigger{"ok": batch.OnSuccess, "not": batch.OnFailure, "any": batch.OnEnd, "late": batch.OnEnd} {
				j := batch.Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now, After: []batch.Dependency{{ID: "x", On: on}}}
				if id == "late" {
					j.After[0].Delay = time.Minute
				}
				picture.Jobs = append(picture.Jobs, j)
			}
			f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}}
			x := batch.Job{ID: "x", Procs: 4, Requested: time.Hour, Submitted: now}
			if v.ran {
				x.Started = now
			}
			with := picture
			with.Jobs = append(slices.Clone(picture.Jobs), x)
			live, err := f.Live(with)
			if err != nil {
				t.Fatal(err)
			}
			for n, want := range []string{v.then, v.later} {
				var ended []batch.Ending
				if picture.Now = picture.Now.Add(time.Second); n+1 == told && v.ended.ID != "" {
					ended = append(ended, v.ended)
				} else if n+1 < told {
					want = map[bool]string{true: well, false: ill}[v.ran]
				}
				if _, err := live.Sync(picture, ended...); err != nil {
					t.Fatal(err)
				}
				if got := outlook(t, live.State()); got != want {
					t.Errorf("%+v told with picture %d: after %d %s, want %s", v, told, n+1, got, want)
				}
			}
			with.Now = picture.Now.Add(time.Second)
			want := map[bool]string{true: "any late ok", false: "any late ok x"}[v.ran] + "; not: waits for another job to fail"
			if _, err := live.Sync(with); err != nil || outlook(t, live.State()) != want {
				t.Errorf("%+v: x is there again: %s, %v", v, outlook(t, live.State()), err)
			}
			if got := outlook(t, picture); got != "any late not ok; " {
				t.Errorf("x was never seen: %s", got)
			}
		}
	}
}

// TestDecidedOnce: a picture that still says that a job waits for one whose end is known is no news, as often as it comes.
func TestDecidedOnce(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	y := batch.Job{ID: "y", Procs: 1, Requested: time.Hour, Submitted: now, After: []batch.Dependency{{ID: "x", On: batch.OnSuccess}}}
	picture := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}, Jobs: []batch.Job{y}}
	with := picture
	with.Jobs = []batch.Job{{ID: "x", Procs: 1, Requested: time.Hour, Submitted: now, Started: now}, y}
	for _, failed := range []bool{false, true} {
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm"}}
		live, err := f.Live(with)
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range []batch.Synced{{Ended: 1, Changed: 1}, {}, {}} {
			picture.Now = now.Add(time.Duration(n+1) * time.Second)
			did, err := live.Sync(picture, batch.Ending{ID: "x", Started: now, Ended: now, Failed: failed})
			if err != nil || did != want {
				t.Errorf("failed %v: picture %d: %+v, %v, want %+v", failed, n+1, did, err, want)
			}
		}
	}
}

// TestMemoryOfFates: a Live that has been set up anew knows from a Memory how jobs ended that were gone before, and of those that were there
// that they are gone since, which accounting may then tell more of. It keeps nothing of jobs that nobody waits for.
func TestMemoryOfFates(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	dependent := func(id, on string, trigger batch.Trigger) batch.Job {
		return batch.Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now, After: []batch.Dependency{{ID: on, On: trigger}}}
	}
	picture := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 8, Up: true}}, Jobs: []batch.Job{
		dependent("ok-failed", "failed", batch.OnSuccess), dependent("not-failed", "failed", batch.OnFailure),
		dependent("ok-ran", "ran", batch.OnSuccess), dependent("not-ran", "ran", batch.OnFailure),
		dependent("ok-waited", "waited", batch.OnSuccess), dependent("not-waited", "waited", batch.OnFailure),
		dependent("ok-told", "told", batch.OnSuccess), dependent("not-told", "told", batch.OnFailure),
		dependent("ok-unknown", "unknown", batch.OnSuccess), dependent("not-unknown", "unknown", batch.OnFailure),
	}}
	with := picture
	for _, id := range []string{"failed", "ran", "waited", "told", "other"} {
		j := batch.Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: now, Started: now}
		if id == "waited" {
			j.Started = time.Time{}
		}
		with.Jobs = append(slices.Clip(with.Jobs), j)
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}}
	before, err := f.Live(with)
	if err != nil {
		t.Fatal(err)
	}
	with.Jobs = slices.DeleteFunc(slices.Clone(with.Jobs), func(j batch.Job) bool { return j.ID == "failed" })
	if _, err := before.Sync(with, batch.Ending{ID: "failed", Started: now, Ended: now, Failed: true}); err != nil {
		t.Fatal(err)
	}
	kept, err := before.Memory()
	if err != nil || strings.Contains(string(kept), "other") {
		t.Fatalf("%s, %v", kept, err)
	}
	picture.Now = now.Add(time.Minute)
	after, err := f.Live(picture)
	if err == nil {
		err = after.Recall(kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	const hopeless = ": a job that it waits for has ended otherwise than it was to"
	const unknown, well = "not-unknown not-waited ok-ran %s ok-unknown; not-ran", hopeless + ", ok-failed" + hopeless + ", ok-waited" + hopeless
	for range 2 {
		want := "not-failed " + strings.Replace(unknown, "%s", "ok-told", 1) + hopeless + ", not-told" + well
		if got := outlook(t, after.State()); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
		if _, err := after.Sync(picture); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := after.Sync(picture, batch.Ending{ID: "told", Started: now, Ended: now.Add(time.Second), Failed: true}); err != nil {
		t.Fatal(err)
	}
	want := "not-failed not-told " + strings.Replace(unknown, "%s ", "", 1) + strings.Replace(well, ", ok-waited", ", ok-told"+hopeless+", ok-waited", 1)
	if got := outlook(t, after.State()); got != want {
		t.Errorf("accounting tells: %s, want\n%s", got, want)
	}
}

// TestWhyHeld: a job that its batch system says will never start (a reader takes it for held) is refused for the reason of that where it is
// known, under every policy.
func TestWhyHeld(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{Now: now, Nodes: []batch.Node{{Name: "n", CPUs: 4, Up: true}}, Queues: []batch.Queue{{Name: "q", MaxWallTime: time.Hour, MaxProcs: 2}, {Name: "shut", Closed: true}}}
	for _, j := range []batch.Job{
		{ID: "long", Queue: "q", Procs: 1, Requested: 2 * time.Hour}, {ID: "wide", Queue: "q", Procs: 3}, {ID: "hopeless", After: []batch.Dependency{{ID: "x", On: batch.Never}}},
		{ID: "by hand", Queue: "q", Procs: 1, Requested: time.Hour}, {ID: "shut", Queue: "shut", Procs: 1},
	} {
		j.Held, j.Submitted = true, now
		s.Jobs = append(s.Jobs, j)
	}
	want := map[string]batch.Cause{"long": batch.OverLimit, "wide": batch.OverLimit, "hopeless": batch.Dependent, "by hand": batch.Held, "shut": batch.Held}
	for _, policy := range batch.PolicyNames() {
		out, err := (&batch.Forecaster{Policy: batch.Policy{Name: policy}}).Forecast(s)
		if err != nil || len(out.Refused) != len(want) {
			t.Fatalf("%s: %+v, %v", policy, out, err)
		}
		for _, r := range out.Refused {
			if r.Cause != want[r.ID] {
				t.Errorf("%s: %s is refused: %s (%s), want %s", policy, r.ID, r.Reason, r.Cause, want[r.ID])
			}
		}
	}
}
