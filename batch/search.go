package batch

import (
	"math"
	"math/rand/v2"
	"slices"
)

// packing is a choice among jobs that a search works on: jobs by their place
// in the order of priority, put on the machine beside those that are there
// already and taken off again.
type packing interface {
	size() int
	worth(i int) int64
	put(i int) bool // false: it does not fit, nothing was done
	drop(i int)
}

// budgeted is a packing that counts the jobs tried: the bound on a search's
// time that keeps replays repeatable.
type budgeted struct {
	packing
	left    int
	perfect int64 // a total that cannot be beaten; 0: not known
	in      []bool
	total   int64
	best    []int
	record  int64
}

func (b *budgeted) put(i int) bool {
	b.left--
	if b.in[i] || !b.packing.put(i) {
		return false
	}
	b.in[i] = true
	if b.total += b.worth(i); b.total > b.record {
		b.record, b.best = b.total, b.best[:0]
		for k, in := range b.in {
			if in {
				b.best = append(b.best, k)
			}
		}
	}
	return true
}

func (b *budgeted) drop(i int) {
	if b.in[i] {
		b.packing.drop(i)
		b.in[i] = false
		b.total -= b.worth(i)
	}
}

func (b *budgeted) over() bool { return b.left <= 0 || b.perfect > 0 && b.record >= b.perfect }

// picker looks for the set of jobs of the greatest worth until the budget is
// over or it knows no better; it leaves what it finds in best.
type picker func(b *budgeted, rng *rand.Rand)

// pickers are the searches by the names of BACKFILLSEARCH.
var pickers = map[string]picker{"ENUMERATION": enumerate, "ANNEALING": anneal, "GENETIC": breed, "EXACT": enumerate}

// trials bounds the jobs that a search tries, as GREEDY is bounded.
const trials = combinations

// exactCombinations bounds EXACT, which is for small cases.
const exactCombinations = 1 << 22

// pick searches a packing and returns the best set found, in order.
func pick(name string, k packing, perfect int64, seed uint64) []int {
	b := &budgeted{packing: k, left: trials, perfect: perfect, in: make([]bool, k.size())}
	if name == "EXACT" {
		b.left = exactCombinations
	}
	pickers[name](b, rand.New(rand.NewPCG(seed, 17)))
	for i := range b.in {
		b.drop(i)
	}
	return b.best
}

// enumerate looks at the sets in depth-first order, and where what is left
// could not make a set better, at none of those.
func enumerate(b *budgeted, _ *rand.Rand) {
	rest := make([]int64, b.size()+1)
	for i := b.size() - 1; i >= 0; i-- {
		rest[i] = rest[i+1] + b.worth(i)
	}
	var visit func(i int)
	visit = func(i int) {
		for ; i < b.size() && !b.over() && b.total+rest[i] > b.record; i++ {
			if b.put(i) {
				visit(i + 1)
				b.drop(i)
			}
		}
	}
	visit(0)
}

// anneal starts from the jobs in order and exchanges: a job comes in, jobs at
// random go out until it fits. Sets that are worse are kept with a chance that
// falls as the budget is used up.
func anneal(b *budgeted, rng *rand.Rand) {
	for i := range b.size() {
		b.put(i)
	}
	budget, hot := float64(max(1, b.left)), float64(max(1, b.record))/4
	for !b.over() {
		before, was := slices.Clone(b.in), b.total
		b.exchange(rng, rng.IntN(b.size()))
		heat := hot * float64(b.left) / budget
		if b.total < was && rng.Float64() >= math.Exp(float64(b.total-was)/max(heat, 1e-9)) {
			b.restore(before)
		}
	}
}

// exchange brings a job in, for others where need be, and fills up.
func (b *budgeted) exchange(rng *rand.Rand, i int) {
	if b.in[i] {
		b.drop(i)
		return
	}
	for !b.put(i) {
		out := b.inside()
		if len(out) == 0 || b.over() {
			return
		}
		b.drop(out[rng.IntN(len(out))])
	}
	for range 4 { // what has come free
		if k := rng.IntN(b.size()); !b.in[k] && !b.over() {
			b.put(k)
		}
	}
}

func (b *budgeted) inside() (list []int) {
	for i, in := range b.in {
		if in {
			list = append(list, i)
		}
	}
	return list
}

// restore makes a set of before the present one.
func (b *budgeted) restore(set []bool) {
	for i, in := range set {
		if !in {
			b.drop(i)
		}
	}
	for i, in := range set {
		if in && !b.in[i] {
			b.put(i)
		}
	}
}

// herd is how many sets the genetic search breeds from.
const herd = 12

// breed mixes two of the better sets, changes a little, and fills up in order
// of priority; the child takes the place of the worst.
func breed(b *budgeted, rng *rand.Rand) {
	type animal struct {
		set   []bool
		total int64
	}
	var all []animal
	for k := range herd {
		order := rng.Perm(b.size())
		if k == 0 {
			slices.Sort(order)
		}
		b.restore(make([]bool, b.size()))
		for _, i := range order {
			if b.over() {
				return
			}
			b.put(i)
		}
		all = append(all, animal{slices.Clone(b.in), b.total})
	}
	for !b.over() {
		slices.SortStableFunc(all, func(x, y animal) int { return int(min(max(y.total-x.total, -1), 1)) })
		mother, father := all[rng.IntN(herd/2)], all[rng.IntN(herd/2)]
		child := make([]bool, b.size())
		for i := range child {
			child[i] = mother.set[i]
			if rng.IntN(2) == 0 {
				child[i] = father.set[i]
			}
			if rng.IntN(b.size()) == 0 {
				child[i] = !child[i]
			}
		}
		b.restore(child)
		for i := range child {
			if !b.in[i] && !b.over() {
				b.put(i)
			}
		}
		all[herd-1] = animal{slices.Clone(b.in), b.total}
	}
}

// waiters are the waiting jobs as a packing on the machine of now.
type waiters struct {
	p    *backfill
	m    *Machine
	list []int32
}

func (q waiters) size() int         { return len(q.list) }
func (q waiters) worth(i int) int64 { return q.p.weigh(&q.m.jobs[q.list[i]]) }

func (q waiters) put(i int) bool {
	if !q.m.fits(q.list[i]) {
		return false
	}
	j := &q.m.jobs[q.list[i]]
	q.m.plan.occupy(j, q.m.now, q.m.now+j.limit)
	return true
}

func (q waiters) drop(i int) {
	j := &q.m.jobs[q.list[i]]
	q.m.plan.vacate(j, q.m.now, q.m.now+j.limit)
}

// start starts the set that the search finds.
func (q waiters) start(perfect int64) {
	for _, i := range pick(q.p.Search, q, perfect, uint64(q.m.now)) {
		if q.m.fits(q.list[i]) {
			q.p.take(q.m, q.list[i])
		}
	}
}
