package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// flaw looks for anything a plan must not have.
func flaw(jobs []Job, slots []Slot, r *Rules, bookings []Booking) string {
	type use struct {
		from, to int32
		cpus     int32
	}
	uses := make([][]use, len(slots))
	seen := map[int32]bool{}
	left := r.purses()
	for _, b := range bookings {
		j := &jobs[b.Job]
		if seen[b.Job] {
			return fmt.Sprintf("job %d is booked twice", b.Job)
		}
		seen[b.Job] = true
		total, nodes := int32(0), map[int32]int32{}
		cluster := slots[b.Parts[0].Slot].Cluster
		c := &r.Clusters[cluster]
		if !b.Tentative && (b.From < c.TMin || b.From > c.TMax) || !c.open() || c.MaxGuest > 0 && j.Wall > c.MaxGuest {
			return fmt.Sprintf("job %d begins outside of the cycle, or may not at all", b.Job)
		}
		for _, part := range b.Parts {
			s := &slots[part.Slot]
			clipped := *s
			clipped.From = max(clipped.From, c.TMin)
			if s.Cluster != cluster || !r.Wishes[j.Wish].Allows(s.Cluster, s.Class) || !r.outranks(j, s) {
				return fmt.Sprintf("job %d may not have slot %d", b.Job, part.Slot)
			}
			if b.From < clipped.From || int64(b.From)+int64(j.Wall) > int64(s.To) && s.To != Never {
				return fmt.Sprintf("job %d does not fit the time of slot %d", b.Job, part.Slot)
			}
			uses[part.Slot] = append(uses[part.Slot], use{b.From, b.From + j.Wall, int32(part.CPUs)})
			total += int32(part.CPUs)
			nodes[s.Node] += int32(part.CPUs)
		}
		if total < j.Procs {
			return fmt.Sprintf("job %d has %d processors of %d", b.Job, total, j.Procs)
		}
		if j.Nodes > 0 && len(nodes) != int(j.Nodes) {
			return fmt.Sprintf("job %d is on %d nodes, not %d", b.Job, len(nodes), j.Nodes)
		}
		if !b.Tentative {
			left[j.User] -= r.fee(j)
		}
	}
	for u := range left {
		if !r.Free && left[u] < -1e-6*math.Abs(r.Users[u].Left) {
			return fmt.Sprintf("user %d has spent more than he has", u)
		}
	}
	for i, us := range uses {
		for _, at := range us {
			n := int32(0)
			for _, u := range us {
				if u.from <= at.from && at.from < u.to {
					n += u.cpus
				}
			}
			if n > int32(slots[i].CPUs) {
				return fmt.Sprintf("slot %d of %d processors is given %d times", i, slots[i].CPUs, n)
			}
		}
	}
	return ""
}

// world makes a random grid.
func world(r *rand.Rand, jobs, slots, clusters int, parallel float64) ([]Job, []Slot, *Rules) {
	rules := &Rules{Epoch: time.Unix(1_800_000_000, 0), Horizon: 4 * 3600, MaxBypass: 1000}
	for range clusters {
		rules.Clusters = append(rules.Clusters, Cluster{TMin: 60, TMax: 900, Good: 1 << 20, Speed: 1 + float32(r.IntN(3))/2, OutOfTurn: true})
	}
	for k := range 8 {
		w := Wish{Clusters: make([]uint64, clusters/64+1), Classes: []uint64{3}}
		for c := range clusters {
			if k == 0 || r.IntN(4) > 0 && c%8 != k {
				w.Clusters[c/64] |= 1 << (c % 64)
			}
		}
		if clusters > 20 && k > 0 { // rights in blocks, as grids have them
			for c := range w.Clusters {
				w.Clusters[c] = 0xffff_ffff_0000_ffff
			}
		}
		rules.Wishes = append(rules.Wishes, w)
		rules.Users = append(rules.Users, User{Name: fmt.Sprint("u", k), Left: 1e12, Weight: 1 + float64(k)})
	}
	list := make([]Slot, slots)
	for i := range list {
		from := int32(r.IntN(1800))
		list[i] = Slot{From: from, To: from + 600 + int32(r.IntN(4*3600)), Node: int32(i * 2 / 3), Cluster: uint16(i * clusters / slots),
			CPUs: uint16(1 + r.IntN(8)), Priority: float32(r.IntN(50)), Start: uint8(80 + r.IntN(20)), Hold: 80, Memory: 16000}
	}
	queue := make([]Job, jobs)
	for i := range queue {
		queue[i] = Job{Seq: int64(i), Priority: float32(1 + r.IntN(100)), Wall: 300 + int32(r.IntN(7200)), Procs: 1, Memory: 1000,
			User: int32(r.IntN(8)), Wish: int32(r.IntN(8))}
		if r.Float64() < parallel {
			queue[i].Nodes = int32(2 + r.IntN(15))
			queue[i].Procs = queue[i].Nodes * int32(1+r.IntN(2))
		}
	}
	return queue, list, rules
}

