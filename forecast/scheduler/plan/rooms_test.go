package plan

import "testing"

// More kinds of rooms than are told apart: 400 clusters with a slot each, and of each a job that may
// go there alone. Every job is in its own cluster, and one that may go nowhere in none.
func TestManyKindsOfRooms(t *testing.T) {
	const n = 400
	rules := &Rules{Horizon: 3600, Free: true, Users: []User{{Weight: 1}}}
	var jobs []Job
	var slots []Slot
	for i := range n {
		rules.Clusters = append(rules.Clusters, Cluster{TMin: 10, TMax: 100, Good: 3600, MaxGuest: 3600})
		own := make([]uint64, n/64+1)
		own[i/64] = 1 << (i % 64)
		rules.Wishes = append(rules.Wishes, Wish{Clusters: own, Classes: []uint64{1}})
		slots = append(slots, Slot{Cluster: uint16(i), Node: int32(i), From: 20, To: 2000, CPUs: 1, Start: 100})
		jobs = append(jobs, Job{Seq: int64(n - i), Priority: 1, Wall: 600, Procs: 1, Wish: int32(i)})
	}
	rules.Wishes = append(rules.Wishes, Wish{Clusters: make([]uint64, n/64+1), Classes: []uint64{1}})
	jobs = append(jobs, Job{Seq: n + 1, Priority: 2, Wall: 600, Procs: 1, Wish: n})
	for _, p := range []Planner{Pairwise{}, Lookahead{}} {
		got := p.Plan(jobs, slots, rules)
		if len(got) != n {
			t.Errorf("%s: %d bookings, want %d", p.Name(), len(got), n)
		}
		for _, b := range got {
			if b.Job == n || slots[b.Parts[0].Slot].Cluster != uint16(b.Job) {
				t.Errorf("%s: the job of cluster %d is in %d", p.Name(), b.Job, slots[b.Parts[0].Slot].Cluster)
			}
		}
	}
}
