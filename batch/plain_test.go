package batch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// crowdedState is a cluster of unlike nodes in two partitions that share some,
// with running jobs and so many that wait, which ask for memory, disk, GPUs,
// features, whole nodes and numbers of nodes; now and then with reservations.
func crowdedState(rng *rand.Rand, nodes, waiting int) State {
	s := State{Now: time.Unix(1_700_000_000, 0).UTC(), Cluster: "c", Queues: []Queue{{Name: "a"}, {Name: "b", Priority: rng.IntN(2)}}}
	for i := range nodes {
		n := Node{Name: fmt.Sprintf("n%03d", i), CPUs: 1 + rng.IntN(8), Memory: int64(1+rng.IntN(8)) * 4096, Disk: 1000, Up: true, Queues: []string{"a"}}
		switch rng.IntN(4) {
		case 0:
			n.Queues, n.GPUs = []string{"b"}, rng.IntN(4)
		case 1:
			n.Queues = []string{"a", "b"}
		case 2:
			n.Features = []string{"fast"}
		}
		s.Nodes = append(s.Nodes, n)
	}
	minute := []time.Duration{time.Second, time.Minute, 10 * time.Minute}[rng.IntN(3)]
	for i := range 2*nodes + waiting {
		j := Job{
			ID: fmt.Sprint(i), User: fmt.Sprint("u", rng.IntN(9)), Procs: 1 + rng.IntN(4), Queue: []string{"a", "b"}[rng.IntN(2)],
			Requested: time.Duration(1+rng.IntN(200)) * minute, Submitted: s.Now.Add(time.Duration(i-2*nodes-waiting) * time.Second),
		}
		if i < 2*nodes {
			j.Started, j.Procs = s.Now.Add(-time.Duration(rng.Int64N(int64(j.Requested)))), 1+rng.IntN(2)
			j.Placed = []Placement{{s.Nodes[i/2].Name, j.Procs}}
			s.Jobs = append(s.Jobs, j)
			continue
		}
		ask(rng, &j)
		s.Jobs = append(s.Jobs, j)
	}
	if rng.IntN(4) == 0 {
		s.Reservations = append(s.Reservations, Reservation{
			Name: "r", Nodes: []string{s.Nodes[0].Name, s.Nodes[1].Name}, Users: []string{"u1"},
			Start: s.Now.Add(30 * minute), End: s.Now.Add(300 * minute),
		})
	}
	return s
}

// ask makes a job want one thing or another.
func ask(rng *rand.Rand, j *Job) {
	switch rng.IntN(8) {
	case 0:
		j.Nodes = 1 + rng.IntN(3)
		j.Procs = j.Nodes * (1 + rng.IntN(3))
	case 1:
		j.Memory, j.Disk = int64(1+rng.IntN(8))*1024, int64(rng.IntN(800))
	case 2:
		j.GPUs, j.Queue = 1+rng.IntN(2), "b"
	case 3:
		j.Features, j.Queue = []string{"fast"}, "a"
	case 4:
		j.Exclusive = rng.IntN(4) == 0
	case 5:
		j.Procs = 1 + rng.IntN(40)
	}
}

// TestPlain holds every schedule against that of a machine which remembers
// nothing: starts, nodes and refusals are to be the same.
func TestPlain(t *testing.T) {
	testbed.Computes(t)
	compared, seeds := 0, testbed.Seeds(4, 24)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 99))
		s := crowdedState(rng, 12+rng.IntN(120), 100+rng.IntN(300))
		if seed%4 == 3 {
			tasks(rng, s.Jobs)
		}
		for _, p := range []Policy{
			{Name: "fcfs"}, {Name: "easy"}, {Name: "easy-sjbf"}, {Name: "conservative"}, {Name: "maui", Maui: Maui{ReservationDepth: 12}},
			{Name: "maui", Maui: Maui{ReservationDepth: Unlimited}}, {Name: "slurm", Slurm: Slurm{fine: true}}, {Name: "slurm", Slurm: Slurm{fine: true, MaxJobTest: 40, Window: 3 * time.Hour}},
		} {
			for _, b := range []Belief{Estimate{}, halves{}} {
				s := s
				if dear(p, b) {
					s = thinned(s)
				}
				got, want := scheduled(t, s, p, b, false), scheduled(t, s, p, b, true)
				if compared += len(want); len(got) != len(want) {
					t.Fatalf("seed %d, %v, %T: %d lines, want %d", seed, p, b, len(got), len(want))
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("seed %d, %v, %T: line %d is %s, want %s", seed, p, b, i, got[i], want[i])
					}
				}
			}
		}
	}
	if compared < 15_000*int(seeds)/8 {
		t.Errorf("only %d lines compared", compared)
	}
}

// dear tells whether an early end makes a machine that remembers nothing plan all that wait anew.
func dear(p Policy, b Belief) bool {
	return b == halves{} && (p.Name == "conservative" || p.Name == "maui")
}

// thinned is a state in which every other of the jobs that wait does.
func thinned(s State) State {
	all := s.Jobs
	s.Jobs = nil
	for i, j := range all {
		if !j.Started.IsZero() || i%2 == 0 {
			s.Jobs = append(s.Jobs, j)
		}
	}
	return s
}

// A machine on which nothing is remembered gives no place again as in the run before.
func TestPlainRecallsNothing(t *testing.T) {
	s := crowdedState(rand.New(rand.NewPCG(1, 1)), 8, 20)
	s.Reservations = nil
	for _, plain := range []bool{false, true} {
		f := Forecaster{Policy: Policy{Name: "conservative"}}
		c, err := newCluster(s, f.Policy, &f.users, true)
		if err != nil {
			t.Fatal(err)
		}
		c.plain = plain
		run := c.forward(f.belief(), c.forward(f.belief(), nil))
		if again := run.m.recall.again; plain != (again == 0) {
			t.Errorf("plain %v: %d places given again", plain, again)
		}
	}
}

// halves believes that of two jobs one takes half of its limit.
type halves struct{ Estimate }

// Run implements Belief.
func (halves) Run(t *Task, elapsed int64) int64 {
	if t.ID%2 == 0 {
		return max(t.Limit/2, elapsed+1)
	}
	return max(t.Limit, elapsed+1)
}

// scheduled is a forecast, line by line.
func scheduled(t *testing.T, s State, p Policy, b Belief, plain bool) (lines []string) {
	t.Helper()
	f := Forecaster{Policy: p, Belief: b}
	c, err := newCluster(s, f.Policy, &f.users, true)
	if err != nil {
		t.Fatal(err)
	}
	c.plain = plain
	out := f.forecast(c)
	for _, e := range out.Jobs {
		lines = append(lines, fmt.Sprint(e.ID, " ", e.Start.Sub(s.Now), " ", e.Placed))
	}
	for _, r := range out.Refused {
		lines = append(lines, fmt.Sprint(r))
	}
	return lines
}
