package plan

import "testing"

// A parallel job that finds nothing says nothing of one that outranks more, needs less memory, or has more processors for
// as much of it, so that its share of a small slot is less.
func TestWhoAsksForLessIsLookedAt(t *testing.T) {
	slot := Slot{From: 0, To: 7200, CPUs: 1, Memory: 3000, Start: 98, Hold: 90}
	slots := []Slot{slot, slot, slot, slot}
	for name, c := range map[string]struct {
		lost, found Job
		local       float32
	}{
		"more priority":       {Job{Priority: 1, Procs: 2}, Job{Priority: 10, Procs: 2}, 5},
		"less memory":         {Job{Priority: 1, Procs: 2, Memory: 8000}, Job{Priority: 1, Procs: 2, Memory: 4000}, 0},
		"spread more thinly":  {Job{Priority: 1, Procs: 2, Memory: 8000}, Job{Priority: 1, Procs: 4, Memory: 8000}, 0},
		"a shorter wall time": {Job{Priority: 1, Procs: 2, Wall: 9000}, Job{Priority: 1, Procs: 2}, 0},
		"fewer processors":    {Job{Priority: 1, Procs: 5}, Job{Priority: 1, Procs: 4}, 0},
	} {
		r := &Rules{Clusters: []Cluster{{TMin: 60, TMax: 120, Good: 3600, OutOfTurn: true}}, Wishes: []Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}},
			Users: []User{{Left: 1000}}, Horizon: 4 * 3600, Free: true, MaxBypass: 1}
		jobs := []Job{c.lost, c.found}
		for i := range jobs {
			jobs[i].Seq, jobs[i].Wall, jobs[i].Bypassed = int64(i), max(jobs[i].Wall, 600), 1 // by arrival
		}
		for i := range slots {
			slots[i].Priority = c.local
		}
		if list := (Lookahead{}).Plan(jobs, slots, r); len(list) != 1 || list[0].Job != 1 {
			t.Errorf("%s: %+v", name, list)
		}
	}
}
