package readahead

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gridbroker/testdata/testbed"
)

// The rules of the experiment once more, from its text and not from our code, as plainly
// as they can be said: what a run takes must be equal.

// shelf is a cache: what it holds or has asked for, the least recently used first, and
// when each is there.
type shelf struct {
	cells int
	held  [][2]int64 // file, portion
	ready map[[2]int64]float64
}

func (s *shelf) has(k [2]int64) bool { return slices.Contains(s.held, k) }

func (s *shelf) use(k [2]int64) {
	at := slices.Index(s.held, k)
	s.held = append(slices.Delete(s.held, at, at+1), k)
}

func (s *shelf) put(k [2]int64, ready float64) {
	if len(s.held) == s.cells {
		s.held = s.held[1:]
	}
	s.held = append(s.held, k)
	s.ready[k] = ready
}

// walker is one branch of the program.
type walker struct {
	draw   func() float64
	next   []int64 // by file: where the last read ended
	node   shelf
	clock  float64
	todo   [][2]int64 // blocks of the present read: file, block
	late   *[2]int64  // a portion whose look-ahead is issued at the end of its read
	ops    int
	over   bool
	number int64
}

// plainly is what a run takes by the rules.
type plainly struct {
	Params
	system   shelf
	link     float64 // until when the wide network is taken
	requests int64
}

// generator is SplitMix64 as numbers from 0 to 1.
func generator(state uint64) func() float64 {
	return func() float64 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb
		z ^= z >> 31
		return float64(z>>11) / 9007199254740992
	}
}

func (p *plainly) run(seed int) float64 {
	p.system = shelf{cells: p.SystemCells, ready: map[[2]int64]float64{}}
	var all []*walker
	for b := range p.Branches {
		w := &walker{draw: generator(uint64(seed)*1000 + uint64(b)), number: int64(b)}
		w.node = shelf{cells: p.NodeCells, ready: map[[2]int64]float64{}}
		for range p.Remote + p.Local {
			w.next = append(w.next, int64(w.draw()*float64(p.Blocks)))
		}
		all = append(all, w)
	}
	end := 0.0
	for {
		var first *walker // whose clock is least: delays are pure, but the wide network may be shared
		for _, w := range all {
			if !w.over && (first == nil || w.clock < first.clock) {
				first = w
			}
		}
		if first == nil {
			return end
		}
		p.step(first)
		end = max(end, first.clock)
	}
}

// step reads one block.
func (p *plainly) step(w *walker) {
	if w.late != nil {
		p.aheadOf(w, *w.late, w.clock)
		w.late = nil
		if len(w.todo) == 0 {
			p.finish(w)
			return
		}
	}
	if len(w.todo) == 0 {
		p.begin(w)
	}
	file, block := w.todo[0][0], w.todo[0][1]
	w.todo = w.todo[1:]
	k := [2]int64{w.number*1_000_000 + file, block / p.Portion}
	switch {
	case !p.Cache && file < int64(p.Remote):
		w.clock = p.wideFrom(w.clock, 1) + p.LanBlock
	case !p.Cache:
		w.clock += p.Disk + p.LanBlock
	default:
		at := w.clock + p.Look
		if w.node.has(k) {
			w.node.use(k)
			w.clock = max(at, w.node.ready[k]) + p.Cell
		} else {
			w.clock = p.bring(w, k, at) + p.Cell
		}
		if p.When == AtStart {
			p.aheadOf(w, k, at)
		} else {
			w.late = &k
			return
		}
	}
	if len(w.todo) == 0 {
		p.finish(w)
	}
}

func (p *plainly) finish(w *walker) {
	w.clock += p.Think
	w.ops++
	w.over = w.ops == p.Ops
}

// begin draws a read: the file by weight, then whether it goes on where the last one of that file ended.
func (p *plainly) begin(w *walker) {
	u := w.draw() * (float64(p.Remote)*p.Weight + float64(p.Local))
	file := 0
	for ; file < p.Remote+p.Local-1; file++ {
		weight := 1.0
		if file < p.Remote {
			weight = p.Weight
		}
		if u < weight {
			break
		}
		u -= weight
	}
	goesOn := w.draw() < p.Next
	if !goesOn || w.next[file]+p.PerRead >= p.Blocks {
		w.next[file] = int64(w.draw() * float64(max(1, p.Blocks-p.PerRead)))
	}
	for i := range p.PerRead {
		w.todo = append(w.todo, [2]int64{int64(file), w.next[file] + i})
	}
	w.next[file] += p.PerRead
}

