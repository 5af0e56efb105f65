package plan

import (
	"math"
	"math/bits"
	"slices"
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

	heads   []int32 // by bucket: the place of its first slot, plus one
	masks   []uint64
	soonest []int32 // first window of a room that ever held anything
	ahead   calendar
	pairs   pairs
	groups  []int32 // by pair
	kinds   []roomKind
	mixed   bool     // one of them is
	rooms   [][]room // by wish
	costs   []offer
	perJob  bool // a formula looks at more than priority

	misses   misses
	nowhere  nowhere
	left     []float64
	bookings []Booking
	parts    []Part  // of bookings to come
	spare    []int32 // memory
	gangs    *gangs
	deep     int // looks left beyond the usual few a job
	queues   queues
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
	p := &index{r: r, jobs: jobs, given: len(slots), misses: newMisses(len(r.Wishes)), nowhere: make(nowhere, len(r.Wishes)), left: r.purses(), deep: 10_000 + len(slots)/4}
	p.pairs.number = map[uint32]int32{}
	// A job leaves at most three slots of each of its parts.
	room := min(6*len(jobs), 2*len(slots)) + 64
	p.parent = make([]int32, 0, room)
	p.bookings = make([]Booking, 0, min(len(jobs), len(slots)))
	p.work = make([]Slot, len(slots), len(slots)+room)
	copy(p.work, slots)
	p.limit = make([]float32, len(slots), cap(p.work))
	p.next = make([]int32, len(slots), cap(p.work))
	p.ahead, p.queues = newCalendar(r), newQueues(r)
	p.enter(p.thresholds())
	p.wishes()
	return p
}

// enter links the slots into their buckets, in the order given. Slots are looked
// at in the order in which they lie in memory: what is done in any other
// order is done to the list of places alone.
func (p *index) enter(usable []int32) {
	p.groups = make([]int32, p.pairs.count)
	for k := range p.groups {
		p.groups[k] = -1
	}
	// Groups are numbered in the order of slots, too.
	for k, known := 0, 0; known < len(p.groups); k++ {
		if pair := p.next[usable[k]]; p.groups[pair] < 0 {
			p.groups[pair] = p.newGroup(&p.work[usable[k]])
			known++
		}
	}
	n := len(p.kinds) * chances
	p.heads, p.masks, p.soonest = make([]int32, n*windows*kinds), make([]uint64, n*windows), make([]int32, n)
	for i := range p.soonest {
		p.soonest[i] = windows
	}
	for i, pair := range p.next {
		if pair >= 0 {
			p.next[i] = p.bucket(&p.work[i], p.groups[pair])
		}
	}
	for _, i := range usable {
		bucket := p.next[i]
		p.next[i], p.heads[bucket] = p.heads[bucket]-1, i+1
	}
	p.spare = usable
}

// calendar is the time ahead, cut into windows.
type calendar struct {
	bounds [windows + 1]int32
	step   int32
	guess  [256]uint8 // of equal steps of time: in which window each begins
}

// newCalendar cuts the time ahead: half of the windows lie in what this cycle
// books, the others grow towards the horizon.
func newCalendar(r *Rules) (a calendar) {
	from, to := int32(math.MaxInt32), r.Now+1
	for i := range r.Clusters {
		from, to = min(from, r.Clusters[i].TMin), max(to, r.Clusters[i].TMax)
	}
	from = min(from, to)
	for k := range int32(windows / 2) {
		a.bounds[k] = from + int32(int64(to-from)*int64(k)/(windows/2))
	}
	end := max(to+1, r.Now+r.Horizon)
	for k := range int32(windows/2 + 1) {
		share := math.Pow(float64(k)/(windows/2), 2)
		a.bounds[windows/2+k] = to + 1 + int32(share*float64(end-to))
	}
	a.step = (a.bounds[windows]-a.bounds[0])/int32(len(a.guess)) + 1
	w := uint8(0)
	for k := range a.guess {
		for w < windows-1 && a.bounds[w+1] <= a.bounds[0]+int32(k)*a.step {
			w++
		}
		a.guess[k] = w
	}
	return a
}

// window is the one in which a time lies.
func (a *calendar) window(at int32) int32 {
	k := (at - a.bounds[0]) / a.step
	w := int32(a.guess[min(max(0, k), int32(len(a.guess)-1))])
	for w < windows-1 && a.bounds[w+1] <= at {
		w++
	}
	return w
}