func TestPlansAreSound(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		jobs, slots, rules := world(r, 1+r.IntN(200), 1+r.IntN(300), 1+r.IntN(12), 0.3)
		for i := range jobs {
			if r.IntN(10) == 0 {
				jobs[i].Nodes, jobs[i].Procs = 0, int32(1+r.IntN(40))
			}
			jobs[i].Bypassed = int32(r.IntN(1100))
		}
		for i := range rules.Users {
			rules.Users[i].Left = float64(r.IntN(3000))
		}
		rules.Clusters[0].Drained = seed%5 == 0
		for _, p := range []Planner{Pairwise{}, Lookahead{}} {
			if why := flaw(jobs, slots, rules, p.Plan(jobs, slots, rules)); why != "" {
				t.Fatalf("seed %d, %s: %s", seed, p.Name(), why)
			}
		}
	}
}

func TestLookaheadBooksAsManyAsPairwise(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		jobs, slots, rules := world(r, 400, 400, 6, 0)
		count := func(p Planner) (n int) {
			mine := append([]Slot(nil), slots...)
			Clip(mine, rules)
			for _, b := range p.Plan(jobs, mine, rules) {
				if !b.Tentative {
					n++
				}
			}
			return n
		}
		if ours, paper := count(Lookahead{}), count(Pairwise{}); float64(ours) < 0.98*float64(paper) {
			t.Errorf("seed %d: %d booked, pairwise %d", seed, ours, paper)
		}
	}
}

// A job that needs the whole machine, against an endless stream of small ones of
// higher priority: without the bound it never starts; with it, it starts after
// at most MaxBypass jobs that came later and those of the cycle in which the
// bound was reached.
func TestBypassIsBounded(t *testing.T) {
	const nodes, cycle, bound = 8, 60, 40
	for _, c := range []struct {
		bound  int32
		starts bool
	}{{0, false}, {bound, true}} {
		big := Job{Seq: 0, Priority: 1, Wall: 600, Procs: nodes, Nodes: nodes}
		busy := make([]int32, nodes) // until when
		passed, started, seq := 0, false, int64(1)
		for now := int32(0); now < 24*3600 && !started; now += cycle {
			rules := &Rules{Epoch: time.Unix(1_800_000_000, 0), Now: now, Horizon: 4 * 3600, MaxBypass: c.bound, Free: true, Users: make([]User, 1)}
			rules.Clusters = []Cluster{{TMin: now, TMax: now + cycle - 1, Good: math.MaxInt32}}
			rules.Wishes = []Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}}
			var slots []Slot
			for n := range busy {
				slots = append(slots, Slot{From: max(now, busy[n]), To: Never, Node: int32(n), CPUs: 1, Start: 100, Hold: 100})
			}
			jobs := []Job{big}
			for range nodes {
				jobs = append(jobs, Job{Seq: seq, Priority: 10, Wall: 500 + int32(seq%7)*40, Procs: 1})
				seq++
			}
			plan := Lookahead{}.Plan(jobs, slots, rules)
			if why := flaw(jobs, slots, rules, plan); why != "" {
				t.Fatal(why)
			}
			for _, b := range plan {
				if b.Tentative {
					continue
				}
				for _, part := range b.Parts {
					busy[part.Slot] = b.From + jobs[b.Job].Wall
				}
				if b.Job == 0 {
					started = true
				} else {
					passed++
				}
			}
			big.Bypassed += Bypasses(jobs, plan)[0]
		}
		if started != c.starts {
			t.Errorf("bound %d: started %v after %d", c.bound, started, passed)
		}
		if started && passed > bound+nodes {
			t.Errorf("passed by %d, the bound is %d and %d in the last cycle", passed, bound, nodes)
		}
	}
}

