package batch

// timeline is what is held on one node and when.
type timeline struct { // what searches look at first
	have amounts
	// steps is what is held from each time on that anything begins or ends, but
	// for the past, where known; it is not looked at where there are reservations.
	steps    []int64
	reserved int // holdings that have to do with reservations
	known    bool
	loose    bool // begin and end are to be worked out anew
	// closed is when the node is kept for one job alone: not among the steps.
	closed closures
	used   []amounts // by step
	held   []holding
	sum    amounts // of all that is held, where nothing is reserved
	begin  int64   // the latest begin of what is held: see bound
	end    int64   // the earliest end
}

// amounts of one node's resources: processors, memory MB, disk MB, GPUs.
type amounts struct {
	memory, disk int64
	procs, gpus  int32
}

func (a amounts) plus(b *amounts) amounts {
	return amounts{a.memory + b.memory, a.disk + b.disk, a.procs + b.procs, a.gpus + b.gpus}
}

func (a amounts) without(b *amounts) amounts {
	return amounts{a.memory - b.memory, a.disk - b.disk, a.procs - b.procs, a.gpus - b.gpus}
}

func (a amounts) max(b *amounts) amounts {
	return amounts{max(a.memory, b.memory), max(a.disk, b.disk), max(a.procs, b.procs), max(a.gpus, b.gpus)}
}

// holding is a job's or a reservation's part of a node for a time.
type holding struct {
	from, to int64
	owner    int64 // the job's seq; negative: a reservation
	within   int32 // the reservation it is of or in, from 1; 0: none
	own      int32 // processors of the job's own, where it keeps others off more
	amounts
}

// add takes in a holding, at the time now.
func (t *timeline) add(now int64, h *holding) {
	t.sum = t.sum.plus(&h.amounts)
	t.begin, t.end = max(t.begin, h.from), min(t.end, h.to)
	if h.within > 0 {
		t.reserved++
	}
	t.change(now, h, 1)
}

// change keeps the steps, to which a holding is added or from which it is taken.
func (t *timeline) change(now int64, h *holding, sign int32) {
	if t.reserved > 0 || !t.known {
		t.known = false
		return
	}
	from, to := max(h.from, now), h.to
	if from >= to {
		return
	}
	if t.past(now) > 1 {
		n := t.past(now) - 1
		t.steps, t.used = append(t.steps[:0], t.steps[n:]...), append(t.used[:0], t.used[n:]...)
	}
	part := amounts{int64(sign) * h.memory, int64(sign) * h.disk, sign * h.procs, sign * h.gpus}
	k := t.cut(to)
	i := t.cut(from)
	if len(t.steps) > k && t.steps[k] < to { // cutting at from has moved it
		k++
	}
	for n := i; n < k; n++ {
		t.used[n] = t.used[n].plus(&part)
	}
	t.join(k)
	t.join(i)
}

// cut makes a step begin at a time and returns its place.
func (t *timeline) cut(at int64) int {
	i := t.past(at)
	if i > 0 && t.steps[i-1] == at {
		return i - 1
	}
	used := amounts{}
	if i > 0 {
		used = t.used[i-1]
	}
	t.insert(i, at, used)
	return i
}

// insert adds a step.
func (t *timeline) insert(i int, at int64, used amounts) {
	t.steps, t.used = append(t.steps, 0), append(t.used, amounts{})
	copy(t.steps[i+1:], t.steps[i:])
	copy(t.used[i+1:], t.used[i:])
	t.steps[i], t.used[i] = at, used
}

// join takes out a step that is as the one before it.
func (t *timeline) join(i int) {
	if i > 0 && t.used[i] == t.used[i-1] || i == 0 && t.used[i] == (amounts{}) {
		t.steps, t.used = append(t.steps[:i], t.steps[i+1:]...), append(t.used[:i], t.used[i+1:]...)
	}
}

// drop takes out what an owner holds, which was in [from, to).
func (t *timeline) drop(now, owner int64) (from, to int64) {
	from, to = never, -never
	for i := 0; i < len(t.held); {
		if t.held[i].owner != owner {
			i++
			continue
		}
		h, last := t.held[i], len(t.held)-1
		from, to = min(from, h.from), max(to, h.to)
		t.held[i] = t.held[last]
		t.held = t.held[:last]
		t.sum = t.sum.without(&h.amounts)
		if h.within > 0 {
			t.reserved--
			t.known = false
		}
		t.loose = t.loose || h.from >= t.begin || h.to <= t.end
		t.change(now, &h, -1)
	}
	return from, to
}

// bound is the latest begin of what is held and the earliest end.
func (t *timeline) bound() (begin, end int64) {
	if !t.loose {
		return t.begin, t.end
	}
	t.loose, t.begin, t.end = false, -never, never
	for i := range t.held {
		h := &t.held[i]
		t.begin, t.end = max(t.begin, h.from), min(t.end, h.to)
	}
	return t.begin, t.end
}

// room is how many processors of a job the node can take in [from, to).
func (t *timeline) room(from, to int64, n *Need) int32 {
	if t.closed.within(from, to) {
		return 0
	}
	return t.have.room(t.peak(from, to, n.access), n)
}

// room is how many processors of a job fit beside what is used.
func (a *amounts) room(used amounts, n *Need) int32 {
	room := a.procs - used.procs
	if n.Whole && used.procs != 0 { // a suspended job shares the node
		return 0
	}
	if left := a.memory - used.memory; n.Memory > 0 && (n.Memory >= 1<<31 || int64(room)*n.Memory > left) {
		room = int32(min(int64(room), max(0, left)/n.Memory))
	}
	if n.Core > 1 {
		room -= room % int32(n.Core)
	}
	if n.Each > 1 {
		room -= room % int32(n.Each)
	}
	if n.Disk > a.disk-used.disk || int32(n.GPUs) > a.gpus-used.gpus {
		return 0
	}
	return max(room, 0)
}

