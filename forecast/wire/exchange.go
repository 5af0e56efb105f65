package wire

import "slices"

// Mismatch is a delta that does not follow what is there: a full one is needed.
type Mismatch struct{ Why string }

// Error implements error.
func (e *Mismatch) Error() string { return "out of step: " + e.Why }

// Set is the slots of a full delta; a *Mismatch tells that they are not those of its
// digest.
func (d *Delta) Set() (*Set, error) {
	set := &Set{slots: make(map[uint64]kept, len(d.Put))}
	for i := range d.Put {
		set.Put(d.Put[i])
	}
	if set.Digest() != d.Digest {
		return nil, &Mismatch{"the full set has another digest than it says"}
	}
	return set, nil
}

// Apply brings a set up to date. After a *Mismatch a set to which the delta did
// not apply is as it was.
func (s *Set) Apply(d *Delta) error {
	if d.Full {
		next, err := d.Set()
		if err == nil {
			*s = *next
		}
		return err
	}
	if s.Digest() != d.Base {
		return &Mismatch{"the delta is for another set"}
	}
	undo := s.changes(d)
	if s.Digest() != d.Digest {
		undo()
		return &Mismatch{"the delta leads to another set than it says"}
	}
	return nil
}

// changes applies a delta and returns what takes it back.
func (s *Set) changes(d *Delta) (undo func()) {
	was := map[uint64]*Slot{}
	note := func(id uint64) {
		if _, done := was[id]; done {
			return
		}
		was[id] = nil
		if v, ok := s.slots[id]; ok {
			was[id] = &v.Slot
		}
	}
	for _, id := range d.Drop {
		note(id)
		s.Drop(id)
	}
	for _, v := range d.Put {
		note(v.ID)
		s.Put(v)
	}
	return func() {
		for id, v := range was {
			if s.Drop(id); v != nil {
				s.Put(*v)
			}
		}
	}
}

// Diff is the delta from s to the slots given, without Seq and times, and
// makes s what it leads to.
func (s *Set) Diff(next []Slot) *Delta {
	d := s.differ(next)
	s.lead(d)
	return d
}

// Next is the set that is the slots given, and the delta that leads there from s, which stays: with
// what is the same both have it together.
func (s *Set) Next(slots []Slot) (Set, *Delta) {
	d, next := s.differ(slots), *s
	if len(d.Put)+len(d.Drop) > 0 {
		next = s.Clone()
	}
	next.lead(d)
	return next, d
}

// differ is the delta to the slots given, without the digest of what it leads to.
func (s *Set) differ(next []Slot) *Delta {
	d := &Delta{Base: s.Digest()}
	there := make(map[uint64]bool, len(next))
	for _, v := range next {
		there[v.ID] = true
		if old, ok := s.slots[v.ID]; !ok || old.Slot != v {
			d.Put = append(d.Put, v)
		}
	}
	for id := range s.slots {
		if !there[id] {
			d.Drop = append(d.Drop, id)
		}
	}
	slices.Sort(d.Drop)
	return d
}

// lead makes s what a delta of differ leads to, and says so in it.
func (s *Set) lead(d *Delta) {
	for _, v := range d.Put {
		s.Put(v)
	}
	for _, id := range d.Drop {
		s.Drop(id)
	}
	d.Digest = s.Digest()
}

// Whole is the full delta of a set, without Seq, times and what the site is.
func (s *Set) Whole() *Delta {
	d := &Delta{Full: true, Digest: s.Digest()}
	s.All(func(v Slot) { d.Put = append(d.Put, v) })
	slices.SortFunc(d.Put, func(a, b Slot) int { return int(min(1, max(-1, int64(a.ID-b.ID)))) })
	return d
}

// Usable tells whether a schedule made at a time with a TTL may be used at the time
// until. One that was made later than that by more than its life is of a clock that
// was set back since: nobody can tell its age.
func Usable(made, ttl, until int64) bool { return until <= made+ttl && made <= Newest(ttl, until) }

// Newest is when a schedule with a TTL was made at the latest that is told at a time,
// by a clock that is as far ahead as any may be.
func Newest(ttl, now int64) int64 { return now + max(ttl, Skew) }

// Skew is by how many seconds an agent's clock may be ahead of its scheduler's.
const Skew = 60
