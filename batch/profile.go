package batch

import "slices"

// never is the end of time, in seconds; no event happens then.
const never = int64(1) << 60

// blockSize is the number of steps in one block of a profile.
const blockSize = 128

// profile is the number of free processors as a step function of time: step i
// lasts from its time to the next step's, the last one for ever. It is kept in
// blocks with the least and greatest value of each, so that a search skips
// whole blocks and a change moves at most one block's steps: with n steps both
// cost n/blockSize comparisons plus the steps they touch.
type profile struct {
	blocks []*block
	first  []int64 // the first time of each block
	least  []int32
	most   []int32
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
		blocks: []*block{b}, first: []int64{from}, least: []int32{int32(procs)}, most: []int32{int32(procs)},
	}
}

func (p *profile) clone() *profile {
	q := &profile{
		blocks: make([]*block, len(p.blocks)), first: slices.Clone(p.first),
		least: slices.Clone(p.least), most: slices.Clone(p.most),
	}
	for i, b := range p.blocks {
		c := *b
		q.blocks[i] = &c
	}
	return q
}

// locate finds the step in which t lies (the first where t is before all).
func (p *profile) locate(t int64) (b, i int) {
	if b = len(p.first) - 1; b > 8 {
		b, _ = slices.BinarySearch(p.first, t+1)
		b = max(b-1, 0)
	}
	for b > 0 && p.first[b] > t {
		b--
	}
	blk := p.blocks[b]
	lo, hi := 0, blk.n // the answer is the last step at or before t
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; blk.time[mid] <= t {
			lo = mid
		} else {
			hi = mid
		}
	}
	return b, lo
}

// at is the number of free processors at time t.
func (p *profile) at(t int64) int32 {
	b, i := p.locate(t)
	return p.blocks[b].free[i]
}

// earliest finds the earliest start in [from, before) of a job of procs
// processors and dur seconds, where only the part of the job that lies before
// the time before is asked to be free. It returns before where there is none.
func (p *profile) earliest(from, before, dur int64, procs int32) int64 {
	b, i := p.locate(from)
	for start := from; ; {
		if b, i = p.atLeast(b, i, procs); b == len(p.blocks) {
			return before
		}
		if start = max(start, p.blocks[b].time[i]); start >= before {
			return before
		}
		end := min(start+dur, before)
		if b, i = p.below(b, i, procs); b == len(p.blocks) || p.blocks[b].time[i] >= end {
			return start
		}
	}
}

// atLeast finds the first step from (b, i) on with at least procs free.
func (p *profile) atLeast(b, i int, procs int32) (int, int) {
	for ; b < len(p.blocks); b, i = b+1, 0 {
		if p.most[b] < procs {
			continue
		}
		blk := p.blocks[b]
		for ; i < blk.n; i++ {
			if blk.free[i&(blockSize-1)] >= procs {
				return b, i
			}
		}
	}
	return b, 0
}

// below finds the first step from (b, i) on with less than procs free.
func (p *profile) below(b, i int, procs int32) (int, int) {
	for ; b < len(p.blocks); b, i = b+1, 0 {
		if p.least[b] >= procs {
			continue
		}
		blk := p.blocks[b]
		for ; i < blk.n; i++ {
			if blk.free[i&(blockSize-1)] < procs {
				return b, i
			}
		}
	}
	return b, 0
}

// change adds procs (may be negative) to the free processors in [from, to).
func (p *profile) change(from, to int64, procs int32) {
	if from >= to || procs == 0 {
		return
	}
	if to < never {
		p.split(to)
	}
	b, i := p.split(from)
	for ; b < len(p.blocks) && p.first[b] < to; b, i = b+1, 0 {
		blk := p.blocks[b]
		for ; i < blk.n && blk.time[i] < to; i++ {
			blk.free[i] += procs
		}
		p.bound(b)
	}
	if to < never {
		p.join(to)
	}
	p.join(from)
}

// split makes a step begin at t and returns its place.
func (p *profile) split(t int64) (b, i int) {
	b, i = p.locate(t)
	blk := p.blocks[b]
	if blk.time[i] >= t { // begins here, or t is before all: the past
		return b, i
	}
	if blk.n == blockSize {
		p.halve(b)
		b, i = p.locate(t)
		blk = p.blocks[b]
	}
	copy(blk.time[i+2:blk.n+1], blk.time[i+1:blk.n])
	copy(blk.free[i+2:blk.n+1], blk.free[i+1:blk.n])
	blk.time[i+1], blk.free[i+1] = t, blk.free[i]
	blk.n++
	return b, i + 1
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
	p.least = slices.Insert(p.least, b+1, 0)
	p.most = slices.Insert(p.most, b+1, 0)
	p.bound(b)
	p.bound(b + 1)
}

// join removes the step at t where it does not differ from the one before.
func (p *profile) join(t int64) {
	b, i := p.locate(t)
	blk := p.blocks[b]
	if blk.time[i] != t || b == 0 && i == 0 {
		return
	}
	if i > 0 {
		if blk.free[i-1] == blk.free[i] {
			p.remove(b, i, i+1)
		}
		return
	}
	if prev := p.blocks[b-1]; prev.free[prev.n-1] == blk.free[0] {
		p.remove(b, 0, 1)
	}
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
	p.least = slices.Delete(p.least, b, b+1)
	p.most = slices.Delete(p.most, b, b+1)
}

// bound works out a block's least and most.
func (p *profile) bound(b int) {
	blk := p.blocks[b]
	least, most := blk.free[0], blk.free[0]
	for _, f := range blk.free[1:blk.n] {
		least, most = min(least, f), max(most, f)
	}
	p.least[b], p.most[b] = least, most
}

// forget drops steps that ended at or before t.
func (p *profile) forget(t int64) {
	for len(p.first) > 1 && p.first[1] <= t {
		p.remove(0, 0, p.blocks[0].n)
	}
	if _, i := p.locate(t); i >= 8 {
		p.remove(0, 0, i)
		p.bound(0)
	}
}
