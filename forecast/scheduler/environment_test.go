package scheduler

import (
	"slices"
	"testing"

	"gridbroker/forecast/wire"
)

// A job that bounds a version is booked on nodes that have one within the bound, and sent with the exact tag of theirs,
// however it is spelt: a batch system knows no relations. Where no node has one it is never sent.
func TestVersionsOfEnvironments(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	for _, site := range w.sites {
		site.start = wire.Plain
		site.tags = map[string][]string{"n0": {"APPS/HEP/ATLAS-1.8"}, "n1": {"SLOW", "apps/hep/ATLAS-1.10", "apps/hep/ATLAS-1.9"}}
	}
	text := `[ Executable = "/bin/true"; JobName = "j"; WallTime = 600; Requirements = true; RunTimeEnvironment = "APPS/HEP/ATLAS >= `
	meets, never := w.submitJob("alice", "k1", text+`1.9"; ]`, 3), w.submitJob("alice", "k2", text+`2"; ]`, 3)
	for range 40 {
		w.step(30)
	}
	var sent [][]string
	for _, site := range w.sites {
		for _, g := range site.guests {
			sent = append(sent, g.tags)
		}
	}
	if len(sent) != 1 || !slices.Equal(sent[0], []string{"apps/hep/ATLAS-1.10"}) {
		t.Errorf("sent with %v; the job is %s", sent, w.job(meets).State)
	}
	if j := w.job(never); j.Booking != nil || j.State.Final() {
		t.Errorf("the job that no node can run is %s, booked %v", j.State, j.Booking)
	}
}

// Nodes of one booking that have other versions are sent the highest that all of them have.
func TestFeaturesOfABooking(t *testing.T) {
	site := &wire.Site{Nodes: []wire.Node{{Name: "a", Features: []string{"X-2", "X-1"}}, {Name: "b", Features: []string{"X-1", "X-3"}}, {Name: "c", Features: []string{"X-9"}}}}
	got := featuresOf(&Place{Parts: []Share{{Node: "a"}, {Node: "b"}, {Node: "gone"}}}, site)
	if len(got) != 3 || !slices.Equal(got[0], []string{"X-1"}) {
		t.Errorf("%v", got)
	}
	if got := featuresOf(&Place{}, site); got != nil {
		t.Errorf("no nodes: %v", got)
	}
}
