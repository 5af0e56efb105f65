package batch

import (
	"math"
	"slices"
)

// never is the end of time, in seconds; no event happens then.
const never = int64(1) << 60

// blockSize is the number of steps in one block of a profile.
const blockSize = 64

// profile is the number of free processors as a step function of time: step i
// lasts from its time to the next step's, the last one for ever. It is kept in
// blocks with the least and greatest value of each, so that a search skips
// whole blocks and a change moves at most one block's steps: with n steps both
// cost n/blockSize comparisons plus the steps they touch.
type profile struct {
	blocks []*block
	first  []int64 // the first time of each block
	low    []int32 // the least of each block, or less
	high   []int32 // the greatest of each block, or more
	shift  []int32 // to be added to every value of a block
}

type block struct {
	n    int
	time [blockSize]int64
	free [blockSize]int32
}

// newProfile has procs free from the time given on.
func newProfile(from int64, procs int) *profile {
	b := &block{n: 1}
	b.time[0], b.free[0] = from, int32(procs)
	return &profile{
		blocks: []*block{b}, first: []int64{from}, low: []int32{int32(procs)}, high: []int32{int32(procs)}, shift: []int32{0},
	}
}

// clone copies the profile, into the memory of an older copy unless nil.
func (p *profile) clone(old *profile) *profile {
	if old == nil {
		old = &profile{}
	}
	q := &profile{
		blocks: old.blocks[:min(len(old.blocks), len(p.blocks))], first: append(old.first[:0], p.first...),
		low: append(old.low[:0], p.low...), high: append(old.high[:0], p.high...), shift: append(old.shift[:0], p.shift...),
	}
	for i, b := range p.blocks {
		if i == len(q.blocks) {
			q.blocks = append(q.blocks, &block{})
		}
		*q.blocks[i] = *b
	}
	return q
}

// locate finds the step in which t lies (the first where t is before all).
func (p *profile) locate(t int64) (b, i int) {
	if now := p.blocks[0]; now.n > 1 && now.time[1] > t {
		return 0, 0 // most questions are about the present
	}
	if b = len(p.first) - 1; b > 8 {
		b, _ = slices.BinarySearch(p.first, t+1)
		b = max(b-1, 0)
	}
	for b > 0 && p.first[b] > t {
		b--
	}
	blk := p.blocks[b]
	lo := 0 // the answer is the last step at or before t
	for n := blk.n; n > 1; {
		half := n >> 1
		if blk.time[(lo+half)&(blockSize-1)] <= t {
			lo += half
		}
		n -= half
	}
	return b, lo
}

// at is the number of free processors at time t.
func (p *profile) at(t int64) int32 {
	b, i := p.locate(t)
	return p.value(b, i)
}

// value is the number of free processors of a step.
func (p *profile) value(b, i int) int32 { return p.blocks[b].free[i] + p.shift[b] }

// earliest finds the earliest start in [from, before) of a job of procs
// processors and dur seconds, of which only the part ahead of the time until
// is asked to be free. It returns before or later where there is none.
func (p *profile) earliest(from, before, until, dur int64, procs int32) int64 {
	b, i := p.locate(from)
	for start := from; ; {
		if b, i = p.atLeast(b, i, procs); b == len(p.blocks) {
			return before
		}
		if start = max(start, p.blocks[b].time[i]); start >= before {
			return before
		}
		end := min(start+dur, until)
		if b, i = p.below(b, i, procs); b == len(p.blocks) || p.blocks[b].time[i] >= end {
			return start
		}
	}
}

// bounds are the least and the greatest number of free processors in [from, to).
func (p *profile) bounds(from, to int64) (least, most int32) {
	b, i := p.locate(from)
	least = math.MaxInt32
	for ; b < len(p.blocks) && p.first[b] < to; b, i = b+1, 0 {
		if p.low[b] >= least && p.high[b] <= most {
			continue
		}
		blk := p.blocks[b]
		for ; i < blk.n && blk.time[i] < to; i++ {
			free := blk.free[i] + p.shift[b]
			least, most = min(least, free), max(most, free)
		}
	}
	return least, most
}

// atLeast finds the first step from (b, i) on with at least procs free.
func (p *profile) atLeast(b, i int, procs int32) (int, int) {
	for ; b < len(p.blocks); b, i = b+1, 0 {
		if p.high[b] < procs {
			continue
		}
		blk, want := p.blocks[b], procs-p.shift[b]
		for ; i < blk.n; i++ {
			if blk.free[i&(blockSize-1)] >= want {
				return b, i
			}
		}
	}
	return b, 0
}

// below finds the first step from (b, i) on with less than procs free.
func (p *profile) below(b, i int, procs int32) (int, int) {
	for ; b < len(p.blocks); b, i = b+1, 0 {
		if p.low[b] >= procs {
			continue
		}
		blk, want := p.blocks[b], procs-p.shift[b]
		for ; i < blk.n; i++ {
			if blk.free[i&(blockSize-1)] < want {
				return b, i
			}
		}
	}
	return b, 0
}

