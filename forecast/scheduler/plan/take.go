package plan

import "math/bits"

// looks is how many slots of a bucket are looked at for one job where not all
// of its slots are sure to serve; dears, how many too dear ones are passed.
const (
	looks = 8
	dears = 64
)

// take gives a job the dearest slot it outranks of the tightest bucket of a room
// and window.
func (p *index) take(j *Job, room room, w int32, need uint64, falling bool) (Booking, bool) {
	at := room.at*windows + w
	for rest := p.masks[at] & need; rest != 0; rest &= rest - 1 {
		k := int32(bits.TrailingZeros64(rest))
		bucket := at*kinds + k
		if i, ok := p.search(j, bucket, falling); ok {
			return p.book(j, i), true
		}
		if p.heads[bucket] == 0 {
			p.masks[at] &^= 1 << k
		}
	}
	return Booking{}, false
}

// search takes a slot out of a bucket.
func (p *index) search(j *Job, bucket int32, falling bool) (int32, bool) {
	prev := int32(-1)
	seen, dear := 0, 0
	for i := p.heads[bucket] - 1; i >= 0 && p.goOn(seen, dear, falling); {
		after := p.next[i]
		gone := p.work[i].CPUs == 0 // taken by a parallel job
		switch {
		case gone, falling && p.limit[i] >= j.Priority:
			p.unlink(bucket, prev, after)
			i = after
			continue
		case p.limit[i] >= j.Priority:
			dear++
		case p.serves(j, &p.work[i]):
			p.unlink(bucket, prev, after)
			return i, true
		default:
			seen++
		}
		prev, i = i, after
	}
	return 0, false
}

// goOn tells whether to look at one more slot. Jobs that were passed by too often
// look at all; the others share an allowance of looks beyond the usual few.
func (p *index) goOn(seen, dear int, falling bool) bool {
	if !falling || seen < looks && dear < dears {
		return true
	}
	p.deep--
	return p.deep >= 0
}

func (p *index) unlink(bucket, prev, after int32) {
	if prev < 0 {
		p.heads[bucket] = after + 1
		return
	}
	p.next[prev] = after
}

// serves looks at all that the buckets do not tell.
func (p *index) serves(j *Job, s *Slot) bool {
	if !p.r.fits(j, s) || p.mixed && p.kinds[p.group(s)].mixed && !p.r.Wishes[j.Wish].Allows(s.Cluster, s.Class) {
		return false
	}
	c := &p.r.Clusters[s.Cluster]
	return c.Local == nil || !c.Local.perJob || p.r.outranks(j, s)
}

// book takes a job's part of a slot and puts back what is left of it.
func (p *index) book(j *Job, i int32) Booking {
	s := p.work[i]
	c := &p.r.Clusters[s.Cluster]
	b := Booking{From: s.From, Chance: float32(s.Start) / 100, Parts: p.newParts(1)}
	b.Parts = append(b.Parts, Part{i, uint16(j.Procs)})
	b.Done = s.From + int32(float32(j.Wall)/c.speed())
	p.split(i, b.From, j.Wall, uint16(j.Procs), j.Memory)
	return b
}

// newParts is memory for some parts, of a larger piece: one for each booking
// would cost more than the planning.
func (p *index) newParts(n int) []Part {
	if n > cap(p.parts) {
		p.parts = make([]Part, 0, max(n, min(8192, len(p.jobs)+16)))
	}
	list := p.parts[:0:n]
	p.parts = p.parts[n:n:cap(p.parts)]
	return list
}

// split takes processors out of a slot for a time. What is left beside, before
// and after it are slots again.
func (p *index) split(i, from, wall int32, cpus uint16, memory int32) {
	s := p.work[i]
	p.work[i].CPUs = 0
	beside := s
	if beside.CPUs -= cpus; beside.CPUs > 0 {
		if s.Memory > 0 {
			beside.Memory = max(1, s.Memory-memory)
		}
		p.leave(beside, i)
	}
	before, after := s, s
	before.CPUs, after.CPUs = cpus, cpus
	if before.To = from; before.To-before.From >= shortest {
		p.leave(before, i)
	}
	if after.From = from + wall; after.To-after.From >= shortest && after.From <= p.r.Now+p.r.Horizon {
		after.Start = p.r.Clusters[s.Cluster].startAt(after.From-p.r.Now, s.Start)
		p.leave(after, i)
	}
}

// shortest is the shortest time, in seconds, that is worth keeping of a slot.
const shortest = 60

// leave makes a slot of what is left of another.
func (p *index) leave(s Slot, of int32) {
	i := int32(len(p.work))
	p.work, p.limit, p.next = append(p.work, s), append(p.limit, p.limit[of]), append(p.next, -1)
	p.parent = append(p.parent, p.origin(of))
	p.put(i, p.group(&s))
	if p.gangs != nil {
		p.gangs.add(i)
	}
}
