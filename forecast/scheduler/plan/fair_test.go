package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Taking turns from the users' own queues gives the order that sorting by the same stamps gives.
func TestTurnsAreAsSorted(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 8))
		rules := &Rules{MaxBypass: 100}
		for range 1 + r.IntN(12) {
			rules.Users = append(rules.Users, User{Weight: float64(r.IntN(3)), Used: float64(r.IntN(4))})
		}
		jobs := make([]Job, r.IntN(200))
		for i := range jobs {
			jobs[i] = Job{Seq: int64(i), Priority: float32(r.IntN(3)), Wall: int32(3600 * r.IntN(3)), Procs: int32(1 + r.IntN(4)),
				User: int32(r.IntN(len(rules.Users))), Bypassed: int32(r.IntN(110)), Queued: r.IntN(20) == 0}
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(jobs), func(a, b int) { jobs[a], jobs[b] = jobs[b], jobs[a] })
		}
		want := sortedOrder(jobs, rules)
		if got := Order(jobs, rules); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		if !slices.IsSorted(want) {
			moved++
		}
	}
	if moved < 200 {
		t.Errorf("only %d orders are not those in which jobs came", moved)
	}
}

// sortedOrder is Order by sorting alone.
func sortedOrder(jobs []Job, r *Rules) (list []int32) {
	for _, i := range byPriority(jobs) {
		if !jobs[i].Queued {
			list = append(list, i)
		}
	}
	used, stamps := make([]float64, len(r.Users)), make([]float64, len(jobs))
	for u := range used {
		used[u] = r.Users[u].Used / weight(&r.Users[u])
	}
	first := func(i int32) bool { return r.passedBy(&jobs[i]) }
	for _, i := range list {
		if u := jobs[i].User; !first(i) && len(r.Users) > 1 {
			stamps[i] = used[u]
			used[u] += r.fee(&jobs[i]) / weight(&r.Users[u])
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int {
		switch {
		case first(a) && first(b):
			return cmp.Compare(jobs[a].Seq, jobs[b].Seq)
		case first(a):
			return -1
		case first(b):
			return 1
		}
		return cmp.Or(cmp.Compare(jobs[b].Priority, jobs[a].Priority), cmp.Compare(stamps[a], stamps[b]))
	})
	return list
}
