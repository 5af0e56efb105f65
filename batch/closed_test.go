package batch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gridbroker/testdata/testbed"
)

// TestClosures holds a plan in which places close nodes against one in which they are
// held like all else: where jobs find room, on which nodes, and for how long nodes stay
// free, while jobs run and places come and go.
func TestClosures(t *testing.T) {
	testbed.Computes(t)
	asked, found := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		closes, holds := twoPlans(rng, 3+rng.IntN(70))
		needs := someNeeds(rng, len(closes.nodes))
		closes.calendars, holds.calendars = daily(closes), nil
		var there []*job
		leave := func(which func(*job) bool) {
			there = slices.DeleteFunc(there, func(j *job) bool {
				if !which(j) {
					return false
				}
				for _, p := range []*nodePlan{closes, holds} {
					p.vacate(j, max(j.planned, p.now), j.planned+j.limit)
				}
				return true
			})
		}
		for n := range int64(120) {
			if k := rng.IntN(4); k == 0 && len(there) > 0 {
				gone := there[rng.IntN(len(there))]
				leave(func(j *job) bool { return j == gone })
			} else if now := closes.now + rng.Int64N(500); k == 1 {
				leave(func(j *job) bool { return j.planned+j.limit <= now })
				closes.forget(now)
				holds.forget(now)
			}
			j := &job{Task: Task{Need: needs[rng.IntN(len(needs))]}, seq: n + 1, limit: 60 * (1 + rng.Int64N(200)), procs: int32(1 + rng.IntN(30)), compact: true, blocks: rng.IntN(4) > 0}
			from := closes.now + rng.Int64N(3000)
			asked++
			if got, want := closes.fits(j, closes.now), holds.fits(j, holds.now); got != want {
				t.Fatalf("seed %d, job %d: fits now %v, want %v", seed, n, got, want)
			}
			if got, want := closes.earliest(j, from, never), holds.earliest(j, from, never); got != want {
				t.Fatalf("seed %d, job %d: %d, want %d", seed, n, got, want)
			} else if got == never {
				continue
			} else {
				j.planned = got
			}
			found++
			other := *j
			closes.occupy(j, j.planned, j.planned+j.limit)
			holds.occupy(&other, j.planned, j.planned+j.limit)
			if !slices.Equal(j.shares, other.shares) {
				t.Fatalf("seed %d, job %d: on %v, want %v", seed, n, j.shares, other.shares)
			}
			there = append(there, j)
			for i := range closes.nodes {
				a, b := &closes.nodes[i], &holds.nodes[i]
				if got, want := a.gap(closes.now), b.gap(holds.now); got != want {
					t.Fatalf("seed %d, job %d: node %d stays free for %d s, want %d", seed, n, i, got, want)
				}
			}
		}
	}
	if asked < 5000 || found < 4000 {
		t.Errorf("only %d places asked for, %d found", asked, found)
	}
}

// twoPlans are plans of the same unlike nodes; in the second one nothing is closed, as
// where there are reservations.
func twoPlans(rng *rand.Rand, n int) (closes, holds *nodePlan) {
	nodes := make([]amounts, n)
	for i := range nodes {
		nodes[i] = amounts{memory: int64(1 + rng.IntN(64)), procs: int32(1 + rng.IntN(8))}
	}
	closes, holds = newNodePlan(0, nodes), newNodePlan(0, nodes)
	holds.reserved = true
	return closes, holds
}

// someNeeds ask for memory, for some of the nodes and for whole ones.
func someNeeds(rng *rand.Rand, nodes int) (list []*Need) {
	for id := range 6 {
		n := &Need{id: id + 1, kind: id, Memory: int64(id % 3 * 4), Whole: id == 5}
		for i := range nodes {
			if id < 3 || rng.IntN(2) == 0 {
				n.allow(int32(i))
			}
		}
		n.serve = append(n.serve, make([]uint64, (nodes+64)/64-len(n.serve))...)
		list = append(list, n)
	}
	return list
}

// daily is a calendar of a plan, so that searches go by days.
func daily(p *nodePlan) calendars {
	m := &Machine{plan: p}
	var queue waiting
	for i := range int32(4) {
		m.jobs = append(m.jobs, job{Task: Task{Need: &Need{}}, limit: 6000, procs: 1})
		queue.insert(m.jobs[i].entry(i))
	}
	p.survey(m, &queue)
	return p.calendars
}
