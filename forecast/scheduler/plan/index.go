package plan

import (
	"math"
	"math/bits"
)

// windows of start, classes of size and length, classes of chance.
const (
	windows = 16
	sizes   = 6
	lengths = 8
	kinds   = sizes * lengths
	chances = 4
	maxRoom = 256 // groups of clusters and classes of nodes with equal rights and speed
)

// index holds the slots in buckets: room (group and class of chance), window of
// start, size, length. A bit mask for each room and window tells which of its
// buckets hold anything. Slots of one bucket are a list, the dearest first.
type index struct {
	r      *Rules
	jobs   []Job
	work   []Slot    // the slots, and behind them what is left of divided ones
	limit  []float32 // a job needs more priority than this
	next   []int32   // in the bucket's list; -1: the last
	parent []int32   // of divided slots: which they are part of
	given  int       // slots that were given

	heads   []int32 // by bucket; -1: empty
	masks   []uint64
	soonest []int32 // first window of a room that ever held anything
	bounds  [windows + 1]int32
	groups  map[uint32]int32 // by cluster and class
	lately  struct {         // the last one looked up
		key   uint32
		group int32
		known bool
	}
	kinds  []roomKind
	rooms  [][]room // by wish
	costs  []offer
	perJob bool // a formula looks at more than priority

	misses   map[demand]ceiling
	left     []float64
	bookings []Booking
	gangs    *gangs
	deep     int // looks left beyond the usual few a job
}

// room is a group of equal clusters at one class of chance.
type room struct {
	at            int32
	speed, weight float32
}

// roomKind is what is equal within a group.
type roomKind struct {
	cluster, class uint16 // one of them
	speed          float32
	mixed          bool // rights differ: looked at slot by slot
}

// weights is one over the middle of each class of chance.
var weights = [chances]float32{1 / 0.975, 1 / 0.9, 1 / 0.75, 1 / 0.4}

func chanceClass(percent uint8) int32 {
	switch {
	case percent >= 95:
		return 0
	case percent >= 85:
		return 1
	case percent >= 60:
		return 2
	}
	return 3
}

func sizeClass(cpus int32) int { return min(sizes-1, bits.Len32(uint32(max(1, cpus)))-1) }

// lengthSteps are where classes of length begin, in seconds.
var lengthSteps = [lengths]int32{0, 300, 900, 1800, 3600, 7200, 6 * 3600, 24 * 3600}

func lengthClass(seconds int32) int {
	for k := lengths - 1; k > 0; k-- {
		if seconds >= lengthSteps[k] {
			return k
		}
	}
	return 0
}

// region marks the buckets whose slots are of a size and length or above.
var region = func() (m [sizes][lengths]uint64) {
	for s := range sizes {
		for l := range lengths {
			for k := s; k < sizes; k++ {
				m[s][l] |= (1<<lengths - 1) &^ (1<<l - 1) << (k * lengths)
			}
		}
	}
	return m
}()

func newIndex(jobs []Job, slots []Slot, r *Rules) *index {
	p := &index{r: r, jobs: jobs, given: len(slots), misses: map[demand]ceiling{}, left: r.purses(), groups: map[uint32]int32{}, deep: 10_000 + len(slots)/4}
	// A job leaves at most three slots of each of its parts.
	room := min(6*len(jobs), 2*len(slots)) + 64
	p.parent = make([]int32, 0, room)
	p.bookings = make([]Booking, 0, min(len(jobs), len(slots)))
	p.work = make([]Slot, len(slots), len(slots)+room)
	copy(p.work, slots)
	p.limit = make([]float32, len(slots), cap(p.work))
	p.next = make([]int32, len(slots), cap(p.work))
	p.windowBounds()
	usable := p.thresholds()
	groups := make([]uint16, 0, len(usable))
	for _, i := range usable {
		groups = append(groups, uint16(p.group(&p.work[i])))
	}
	n := len(p.kinds) * chances
	p.heads, p.masks, p.soonest = make([]int32, n*windows*kinds), make([]uint64, n*windows), make([]int32, n)
	for i := range p.heads {
		p.heads[i] = -1
	}
	for i := range p.soonest {
		p.soonest[i] = windows
	}
	for k, i := range usable {
		p.put(i, int32(groups[k]))
	}
	p.wishes()
	return p
}