// thresholds finds the slots that can be used, begins them no earlier than a
// job can be there, and sorts them by what it takes to get them. It notes the
// pair of each of them in p.next; -1: it cannot be used.
func (p *index) thresholds() []int32 {
	inverse := map[limitKey]float32{}
	usable := make([]int32, 0, len(p.work))
	end := p.r.Now + p.r.Horizon
	sorted, last := true, float32(math.Inf(-1))
	for i := range p.work {
		s := &p.work[i]
		c := &p.r.Clusters[s.Cluster]
		s.From = max(s.From, c.TMin)
		if !c.open() || s.From >= s.To || s.From > max(end, c.TMax) || s.Priority > 0 && !c.OutOfTurn {
			p.next[i] = -1
			continue
		}
		limit := s.Priority
		if c.Local != nil {
			limit = p.inverse(c, s, inverse)
		}
		p.limit[i], p.next[i] = limit, p.pairs.of(s)
		usable = append(usable, int32(i))
		sorted, last = sorted && limit >= last, limit
	}
	if !sorted {
		usable = radix(usable, p.limit)
	}
	return usable
}

// limitKey is what the limit of a slot depends on where its owner has a formula.
type limitKey struct {
	cluster  uint16
	priority float32
}

// inverse is the limit of a slot by its owner's formula.
func (p *index) inverse(c *Cluster, s *Slot, known map[limitKey]float32) float32 {
	if c.Local.perJob {
		p.perJob = true
		return float32(math.Inf(-1))
	}
	k := limitKey{s.Cluster, s.Priority}
	limit, ok := known[k]
	if !ok {
		limit = c.Local.threshold(p.r.asks(c), float64(s.Priority))
		known[k] = limit
	}
	return limit
}

// pairs numbers the pairs of cluster and class that there are.
type pairs struct {
	number map[uint32]int32
	last   uint32 // the last one looked up
	at     int32
	count  int
}

func (q *pairs) of(s *Slot) int32 {
	k := uint32(s.Cluster)<<16 | uint32(s.Class)
	if q.count > 0 && q.last == k {
		return q.at
	}
	at, ok := q.number[k]
	if !ok {
		at = int32(q.count)
		q.number[k] = at
		q.count++
	}
	q.last, q.at = k, at
	return at
}

// group is the number of a slot's group: slots of one cluster and class always
// share theirs.
func (p *index) group(s *Slot) int32 { return p.groups[p.pairs.of(s)] }

// newGroup finds the group of a slot whose cluster and class are new.
func (p *index) newGroup(s *Slot) int32 {
	speed := p.r.Clusters[s.Cluster].speed()
	for g := range p.kinds {
		if kind := &p.kinds[g]; kind.mixed || kind.speed == speed && p.r.equal(kind, s) {
			return int32(g)
		}
	}
	p.mixed = len(p.kinds) == maxRoom-1
	p.kinds = append(p.kinds, roomKind{s.Cluster, s.Class, speed, p.mixed})
	return int32(len(p.kinds) - 1)
}

// equal tells whether every wish treats a slot as it treats a group.
func (r *Rules) equal(kind *roomKind, s *Slot) bool {
	for i := range r.Wishes {
		w := &r.Wishes[i]
		if w.Allows(kind.cluster, kind.class) != w.Allows(s.Cluster, s.Class) {
			return false
		}
	}
	return true
}

// wishes lists for every wish the rooms it may use: those that hold slots, and
// those that what is left of these may come to.
func (p *index) wishes() {
	later := slices.ContainsFunc(p.r.Clusters, func(c Cluster) bool { return len(c.Later) > 0 })
	p.rooms = make([][]room, len(p.r.Wishes))
	var list []room
	for i := range p.r.Wishes {
		list = list[:0]
		for g, kind := range p.kinds {
			if !kind.mixed && !p.r.Wishes[i].Allows(kind.cluster, kind.class) {
				continue
			}
			held := false
			for c := range int32(chances) {
				at := int32(g)*chances + c
				if held = held && later || p.soonest[at] < windows; held {
					list = append(list, room{at, kind.speed, weights[c]})
				}
			}
		}
		if i > 0 && slices.Equal(list, p.rooms[i-1]) { // as a rule
			p.rooms[i] = p.rooms[i-1]
			continue
		}
		p.rooms[i] = slices.Clone(list)
	}
	p.costs = make([]offer, len(p.kinds)*chances)
}

// bucket is where a slot of a group belongs; it is marked as not empty.
func (p *index) bucket(s *Slot, group int32) int32 {
	at := group*chances + chanceClass(s.Start)
	w := p.ahead.window(s.From)
	k := sizeClass(int32(s.CPUs))*lengths + lengthClass(s.To-s.From)
	p.masks[at*windows+w] |= 1 << k
	p.soonest[at] = min(p.soonest[at], w)
	return (at*windows+w)*kinds + int32(k)
}

// put enters a slot at the head of its bucket's list.
func (p *index) put(i, group int32) {
	bucket := p.bucket(&p.work[i], group)
	p.next[i], p.heads[bucket] = p.heads[bucket]-1, i+1
}

// origin is the slot as it was given.
func (p *index) origin(i int32) int32 {
	if int(i) >= p.given {
		return p.parent[int(i)-p.given]
	}
	return i
}
