package plan

import (
	"slices"
	"testing"
)

// A job that takes longer to be brought to a cluster is booked that much later there, also beyond
// what others are booked for; where another cluster serves sooner it goes there, and what
// lies before its start is for others.
func TestLeads(t *testing.T) {
	slots := []Slot{{From: 0, To: Never, Cluster: 0, CPUs: 1, Start: 98}, {From: 0, To: 5000, Node: 1, Cluster: 1, CPUs: 1, Start: 98}}
	rules := func() *Rules {
		c := Cluster{TMin: 60, TMax: 110, Good: 120, Later: []Later{{0, 98}, {600, 90}, {1200, 80}}}
		return &Rules{Horizon: 4 * 3600, Free: true, Users: []User{{Weight: 1}}, Wishes: []Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}, {Clusters: []uint64{3}, Classes: []uint64{1}}}, Clusters: []Cluster{c, c}}
	}
	lead := []Lead{{Cluster: 0, Seconds: 900}}
	paired := map[string]bool{"as others": true, "alone": true, "sooner elsewhere": true} // slots are not divided there
	for name, v := range map[string]struct {
		jobs []Job
		want []Booking // of each job
	}{
		"as others": {[]Job{{Wall: 600, Procs: 1}}, []Booking{{From: 60, Chance: 0.98}}},
		"alone":     {[]Job{{Wall: 600, Procs: 1, Leads: lead}}, []Booking{{From: 900, Chance: 0.85}}},
		"another fits before it": {[]Job{{Wall: 600, Procs: 1, Leads: lead, Priority: 2}, {Wall: 600, Procs: 1, Seq: 1, Priority: 1}},
			[]Booking{{From: 900, Chance: 0.85}, {From: 60, Chance: 0.98}}},
		"sooner elsewhere": {[]Job{{Wall: 600, Procs: 1, Wish: 1, Leads: lead}}, []Booking{{From: 60, Chance: 0.98, Cluster: 1}}},
	} {
		for i := range v.jobs {
			v.jobs[i].Priority = max(v.jobs[i].Priority, 1)
		}
		for _, by := range []Planner{Lookahead{}, Pairwise{}} {
			mine := slices.Clone(slots)
			if by.Name() == "pairwise" {
				Clip(mine, rules())
			}
			got := by.Plan(v.jobs, mine, rules())
			if by.Name() == "pairwise" && !paired[name] {
				continue
			}
			if len(got) != len(v.want) {
				t.Errorf("%s, %s: %+v", by.Name(), name, got)
				continue
			}
			for _, b := range got {
				if w := v.want[b.Job]; b.From != w.From || b.Tentative || b.Cluster != w.Cluster || b.Chance < w.Chance-0.011 || b.Chance > w.Chance+0.011 {
					t.Errorf("%s, %s: job %d: %+v, want %+v", by.Name(), name, b.Job, b, w)
				}
			}
		}
	}
	if w := Explain(Job{Wall: 600, Procs: 1, Priority: 1, Leads: lead}, slots, rules()); w.Fit != 1 || w.Nearest != 900 {
		t.Errorf("%+v", w)
	}
}
