package plan

import (
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// Who is kept from a free slot by its owner's function, as one that gives no number, is told so, and not that local jobs are
// before him.
func TestOwnersFunctionIsNamed(t *testing.T) {
	for text, want := range map[string]Why{
		"priority": {Fit: 1, Priority: 1}, "priority / (procs - procs)": {Owner: 1, Priority: 1}, "priority - 5": {Owner: 1, Priority: 1},
	} {
		f, err := CompileFormula(text)
		if err != nil {
			t.Fatal(err)
		}
		r := &Rules{Free: true, Users: make([]User, 1), Wishes: []Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}}, Clusters: []Cluster{{Local: f}}, Epoch: time.Unix(1_800_000_000, 0)}
		slots := []Slot{{To: Never, CPUs: 1}, {To: Never, CPUs: 1, Priority: 9}}
		if w := Explain(Job{Wall: 600, Procs: 1, Priority: 1}, slots, r); w.Owner != want.Owner || w.Priority != want.Priority {
			t.Errorf("%s: %+v", text, w)
		}
	}
}

// What keeps a job waiting is told alike by who looks at every slot and by who ends with the first that fits.
func TestHinderIsExplain(t *testing.T) {
	testbed.Computes(t)
	fits, none := 0, 0
	for seed := range uint64(20) {
		jobs, slots, r := varied(t, seed)
		for i := range jobs {
			all, is := Explain(jobs[i], slots, r), Hinder(&jobs[i], slots, r)
			if all.Fit == 0 {
				if none++; is != all {
					t.Fatalf("seed %d, job %d: %+v, want %+v", seed, i, is, all)
				}
				continue
			}
			if fits++; is.Fit != 1 || is.NoBudget != all.NoBudget || is.Slots != all.Slots {
				t.Fatalf("seed %d, job %d: %+v, want one that fits of %+v", seed, i, is, all)
			}
		}
	}
	if fits == 0 || none == 0 {
		t.Errorf("of %d jobs slots fit, of %d none", fits, none)
	}
}
