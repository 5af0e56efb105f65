package plan

import "testing"

// What is left of a slot behind a booking is as sure as slots that begin then, and
// never surer than the slot itself.
func TestBehindABookingIsLessSure(t *testing.T) {
	for _, c := range []struct {
		name  string
		later []Later
		want  [3]uint8 // of three jobs of 1,000 s, one after the other
	}{
		{"told", []Later{{0, 99}, {1000, 90}, {3000, 70}}, [3]uint8{97, 90, 80}},
		{"surer later", []Later{{0, 10}, {500, 99}}, [3]uint8{97, 97, 97}},
		{"nothing told", nil, [3]uint8{97, 97, 97}},
	} {
		rules := &Rules{Horizon: 100_000, Free: true, Users: []User{{Weight: 1}}, Wishes: []Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}},
			Clusters: []Cluster{{TMin: 0, TMax: 100_000, Good: 100_000, Later: c.later}}}
		jobs := make([]Job, 3)
		for i := range jobs {
			jobs[i] = Job{Seq: int64(i), Priority: 1, Wall: 1000, Procs: 1}
		}
		list := Lookahead{}.Plan(jobs, []Slot{{From: 0, To: 10_000, CPUs: 1, Start: 97, Hold: 50}}, rules)
		if len(list) != 3 {
			t.Fatalf("%s: %d bookings", c.name, len(list))
		}
		for i, b := range list {
			if b.From != int32(1000*i) || b.Chance != float32(c.want[i])/100 {
				t.Errorf("%s: job %d at %d with chance %v, want %d %%", c.name, i, b.From, b.Chance, c.want[i])
			}
		}
	}
}

// A slot that is less sure than a job asks for is an outlook that keeps its place; who
// asks for no more than it has is booked.
func TestLeastChance(t *testing.T) {
	r := &Rules{Horizon: 3600, Free: true, Users: []User{{Weight: 1}}, Wishes: []Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}},
		Clusters: []Cluster{{TMax: 100, Good: 1000}}}
	slots := []Slot{{To: 1000, CPUs: 1, Start: 80}, {To: 1000, CPUs: 2, Start: 96}}
	jobs := []Job{{Seq: 1, Priority: 9, Wall: 900, Procs: 3, Least: 90}, {Seq: 2, Priority: 8, Wall: 900, Procs: 1}}
	if list := (Lookahead{}).Plan(jobs, slots, r); len(list) != 1 || !list[0].Tentative {
		t.Errorf("three processors of which one is not sure: %+v", list)
	}
	jobs[0].Procs = 1
	if list := (Lookahead{}).Plan(jobs, slots, r); len(list) != 2 || list[0].Tentative || list[0].Parts[0].Slot != 1 || list[1].Tentative {
		t.Errorf("one that is sure: %+v", list)
	}
	jobs[0].Procs, jobs[0].Least = 3, 80
	if list := (Lookahead{}).Plan(jobs, slots, r); len(list) != 1 || list[0].Tentative {
		t.Errorf("as sure as it is asked for: %+v", list)
	}
}
