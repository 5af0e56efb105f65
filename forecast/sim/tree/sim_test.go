package tree

import "testing"

// Who watches a long run hears at its beginning and again and again how far it is, never less than before.
func TestFollow(t *testing.T) {
	w := Work{Jobs: 2000, Horizon: 500, Nodes: PerSystem{10}, Share: []float64{1}, Width: "uniform:10", Run: "exp", Load: 1.5, Prios: 1, Systems: 64}
	jobs, err := w.Draw(1)
	if err != nil {
		t.Fatal(err)
	}
	c := Ours(Config{Mode: "tree", Fanout: 4, Discipline: "firstfit", Latency: 100, Handshake: true, Mark: "ack", Fit: "best"})
	var heard []int64
	told := func(hundredths int64) {
		if n := len(heard); n > 0 && hundredths < heard[n-1] || hundredths > 100 {
			t.Errorf("%d hundredths after %v", hundredths, heard)
		}
		heard = append(heard, hundredths)
	}
	if _, err := Follow(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 1, told); err != nil {
		t.Fatal(err)
	}
	if n := len(heard); n < 10 || heard[0] != 0 || heard[n-1] < 90 {
		t.Errorf("heard %v", heard)
	}
}
