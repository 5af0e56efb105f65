package batch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// scene is a random cluster with nodes, queues, reservations and jobs of every
// kind, small enough for collisions to be frequent.
func scene(rng *rand.Rand) batch.State {
	s := batch.State{Now: time.Unix(1_700_000_000, 0).UTC(), Cluster: "scene"}
	queues := [][]string{nil, {"p1"}, {"p2"}, {"p1", "p2"}}
	for i := range 2 + rng.IntN(5) {
		s.Nodes = append(s.Nodes, batch.Node{
			Name: fmt.Sprint("n", i), CPUs: 1 + rng.IntN(4), Memory: int64(1000 * (1 + rng.IntN(4))), Disk: int64(100 * rng.IntN(3)),
			GPUs: rng.IntN(3), Features: [][]string{nil, {"fast"}}[rng.IntN(2)], Queues: queues[rng.IntN(len(queues))], Up: rng.IntN(8) > 0,
		})
	}
	s.Queues = []batch.Queue{
		{Name: "p1", MaxRunning: rng.IntN(3)}, {Name: "p2", Priority: rng.IntN(2), MaxWallTime: time.Duration(rng.IntN(8)) * time.Hour},
		{Name: "shut", Closed: true},
	}
	for i := range rng.IntN(4) {
		s.Reservations = append(s.Reservations, reservation(rng, s, i))
	}
	for i := range 3 + rng.IntN(14) {
		j := sceneJob(rng, s, i)
		if rng.IntN(4) == 0 {
			j.Started = s.Now.Add(-time.Duration(rng.IntN(7200)) * time.Second)
			n := s.Nodes[rng.IntN(len(s.Nodes))]
			j.Procs, j.Nodes, j.Memory, j.GPUs, j.Disk, j.Exclusive = 1, 0, 0, 0, 0, false
			j.Placed = []batch.Placement{{Node: n.Name, Procs: 1}}
			if rng.IntN(5) == 0 {
				j.Placed = nil
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func reservation(rng *rand.Rand, s batch.State, i int) batch.Reservation {
	r := batch.Reservation{Name: fmt.Sprint("r", i), Start: s.Now.Add(time.Duration(rng.IntN(6)-2) * time.Hour), ByName: rng.IntN(2) == 0}
	r.End = r.Start.Add(time.Duration(1+rng.IntN(5)) * time.Hour)
	if rng.IntN(3) == 0 {
		r.Procs = 1 + rng.IntN(5)
	} else {
		for range 1 + rng.IntN(2) {
			r.Nodes = append(r.Nodes, s.Nodes[rng.IntN(len(s.Nodes))].Name)
		}
	}
	if rng.IntN(2) == 0 {
		r.Users = []string{"u1", "u2"}
	}
	return r
}

func sceneJob(rng *rand.Rand, s batch.State, i int) batch.Job {
	j := batch.Job{
		ID: fmt.Sprint(i), User: fmt.Sprint("u", rng.IntN(4)), Procs: 1 + rng.IntN(6), Requested: time.Duration(1+rng.IntN(16)) * 30 * time.Minute,
		Queue: []string{"", "p1", "p2", "p1", "p2", "p2"}[rng.IntN(6)], Submitted: s.Now.Add(-time.Duration(rng.IntN(90)) * time.Minute),
		Priority: float64(rng.IntN(3)),
	}
	switch rng.IntN(12) {
	case 0:
		j.Memory = int64(500 * (1 + rng.IntN(5)))
	case 1:
		j.GPUs = 1 + rng.IntN(2)
	case 2:
		j.Disk = int64(50 * (1 + rng.IntN(4)))
	case 3:
		j.Nodes = 1 + rng.IntN(3)
		j.Procs = j.Nodes * (1 + rng.IntN(2))
	case 4:
		j.Features = []string{"fast"}
	case 5:
		j.Exclusive = true
	case 6:
		j.Begin = s.Now.Add(time.Duration(rng.IntN(300)-60) * time.Minute)
	case 7:
		j.After = []batch.Dependency{{ID: fmt.Sprint(rng.IntN(17)), On: []batch.Trigger{batch.OnEnd, batch.OnStart, batch.OnSuccess, batch.OnFailure}[rng.IntN(4)]}}
	case 8:
		j.Held = rng.IntN(2) == 0
	}
	if len(s.Reservations) > 0 && rng.IntN(4) == 0 {
		j.Reservation = s.Reservations[rng.IntN(len(s.Reservations))].Name
	}
	if rng.IntN(20) == 0 {
		j.Queue = "shut"
	}
	if rng.IntN(10) == 0 {
		j.Also = []string{"p1"}
	}
	return j
}

// scenePolicies are tried on every scene.
func scenePolicies() []batch.Policy {
	return []batch.Policy{
		{Name: "fcfs"}, {Name: "easy"}, {Name: "easy-sjbf"}, {Name: "conservative"}, {Name: "maui"}, {Name: "slurm"}, {Name: "slurm", Slurm: batch.Slurm{Builtin: true}},
		{Name: "maui", Maui: batch.Maui{ReservationDepth: batch.Unlimited, ReservationPolicy: "HIGHEST"}},
		{Name: "maui", Maui: batch.Maui{Backfill: "GREEDY", ReservationDepth: 2}},
		{Name: "maui", Maui: batch.Maui{Backfill: "BESTFIT", ReservationPolicy: "NEVER"}},
	}
}

// TestNothingVanishes: the jobs foretold to start and those refused are those
// that wait, each once; what starts keeps within its nodes, its reservation, its
// begin and its dependencies.
func TestNothingVanishes(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 11))
		s := scene(rng)
		for _, p := range scenePolicies() {
			checkForecast(t, fmt.Sprint("seed ", seed, " ", p), s, p)
		}
	}
}

func FuzzNothingVanishes(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		s := scene(rand.New(rand.NewPCG(a, b)))
		for _, p := range scenePolicies() {
			checkForecast(t, fmt.Sprint(p), s, p)
		}
	})
}

