package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// What a scheduler has of local jobs after any events, in pictures of any order and with answers that are lost, is what
// would be told anew, but for starts that are near enough.
func TestDeltasTellWhatASetMadeAnewTells(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(8) {
		b := newBench(t)
		b.site.state = busy(8, 24, 30)
		b.now = b.site.state.Now
		a := b.agent()
		rng := rand.New(rand.NewPCG(seed, 1))
		for turn := range 60 {
			chanceEvents(b, rng, turn)
			a.prepare()
			before := b.c.seq
			err := step(t.Context(), a)
			if err != nil || a.known == nil || a.doubt != nil {
				a.retry = time.Time{}
				continue
			}
			if b.c.seq == before { // all is as it was foretold
				continue
			}
			s, f := foretell(a)
			anew, _ := local(a, s, f, newToldJobs())
			if len(anew) != len(b.c.jobs) || len(b.c.jobs) != len(s.Jobs) {
				t.Fatalf("seed %d, step %d: %d jobs are there, %d would be told anew, the scheduler has %d", seed, turn, len(s.Jobs), len(anew), len(b.c.jobs))
			}
			for _, e := range anew {
				was, nowhere := b.c.jobs[e.Task], e
				if nowhere.Node, nowhere.Spread = "", ""; was != e && !stays(&was, &nowhere, f.At.Unix()) {
					t.Fatalf("seed %d, step %d: the scheduler has\n%+v of what is\n%+v", seed, turn, was, e)
				}
			}
			if list := a.known.jobs.list(); len(list) != len(b.c.jobs) || slices.ContainsFunc(list, func(e wire.Entry) bool { return b.c.jobs[e.Task] != e }) {
				t.Fatalf("seed %d, step %d: the agent believes that the scheduler has %d others", seed, turn, len(list))
			}
			if work := ponder(a); work != nil {
				work()
			}
		}
	}
}

// chanceEvents lets some jobs come, begin, end, wait again and come back under their names, and may put them in another order.
func chanceEvents(b *bench, rng *rand.Rand, turn int) {
	b.now = b.now.Add(time.Duration(1+rng.IntN(300)) * time.Second)
	s := &b.site.state
	s.Now, s.Jobs = b.now, slices.Clone(s.Jobs)
	for range rng.IntN(4) {
		k := rng.IntN(len(s.Jobs))
		j := &s.Jobs[k]
		switch rng.IntN(4) {
		case 0:
			s.Jobs = slices.Delete(s.Jobs, k, k+1)
		case 1:
			j.Started, j.Placed = time.Time{}, nil
		case 2:
			if j.Started.IsZero() && j.Procs == 1 {
				j.Started, j.Placed = b.now, []batch.Placement{{Node: s.Nodes[rng.IntN(len(s.Nodes))].Name, Procs: 1}}
			}
		default:
			name := fmt.Sprint("new", rng.IntN(20)) // it may have been there before
			if !slices.ContainsFunc(s.Jobs, func(j batch.Job) bool { return j.ID == name }) {
				s.Jobs = slices.Insert(s.Jobs, k, batch.Job{ID: name, User: "u", Queue: "all", Procs: 1 + rng.IntN(4), Requested: time.Hour, Submitted: b.now})
			}
		}
	}
	if turn%7 == 3 {
		rng.Shuffle(len(s.Jobs), func(i, j int) { s.Jobs[i], s.Jobs[j] = s.Jobs[j], s.Jobs[i] })
	}
	b.c.with(func() { b.c.lose, b.c.refuse = rng.IntN(9) == 0, rng.IntN(9) == 0 })
}
