package rank

import (
	"testing"

	"gridbroker/glue"
)

func cluster(total, free, waiting int64) Candidate {
	r := &glue.Resource{}
	r.TotalSlots, r.FreeSlots, r.Waiting = glue.Some(total), glue.Some(free), glue.Some(waiting)
	return Candidate{Resource: r}
}

// TestMetacluster orders clusters by load: a half-empty large one, a nearly
// full one, two full ones with queues, one that says nothing.
func TestMetacluster(t *testing.T) {
	p, err := ParsePolicy(Metacluster, DefaultModel())
	if err != nil || p.UsesRank() {
		t.Fatal(err)
	}
	silent := cluster(1, 1, 0)
	silent.Resource.TotalSlots = glue.Opt[int64]{}
	placed := cluster(100, 50, 0)
	placed.Placed = Load{Jobs: 60, Slots: 60}
	list := []Candidate{cluster(100, 50, 0), cluster(10, 2, 0), placed, cluster(100, 0, 20), cluster(10, 0, 3), silent}
	last := 1.0
	for i := range list {
		r := scoreMetacluster(&p, &scene{}, &list[i])
		if r.value >= last {
			t.Errorf("cluster %d: %g, the one before %g", i, r.value, last)
		}
		last = r.value
	}
}