func checkForecast(t *testing.T, what string, s batch.State, p batch.Policy) {
	t.Helper()
	f := batch.Forecaster{Policy: p}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	accounted(t, what, s, out.Jobs, out.Refused)
	checkStarts(t, what, s, out)
	checkRoom(t, what, s, out)
}

// accounted compares the jobs that wait with those spoken of.
func accounted(t *testing.T, what string, s batch.State, jobs []batch.Expected, refused []batch.Refusal) {
	t.Helper()
	seen := map[string]int{}
	for _, e := range jobs {
		seen[e.ID]++
	}
	for _, r := range refused {
		if seen[r.ID]++; r.Cause == "" || r.Reason == "" {
			t.Fatalf("%s: job %s is refused without a reason", what, r.ID)
		}
	}
	for _, j := range s.Jobs {
		if want := map[bool]int{true: 1}[j.Started.IsZero()]; seen[j.ID] != want {
			t.Fatalf("%s: job %s is spoken of %d times, want %d: %+v", what, j.ID, seen[j.ID], want, j)
		}
		delete(seen, j.ID)
	}
	if len(seen) > 0 {
		t.Fatalf("%s: jobs %v are unknown", what, seen)
	}
}

// checkStarts sees that no job starts too early.
func checkStarts(t *testing.T, what string, s batch.State, out *batch.Forecast) {
	t.Helper()
	at := map[string]batch.Expected{}
	for _, e := range out.Jobs {
		at[e.ID] = e
	}
	known := map[string]batch.Job{}
	for _, j := range s.Jobs {
		known[j.ID] = j
	}
	for _, j := range s.Jobs {
		e, ok := at[j.ID]
		if !ok {
			continue
		}
		if e.Start.Before(s.Now) || e.Start.Before(j.Begin) {
			t.Fatalf("%s: job %s starts at %s", what, j.ID, e.Start)
		}
		for _, d := range j.After {
			other, waits := at[d.ID]
			switch {
			case d.ID == j.ID || known[d.ID].ID == "":
			case waits && d.On == batch.OnStart && e.Start.Before(other.Start), waits && d.On != batch.OnStart && e.Start.Before(other.End):
				t.Fatalf("%s: job %s starts at %s, before %+v of %+v", what, j.ID, e.Start, d, other)
			}
		}
		for _, r := range s.Reservations {
			if j.Reservation == r.Name && (e.Start.Before(r.Start) || e.End.After(r.End)) {
				t.Fatalf("%s: job %s runs %s to %s, its reservation is %+v", what, j.ID, e.Start, e.End, r)
			}
		}
	}
}

// checkRoom sees that what starts on a node fits it beside all that runs there.
func checkRoom(t *testing.T, what string, s batch.State, out *batch.Forecast) {
	t.Helper()
	known := map[string]batch.Job{}
	for _, j := range s.Jobs {
		known[j.ID] = j
	}
	for _, e := range out.Jobs {
		for _, p := range e.Placed {
			cpus, gpus, memory, disk := 0, 0, int64(0), int64(0)
			for _, o := range out.Jobs {
				j := known[o.ID]
				for _, q := range o.Placed {
					if q.Node == p.Node && !o.Start.After(e.Start) && o.End.After(e.Start) {
						cpus, gpus, memory, disk = cpus+q.Procs, gpus+j.GPUs, memory+j.Memory*int64(q.Procs), disk+j.Disk
					}
				}
			}
			for _, n := range s.Nodes {
				if n.Name == p.Node && (cpus > n.CPUs || gpus > n.GPUs || memory > n.Memory || disk > n.Disk || !n.Up) {
					t.Fatalf("%s: at %s node %s has %d CPUs, %d GPUs, %d MB, %d MB disk in use: %+v", what, e.Start, n.Name, cpus, gpus, memory, disk, n)
				}
			}
		}
	}
}

// TestLiveLosesNothing follows random events on random scenes.
func TestLiveLosesNothing(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 13))
		s := scene(rng)
		p := scenePolicies()[int(seed)%len(scenePolicies())]
		w := &world{t: t, rng: rng, now: s.Now, kind: "scene", f: batch.Forecaster{Policy: p}}
		live, err := w.f.Live(s)
		w.must(err)
		w.live = live
		for i := range 25 {
			if len(live.State().Jobs) == 0 {
				break
			}
			w.step(i)
			w.compare(i)
			accounted(t, fmt.Sprint("seed ", seed, " event ", i, " ", p), live.State(), live.Starts(0), live.Refused())
		}
	}
}
