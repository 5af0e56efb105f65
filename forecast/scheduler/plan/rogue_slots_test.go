package plan

import (
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A cluster whose slots all overlap and end one by one, on one node, costs parallel jobs little that may go
// there; they find their place in another.
func TestSlotsThatEndOneByOne(t *testing.T) {
	testbed.Computes(t)
	const n, wall = 200_000, 600
	r := &Rules{Horizon: 6 * 3600, Free: true, Users: []User{{Weight: 1}}}
	for range 2 {
		r.Clusters = append(r.Clusters, Cluster{TMin: 10, TMax: 7200, Good: 1 << 20})
	}
	r.Wishes = []Wish{{Clusters: []uint64{3}, Classes: []uint64{1}}}
	var slots []Slot
	for i := range int32(n) {
		from := 10 + i*20_000/n
		slots = append(slots, Slot{Node: 1, CPUs: 1, From: from, To: from + wall + 9000, Start: 100})
	}
	for i := range int32(8) {
		slots = append(slots, Slot{Cluster: 1, Node: 2 + i, CPUs: 200, From: 20, To: 20_000, Start: 100})
	}
	var jobs []Job
	for i := range int32(20) {
		jobs = append(jobs, Job{Seq: int64(i), Priority: 1, Wall: wall + i, Procs: 2 + i%7, Nodes: 2 + i%7})
	}
	testbed.Within(t, 3*time.Second, 100<<20, func() {
		got := Lookahead{}.Plan(jobs, slots, r)
		if len(got) != len(jobs) {
			t.Errorf("%d of %d jobs have places", len(got), len(jobs))
		}
		for _, b := range got {
			if b.Cluster != 1 {
				t.Errorf("job %d is at cluster %d", b.Job, b.Cluster)
			}
		}
	})
}