func (p *plainly) inFile(k [2]int64) bool { return k[1]*p.Portion < p.Blocks }

func (p *plainly) aheadOf(w *walker, k [2]int64, at float64) {
	for i := range p.Ahead {
		if next := [2]int64{k[0], k[1] + i + 1}; p.inFile(next) && !w.node.has(next) {
			p.bring(w, next, at)
		}
	}
}

// bring fetches a portion to a node: of a remote file through the system's cache.
func (p *plainly) bring(w *walker, k [2]int64, at float64) float64 {
	there := at + p.Disk
	if k[0]%1_000_000 < int64(p.Remote) {
		if p.system.has(k) {
			p.system.use(k)
			there = max(at, p.system.ready[k])
		} else {
			there = p.wideFrom(at, p.Portion)
			p.system.put(k, there)
		}
		for i := range p.SystemAhead {
			if next := [2]int64{k[0], k[1] + i + 1}; p.inFile(next) && !p.system.has(next) {
				p.system.put(next, p.wideFrom(at, p.Portion))
			}
		}
	}
	there += float64(p.Portion) * (p.LanBlock + p.Write)
	w.node.put(k, there)
	return there
}

func (p *plainly) wideFrom(at float64, blocks int64) float64 {
	p.requests++
	takes := float64(blocks) * p.WideBlock
	if p.Link != Delay {
		at = max(at, p.link)
		if p.link = at + takes; p.Link == Blocking {
			p.link += p.Wide
		}
	}
	return at + p.Wide + takes
}

// TestRulesOnceMore: what a run takes is what the rules say, at settings of no given table.
func TestRulesOnceMore(t *testing.T) {
	testbed.Computes(t)
	rng := rand.New(rand.NewPCG(17, 3))
	pick := func(list ...float64) float64 { return list[rng.IntN(len(list))] }
	for n := range 400 {
		p := Params{
			Ops: 20 + rng.IntN(150), Branches: 1 + rng.IntN(3), Remote: rng.IntN(6), Local: rng.IntN(3), Weight: pick(1, 0.5, 3.25), Next: pick(0, 0.1, 0.33, 0.5, 0.77, 0.95, 1),
			PerRead: 1 + rng.Int64N(5), Portion: 1 + rng.Int64N(9), Blocks: 5 + rng.Int64N([]int64{1, 20, 2000}[n%3]), Wide: pick(0, 1, 54, 108, 300), WideBlock: pick(0, 1, 54),
			LanBlock: pick(1, 0.5), Disk: pick(0, 1, 2), Cell: pick(0, 0.25), Write: pick(0, 0.25), Look: pick(0, 0.25, 0.5), Think: pick(0, 7.5, 110),
			NodeCells: 1 + rng.IntN([]int{1, 70}[n%2]), SystemCells: 1 + rng.IntN([]int{70, 1}[n/2%2]), Ahead: []int64{0, 1, 2, 3, 12}[rng.IntN(5)], SystemAhead: []int64{0, 1, 2, 3, 12}[rng.IntN(5)], Cache: rng.IntN(5) > 0,
			When: []When{AtStart, AtStart, AtEnd}[rng.IntN(3)], Link: []Link{Delay, Delay, Serial, Blocking}[rng.IntN(4)],
		}
		if p.Remote+p.Local == 0 {
			p.Remote = 1
		}
		for seed := 1; seed <= 2; seed++ {
			got, err := Model(p, uint64(seed))
			if err != nil {
				t.Fatal(err)
			}
			by := plainly{Params: p}
			if want := by.run(seed); got.Time != want || got.WideRequests != by.requests {
				t.Fatalf("setting %d, %+v, seed %d: %g and %d requests, by the rules %g and %d", n, p, seed, got.Time, got.WideRequests, want, by.requests)
			}
		}
	}
}