// change adds procs (may be negative) to the free processors in [from, to).
func (p *profile) change(from, to int64, procs int32) {
	from = max(from, p.first[0])
	if from >= to || procs == 0 {
		return
	}
	b, i := p.locate(from)
	if blk := p.blocks[b]; blk.time[i] < from {
		b, i = p.insert(b, i+1, from, p.value(b, i))
	}
	joins, blocks := p.before(b, i) == p.value(b, i)+procs, len(p.blocks)
	k, n := p.add(b, i, to, procs)
	if to < never {
		ahead := p.before(k, n)
		p.edge(k, n, to, ahead-procs, ahead)
	}
	if joins {
		if len(p.blocks) != blocks { // edge has split or dropped one
			b, i = p.locate(from)
		}
		p.remove(b, i, i+1)
	}
}

// before is the value of the step before (b, i), or one that no step has where
// that is the first. (More than there is may be in use when nodes go down.)
func (p *profile) before(b, i int) int32 {
	switch {
	case i > 0:
		return p.value(b, i-1)
	case b > 0:
		return p.value(b-1, p.blocks[b-1].n-1)
	}
	return math.MinInt32
}

// add changes the steps from (b, i) to the time to. It returns the place of
// the first step not changed, or the end of the last block changed.
func (p *profile) add(b, i int, to int64, procs int32) (int, int) {
	for ; ; b, i = b+1, 0 {
		blk, more := p.blocks[b], b+1 < len(p.blocks)
		if i == 0 && more && p.first[b+1] <= to { // all of the block
			p.shift[b] += procs
			p.low[b] += procs
			p.high[b] += procs
			continue
		}
		for ; i < blk.n && blk.time[i&(blockSize-1)] < to; i++ {
			blk.free[i&(blockSize-1)] += procs
		}
		p.bound(b)
		if i < blk.n || !more || p.first[b+1] > to {
			return b, i
		}
	}
}

// edge makes the step at (b, i), which is at or after t, begin at t with the
// value after, where the one before it has the value ahead.
func (p *profile) edge(b, i int, t int64, after, ahead int32) {
	if blk := p.blocks[b]; i == blk.n || blk.time[i] > t {
		p.insert(b, i, t, after)
	} else if p.value(b, i) == ahead {
		p.remove(b, i, i+1)
	}
}

// insert puts a step at place i of block b and returns where it then is.
func (p *profile) insert(b, i int, t int64, free int32) (int, int) {
	if p.blocks[b].n == blockSize {
		p.halve(b)
		if half := p.blocks[b].n; i > half {
			b, i = b+1, i-half
		}
	}
	blk := p.blocks[b]
	copy(blk.time[i+1:blk.n+1], blk.time[i:blk.n])
	copy(blk.free[i+1:blk.n+1], blk.free[i:blk.n])
	blk.time[i], blk.free[i] = t, free-p.shift[b]
	blk.n++
	p.first[b] = blk.time[0]
	p.low[b], p.high[b] = min(p.low[b], free), max(p.high[b], free)
	return b, i
}

// halve splits a full block in two.
func (p *profile) halve(b int) {
	old, half := p.blocks[b], blockSize/2
	blk := &block{n: old.n - half}
	copy(blk.time[:], old.time[half:old.n])
	copy(blk.free[:], old.free[half:old.n])
	old.n = half
	p.blocks = slices.Insert(p.blocks, b+1, blk)
	p.first = slices.Insert(p.first, b+1, blk.time[0])
	p.low = slices.Insert(p.low, b+1, 0)
	p.high = slices.Insert(p.high, b+1, 0)
	p.shift = slices.Insert(p.shift, b+1, p.shift[b])
	p.bound(b)
	p.bound(b + 1)
}

// remove takes steps [i, k) out of block b.
func (p *profile) remove(b, i, k int) {
	blk := p.blocks[b]
	copy(blk.time[i:], blk.time[k:blk.n])
	copy(blk.free[i:], blk.free[k:blk.n])
	blk.n -= k - i
	if blk.n > 0 {
		p.first[b] = blk.time[0]
		return // the bounds may be too wide now: still true
	}
	p.blocks = slices.Delete(p.blocks, b, b+1)
	p.first = slices.Delete(p.first, b, b+1)
	p.low = slices.Delete(p.low, b, b+1)
	p.high = slices.Delete(p.high, b, b+1)
	p.shift = slices.Delete(p.shift, b, b+1)
}

// bound works out a block's least and most.
func (p *profile) bound(b int) {
	blk := p.blocks[b]
	least, most := blk.free[0], blk.free[0]
	for _, f := range blk.free[1:blk.n] {
		least, most = min(least, f), max(most, f)
	}
	p.low[b], p.high[b] = least+p.shift[b], most+p.shift[b]
}

// forget drops steps that ended at or before t.
func (p *profile) forget(t int64) {
	for len(p.first) > 1 && p.first[1] <= t {
		p.remove(0, 0, p.blocks[0].n)
	}
	if _, i := p.locate(t); i > 0 {
		p.remove(0, 0, i)
		p.bound(0)
	}
}
