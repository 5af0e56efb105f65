package batch_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

func TestForecast(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	s := batch.State{
		Now: now, Cluster: "c",
		Nodes: []batch.Node{
			{Name: "a", CPUs: 4, Memory: 8000, Up: true}, {Name: "b", CPUs: 4, Memory: 8000, Up: true, Features: []string{"fast"}},
			{Name: "down", CPUs: 64},
		},
		Queues: []batch.Queue{{Name: "q", MaxWallTime: 10 * time.Hour, MaxRunning: 3}, {Name: "shut", Closed: true}},
		Jobs: []batch.Job{
			{ID: "r1", Procs: 4, Started: now.Add(-time.Hour), Requested: 3 * time.Hour, Placed: []batch.Placement{{Node: "a", Procs: 4}}},
			{ID: "w1", Procs: 2, Queue: "q", Requested: time.Hour, Submitted: now.Add(-9 * time.Minute), Features: []string{"fast"}},
			{ID: "w2", Procs: 4, Nodes: 1, Queue: "q", Requested: time.Hour, Submitted: now.Add(-8 * time.Minute)},
			{ID: "w3", Procs: 1, Queue: "q", Requested: 30 * time.Minute, Submitted: now.Add(-7 * time.Minute), Memory: 5000},
			{ID: "held", Procs: 1, Held: true}, {ID: "wide", Procs: 9}, {ID: "long", Queue: "q", Procs: 1, Requested: 11 * time.Hour},
			{ID: "big", Procs: 1, Memory: 9000}, {ID: "late", Procs: 1, Queue: "shut"},
		},
		Reservations: []batch.Reservation{{Name: "m", Nodes: []string{"b"}, Start: now.Add(5 * time.Hour), End: now.Add(6 * time.Hour)}},
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range out.Jobs {
		got[e.ID] = fmt.Sprintf("%s %v", e.Start.Sub(now), e.Placed)
	}
	// w1 has b at once; w2 needs a whole node: b in an hour; w3 fits beside w1
	// and is gone before.
	want := map[string]string{"w1": "0s [{b 2}]", "w2": "1h0m0s [{b 4}]", "w3": "0s [{b 1}]"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("schedule %v, want %v", got, want)
	}
	if len(out.Refused) != 5 {
		t.Errorf("refused %v", out.Refused)
	}
	sizes := []batch.Size{{Procs: 1, Duration: time.Minute}, {Procs: 8, Duration: 2 * time.Hour}, {Procs: 8, Duration: 4 * time.Hour}, {Procs: 9}}
	for i, at := range out.Earliest(sizes) {
		if want := []time.Time{now, now.Add(2 * time.Hour), now.Add(6 * time.Hour), {}}[i]; !at.Equal(want) {
			t.Errorf("%+v would start at %s, want %s", sizes[i], at, want)
		}
	}
	slots := ""
	for _, x := range out.Slots(24 * time.Hour) {
		slots += fmt.Sprintf("%s %s %d\n", x.Node, x.From.Sub(now), x.CPUs)
	}
	if want := "a 2h0m0s 4\nb 0s 1\nb 30m0s 2\nb 2h0m0s 4\nb 6h0m0s 4\n"; slots != want {
		t.Errorf("slots\n%swant\n%s", slots, want)
	}
}

// BenchmarkUpdate is one event (a job that ends before its time, or one that is
// submitted) and what then starts next, in a queue of 10,000 waiting and 5,000
// running jobs.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{100, 0} {
		b.Run(fmt.Sprintf("starts=%d", n), func(b *testing.B) {
			s := busyState(5000, 10000, 5000, false)
			f := batch.Forecaster{Policy: batch.Policy{Name: "easy"}}
			live, err := f.Live(s)
			if err != nil {
				b.Fatal(err)
			}
			live.Starts(n)
			before := testbed.Processor(b).Seconds()
			i := 0
			for b.Loop() {
				at := s.Now.Add(time.Duration(i) * time.Second)
				err := live.Submit(batch.Job{ID: fmt.Sprint("x", i), User: "u", Procs: 4, Requested: time.Hour, Submitted: at})
				if i%2 == 1 {
					err = live.Cancel(fmt.Sprint("x", i), at)
				}
				if i++; err != nil {
					b.Fatal(err)
				}
				live.Starts(n)
			}
			b.ReportMetric((testbed.Processor(b).Seconds()-before)*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