func TestUsersTakeTurnsByBudget(t *testing.T) {
	rules := &Rules{Epoch: time.Unix(1_800_000_000, 0), Horizon: 3600, Users: []User{{Name: "a", Left: 1e9, Weight: 30}, {Name: "b", Left: 1e9, Weight: 10}}}
	rules.Clusters = []Cluster{{TMin: 0, TMax: 100, Good: 1 << 20}}
	rules.Wishes = []Wish{{Clusters: []uint64{1}, Classes: []uint64{1}}}
	var jobs []Job
	for i := range 80 {
		jobs = append(jobs, Job{Seq: int64(i), Priority: 5, Wall: 3000, Procs: 1, User: int32(i / 40)})
	}
	var slots []Slot
	for i := range 40 {
		slots = append(slots, Slot{To: 3100, Node: int32(i), CPUs: 1, Start: 100})
	}
	got := [2]int{}
	for _, b := range (Lookahead{}).Plan(jobs, slots, rules) {
		got[jobs[b.Job].User]++
	}
	if got != [2]int{30, 10} {
		t.Errorf("budgets of 3 to 1 gave %v", got)
	}
}

func TestFormulas(t *testing.T) {
	for text, want := range map[string]float64{
		`priority * 2`:                               20,
		`hour >= 8 && hour < 18 ? 0 : priority`:      0,
		`waiting > 10 ? priority / 2 : priority`:     5,
		`min(priority, 7)`:                           7,
		`procs > 4 ? 0.0 : priority + wall / 3600.0`: 12,
		`user == "eve" ? -1 : priority`:              10,
	} {
		f, err := CompileFormula(text)
		if err != nil {
			t.Fatal(text, err)
		}
		got, err := f.Priority(Ask{Priority: 10, Hour: 9, Waiting: 20, Procs: 1, Wall: 7200, User: "bob"})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{``, `priority +`, `nosuch + 1`, `"a"`, `sum(1..1000000000)`, `map([1,2,3], # * 2)[0]`,
		`len(filter(1..100000000, true))`, `user matches "(a+)+$" ? 1 : 0`, `now()`, `[priority][0]`} {
		if _, err := CompileFormula(text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	f, err := CompileFormula(`priority / (waiting - 20)`)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := f.Priority(Ask{Priority: 1, Waiting: 20}); err == nil {
		t.Errorf("a division by zero gives %v", v)
	}
}

func TestThresholdInvertsAFormula(t *testing.T) {
	f, err := CompileFormula(`priority * 3 + 2`)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.threshold(Ask{}, 32); math.Abs(float64(got)-10) > 1e-3 || f.perJob {
		t.Errorf("threshold %v", got)
	}
	if f, _ = CompileFormula(`-priority`); !f.perJob {
		t.Error("a falling formula has no threshold")
	}
}

func TestRadixSorts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	keys, list := make([]float32, 1000), make([]int32, 1000)
	for i := range keys {
		keys[i], list[i] = float32(r.NormFloat64()*100), int32(i)
	}
	keys[5], keys[6] = float32(math.Inf(-1)), float32(math.Inf(1))
	list = radix(list, keys)
	for k := 1; k < len(list); k++ {
		if keys[list[k-1]] > keys[list[k]] {
			t.Fatal("not sorted at", k)
		}
	}
}

func benchmarkPlan(b *testing.B, p Planner, jobs, slots, clusters int, parallel float64) {
	queue, list, rules := world(rand.New(rand.NewPCG(1, 1)), jobs, slots, clusters, parallel)
	b.ReportAllocs()
	booked, n, began := 0, 0, testbed.Processor(b)
	for b.Loop() {
		booked = len(p.Plan(queue, list, rules))
		n++
	}
	b.ReportMetric(float64(testbed.Processor(b)-began)/1e6/float64(n), "cpu-ms/op")
	b.ReportMetric(float64(booked), "booked")
}

func BenchmarkPairwise10x1000(b *testing.B)  { benchmarkPlan(b, Pairwise{}, 10, 1000, 10, 0) }
func BenchmarkLookahead10x1000(b *testing.B) { benchmarkPlan(b, Lookahead{}, 10, 1000, 10, 0.1) }
func BenchmarkLookahead1000x100000(b *testing.B) {
	benchmarkPlan(b, Lookahead{}, 1000, 100_000, 200, 0.1)
}
func BenchmarkLookahead100000x1000000(b *testing.B) {
	benchmarkPlan(b, Lookahead{}, 100_000, 1_000_000, 1000, 0.1)
}
