package predict

import (
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
)

// TestLooks: what becomes of promises, and which starts are learned that were never promised,
// between a look at 1000 s and one at 1060 s. All promises are to start at once.
func TestLooks(t *testing.T) {
	at := func(seconds int64) time.Time {
		if seconds == 0 {
			return time.Time{}
		}
		return time.Unix(seconds, 0)
	}
	job := func(id string, submitted, started int64) batch.Job {
		return batch.Job{ID: id, Procs: 1, Requested: time.Hour, Submitted: at(submitted), Started: at(started)}
	}
	begins := func(id string, seconds int64) batch.Job {
		j := job(id, 900, 0)
		j.Begin = at(seconds)
		return j
	}
	tr := NewTracker()
	waiting := []string{"starts", "is held", "begins now", "begins later", "waits", "ran and ended", "is gone"}
	first := batch.State{Now: at(1000), Jobs: []batch.Job{job("ran", 900, 950), job("just started", 980, 1000)}}
	for _, id := range waiting {
		first.Jobs = append(first.Jobs, job(id, 900, 0))
	}
	tr.Look(first, nil)
	for _, id := range waiting {
		tr.model.Promise(id, 1000, Outlook{Procs: 1, Limit: 3600, Waits: make([]int64, members)})
	}
	if starts, open, _ := tr.Learned(); starts != 0 || open != len(waiting) {
		t.Fatalf("after the first look %d starts, %d open", starts, open)
	}
	held := job("is held", 900, 0)
	held.Held = true
	second := batch.State{Now: at(1060), Jobs: []batch.Job{
		job("ran", 900, 950), job("just started", 980, 1000), // both shown before
		job("starts", 900, 1030), held, begins("begins now", 1060), begins("begins later", 1061), job("waits", 900, 0),
		job("not shown in that second", 990, 1000), // learned
		job("came and started", 990, 1050),         // after a minute: learned as one that started at once
		job("came and waited", 980, 1041),          // for more: learned, but not as such
		job("late to be told", 990, 999),           // not known when the promises were made
	}}
	tr.Look(second, []batch.Ending{{ID: "ran and ended", Started: at(1040), Ended: at(1050)}, {ID: "is gone"}})
	starts, _, _ := tr.Learned()
	open := tr.model.Open()
	slices.Sort(open)
	if starts != 4 || !slices.Equal(open, []string{"begins now", "waits"}) {
		t.Errorf("%d starts, want 4; open %q", starts, open)
	}
	if since, missing := tr.Missing(second); missing || since != 1060 {
		t.Errorf("missing %v, the last look at %d", missing, since)
	}
	if _, missing := tr.Missing(first); missing {
		t.Error("what waits is missing")
	}
	second.Jobs = second.Jobs[:5] // without the one that waits
	if _, missing := tr.Missing(second); !missing {
		t.Error("a job with a promise is not missed")
	}
}

// TestAlarm: 55 waits above their bound in a row are the one too many, as 55 times ln 3 are
// more than 60 and 54 times are not; each that is within takes ln(9/7) back, to nothing at least.
func TestAlarm(t *testing.T) {
	outer := slices.Index(levels[:], 0.9)
	for _, c := range []struct{ within, before, between, alarmAt int }{
		{0, 0, 0, 55}, {1000, 0, 0, 55}, {0, 20, 10, 37}, // 20 ln 3 - 10 ln(9/7) = 19.46; 37 more are 60.11
	} {
		var d drift
		for range c.within {
			d.learn(outer, true, 1)
		}
		for range c.before {
			d.learn(outer, false, 1)
		}
		for range c.between {
			d.learn(outer, true, 1)
		}
		n := 1
		for ; n < 100 && !d.learn(outer, false, int64(n)); n++ {
		}
		if n != c.alarmAt || len(d.Times) != 1 || d.Times[0] != int64(n) || d.Above != 0 {
			t.Errorf("%+v: alarm at the %dth; %+v", c, n, d)
		}
	}
	var d drift
	for i := range 55 * (keptAlarms + 3) {
		d.learn(outer, false, int64(i))
	}
	if len(d.Times) != keptAlarms || d.Times[0] != 55*4-1 {
		t.Errorf("%d alarms are kept, the first of %d", len(d.Times), d.Times[0])
	}
}