// stretch is the room for a job on a node in a stretch of time, which steps begin and
// end, if these are known.
type stretch struct{ room, first, last int32 }

// newStretch works out the room in [from, to).
func newStretch(t *timeline, from, to int64, n *Need) stretch {
	if t.reserved > 0 {
		return stretch{t.room(from, to, n), -1, -1}
	}
	if t.closed.within(from, to) {
		return stretch{}
	}
	t.learn()
	i, top := t.past(from), amounts{}
	first := i
	if i > 0 {
		top = t.used[i-1]
	}
	if begin, _ := t.bound(); begin <= from { // what is held only becomes less
		return stretch{t.have.room(top, n), int32(first), int32(len(t.steps))}
	}
	for ; i < len(t.steps) && t.steps[i] < to; i++ {
		top = top.max(&t.used[i])
	}
	return stretch{t.have.room(top, n), int32(first), int32(i)}
}

// around is the room of the node in [from, to), of which s is a stretch.
func (s *stretch) around(t *timeline, from, to int64, n *Need) int32 {
	if s.first < 0 {
		return t.room(from, to, n)
	}
	if s.room == 0 || t.closed.within(from, to) {
		return 0
	}
	room := s.room
	for i := int(s.first) - 1; room > 0 && i > 0 && t.steps[i] > from; i-- {
		room = min(room, t.have.room(t.used[i-1], n))
	}
	for i := int(s.last); room > 0 && i < len(t.steps) && t.steps[i] < to; i++ {
		room = min(room, t.have.room(t.used[i], n))
	}
	return room
}

// peak is the most that is held at any moment of [from, to), for each
// resource by itself, for a job that may use the reservation access.
// More is held only when something begins.
func (t *timeline) peak(from, to int64, access int32) amounts {
	if begin, end := t.bound(); t.reserved == 0 && begin <= from && from < end { // all of it is held now
		return t.sum
	}
	if t.reserved == 0 {
		t.learn()
		i := t.past(from)
		top := amounts{}
		if i > 0 {
			top = t.used[i-1]
		}
		for ; i < len(t.steps) && t.steps[i] < to; i++ {
			top = top.max(&t.used[i])
		}
		return top
	}
	top := t.at(from, access)
	for i := range t.held {
		if h := &t.held[i]; h.from > from && h.from < to {
			now := t.at(h.from, access)
			top = top.max(&now)
		}
	}
	return top
}

// past is the place of the first step after a time.
func (t *timeline) past(at int64) int {
	lo, hi := 0, len(t.steps)
	for hi-lo > 8 {
		if mid := (lo + hi) / 2; t.steps[mid] <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for lo < hi && t.steps[lo] <= at {
		lo++
	}
	return lo
}

// learn works out the steps.
func (t *timeline) learn() {
	if t.known {
		return
	}
	t.known, t.steps, t.used = true, t.steps[:0], t.used[:0]
	for i := range t.held {
		h := &t.held[i]
		t.step(h.from, h.amounts)
		t.step(h.to, amounts{-h.memory, -h.disk, -h.procs, -h.gpus})
	}
	for i := 1; i < len(t.steps); i++ {
		t.used[i] = t.used[i].plus(&t.used[i-1])
	}
}

// step adds a change to the steps, in order of time.
func (t *timeline) step(at int64, change amounts) {
	i := t.past(at)
	if i > 0 && t.steps[i-1] == at {
		t.used[i-1] = t.used[i-1].plus(&change)
		return
	}
	t.insert(i, at, change)
}

// at is what is held at one moment from the point of view of a job that may
// use the reservation access. What is in another reservation is counted as
// all that the reservation keeps.
func (t *timeline) at(when int64, access int32) (sum amounts) {
	for i := range t.held {
		if h := &t.held[i]; h.from <= when && when < h.to && (h.within == 0 || h.within == access && h.owner >= 0) {
			sum = sum.plus(&h.amounts)
		}
	}
	if t.reserved == 0 {
		return sum
	}
	for i := range t.held {
		if h := &t.held[i]; h.owner < 0 && h.within != access && h.from <= when && when < h.to {
			inside := t.within(when, h.within)
			kept := h.amounts.max(&inside)
			sum = sum.plus(&kept)
		}
	}
	return sum
}

// spare is how many processors no job holds at one moment.
func (t *timeline) spare(when int64) int32 {
	free := t.have.procs
	for i := range t.held {
		if h := &t.held[i]; h.owner >= 0 && h.from <= when && when < h.to {
			free -= h.procs
		}
	}
	return max(free, 0)
}

// within is what jobs hold in a reservation at one moment.
func (t *timeline) within(when int64, reservation int32) (sum amounts) {
	for i := range t.held {
		if h := &t.held[i]; h.within == reservation && h.owner >= 0 && h.from <= when && when < h.to {
			sum = sum.plus(&h.amounts)
		}
	}
	return sum
}

// kept is when the node is in a reservation, as a stretch; ok is false where
// it is not.
func (t *timeline) kept(reservation int32) (from, to int64, ok bool) {
	for i := range t.held {
		if h := &t.held[i]; h.owner < 0 && h.within == reservation {
			return h.from, h.to, true
		}
	}
	return 0, 0, false
}