// windowBounds cuts the time ahead: half of the windows lie in what this cycle
// books, the others grow towards the horizon.
func (p *index) windowBounds() {
	from, to := int32(math.MaxInt32), p.r.Now+1
	for i := range p.r.Clusters {
		from, to = min(from, p.r.Clusters[i].TMin), max(to, p.r.Clusters[i].TMax)
	}
	from = min(from, to)
	for k := range int32(windows / 2) {
		p.bounds[k] = from + int32(int64(to-from)*int64(k)/(windows/2))
	}
	end := max(to+1, p.r.Now+p.r.Horizon)
	for k := range int32(windows/2 + 1) {
		share := math.Pow(float64(k)/(windows/2), 2)
		p.bounds[windows/2+k] = to + 1 + int32(share*float64(end-to))
	}
}

func (p *index) windowOf(at int32) int32 {
	low, high := 0, windows
	for low < high {
		if mid := (low + high) / 2; p.bounds[mid] <= at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return int32(max(0, low-1))
}

// thresholds finds the slots that can be used, begins them no earlier than a
// job can be there, and sorts them by what it takes to get them.
func (p *index) thresholds() []int32 {
	type key struct {
		cluster  uint16
		priority float32
	}
	inverse := map[key]float32{}
	usable := make([]int32, 0, len(p.work))
	end := p.r.Now + p.r.Horizon
	sorted, last := true, float32(math.Inf(-1))
	for i := range p.work {
		s := &p.work[i]
		c := &p.r.Clusters[s.Cluster]
		s.From = max(s.From, c.TMin)
		if !c.open() || s.From >= s.To || s.From > max(end, c.TMax) || s.Priority > 0 && !c.OutOfTurn {
			continue
		}
		limit := s.Priority
		if c.Local != nil && c.Local.perJob {
			limit, p.perJob = float32(math.Inf(-1)), true
		} else if c.Local != nil {
			k, known := key{s.Cluster, s.Priority}, false
			if limit, known = inverse[k]; !known {
				limit = c.Local.threshold(p.r.asks(c), float64(s.Priority))
				inverse[k] = limit
			}
		}
		p.limit[i] = limit
		usable = append(usable, int32(i))
		sorted, last = sorted && limit >= last, limit
	}
	if !sorted {
		usable = radix(usable, p.limit)
	}
	return usable
}

// group is the number of a slot's group: the first two slots of one cluster and
// class always share theirs.
func (p *index) group(s *Slot) int32 {
	k := uint32(s.Cluster)<<16 | uint32(s.Class)
	if l := &p.lately; !l.known || l.key != k {
		l.key, l.group, l.known = k, p.newGroup(k, s), true
	}
	return p.lately.group
}

func (p *index) newGroup(k uint32, s *Slot) int32 {
	if g, ok := p.groups[k]; ok {
		return g
	}
	speed := p.r.Clusters[s.Cluster].speed()
	for g := range p.kinds {
		if kind := &p.kinds[g]; kind.mixed || kind.speed == speed && p.equal(kind, s) {
			p.groups[k] = int32(g)
			return int32(g)
		}
	}
	p.kinds = append(p.kinds, roomKind{s.Cluster, s.Class, speed, len(p.kinds) == maxRoom-1})
	p.groups[k] = int32(len(p.kinds) - 1)
	return p.groups[k]
}

// equal tells whether every wish treats a slot as it treats a group.
func (p *index) equal(kind *roomKind, s *Slot) bool {
	for i := range p.r.Wishes {
		w := &p.r.Wishes[i]
		if w.Allows(kind.cluster, kind.class) != w.Allows(s.Cluster, s.Class) {
			return false
		}
	}
	return true
}

// wishes lists for every wish the rooms it may use.
func (p *index) wishes() {
	p.rooms = make([][]room, len(p.r.Wishes))
	for i := range p.r.Wishes {
		for g, kind := range p.kinds {
			if !kind.mixed && !p.r.Wishes[i].Allows(kind.cluster, kind.class) {
				continue
			}
			for c := range int32(chances) {
				if at := int32(g)*chances + c; p.soonest[at] < windows {
					p.rooms[i] = append(p.rooms[i], room{at, kind.speed, weights[c]})
				}
			}
		}
	}
	p.costs = make([]offer, len(p.kinds)*chances)
}

// put enters a slot at the head of its bucket's list.
func (p *index) put(i, group int32) {
	s := &p.work[i]
	at := group*chances + chanceClass(s.Start)
	w := p.windowOf(s.From)
	k := sizeClass(int32(s.CPUs))*lengths + lengthClass(s.To-s.From)
	bucket := (at*windows+w)*kinds + int32(k)
	p.next[i] = p.heads[bucket]
	p.heads[bucket] = i
	p.masks[at*windows+w] |= 1 << k
	p.soonest[at] = min(p.soonest[at], w)
}

// origin is the slot as it was given.
func (p *index) origin(i int32) int32 {
	if int(i) >= p.given {
		return p.parent[int(i)-p.given]
	}
	return i
}
