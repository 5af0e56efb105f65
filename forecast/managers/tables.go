package managers

import (
	"iter"
	"math/bits"
	"slices"
)

// tables are what a manager knows of free resources: its own system's, and per
// neighbour the amounts that are free in some single system in that direction.
type tables struct {
	own    system
	links  []link
	coarse bool     // see Rules.Coarse
	better bool     // there may be room now for jobs that found none
	merged []holder // work space of descriptions
	last   Set      // what was described last
	large  bool     // all that was merged may be more than a neighbour may be told
	spare  []holder // another, for merging
}

// holder is one amount of the merged table and who has it.
type holder struct {
	amount Resources
	by     Neighbour // the first holder; Here for the own system
	more   bool      // there are others
}

// isUp says whether there is such a link and it is up.
func (t *tables) isUp(n Neighbour) bool { return n >= 0 && int(n) < len(t.links) && t.links[n].up }

// parent returns the neighbour above, Here at a root.
func (t *tables) parent() Neighbour {
	for i := range t.links {
		if t.links[i].role == Parent && t.links[i].up {
			return Neighbour(i)
		}
	}
	return Here
}

// choose returns the neighbour that a job goes to and the amount in its row
// that decided: the smallest that fits (or the largest, by the rules), children
// before the parent, the earlier child first.
func (t *tables) choose(j *Job, worst bool) (n Neighbour, at int) {
	n = Here
	up, upAt := Here, 0
	for i := range t.links {
		l := &t.links[i]
		if most := len(l.rooms) - 1; most < 0 || l.rooms[most].CPUs < j.Need.CPUs || !l.up || j.block && j.from == Neighbour(i) {
			continue
		}
		k := l.choose(&j.Need, worst)
		switch {
		case k < 0:
		case l.role == Parent:
			if up == Here || preferred(&l.rooms[k], &t.links[up].rooms[upAt], worst) {
				up, upAt = Neighbour(i), k
			}
		case n == Here || preferred(&l.rooms[k], &t.links[n].rooms[at], worst):
			n, at = Neighbour(i), k
		}
	}
	if up != Here && (n == Here || preferred(&t.links[up].rooms[upAt], &t.links[n].rooms[at], worst)) {
		return up, upAt
	}
	return n, at
}

// preferred says whether a job takes amount a rather than b.
func preferred(a, b *Resources, worst bool) bool {
	c := compare(a, b)
	return c < 0 && !worst || c > 0 && worst
}

// towards returns the neighbour in whose direction a system could run a job
// when empty: the one that it came from last, Here where there is none.
func (t *tables) towards(j *Job) Neighbour {
	back := Here
	for _, role := range []Role{Child, Parent} {
		for i := range t.links {
			l := &t.links[i]
			if l.role != role || !l.up || l.whole.smallest(&j.Need) < 0 {
				continue
			}
			if j.from != Neighbour(i) {
				return Neighbour(i)
			}
			back = j.from
		}
	}
	return back
}

// possible says whether some system of the tree could run a job when empty, as far as is known here.
func (t *tables) possible(need *Resources) bool {
	return t.own.could(need) || slices.ContainsFunc(t.links, func(l link) bool {
		return l.up && l.whole.smallest(need) >= 0
	})
}

// merge makes the table of all amounts with their holders.
func (t *tables) merge() {
	t.merged = t.merged[:0]
	if t.own.offers() {
		t.merged = append(t.merged, holder{amount: t.own.free, by: Here})
	}
	for i := range t.links {
		if l := &t.links[i]; l.up && len(l.rooms) > 0 {
			t.mergeIn(l.rooms, Neighbour(i))
		}
	}
	t.weigh()
}

// mergeIn merges a neighbour's amounts into the table; both are in order.
func (t *tables) mergeIn(rooms Set, by Neighbour) {
	old, table, i := t.merged, t.spare[:0], 0
	for k := range rooms {
		c := -1
		for ; i < len(old); i++ {
			if c = compare(&old[i].amount, &rooms[k]); c >= 0 {
				break
			}
			table = append(table, old[i])
		}
		if c != 0 || i == len(old) {
			table = append(table, holder{amount: rooms[k], by: by})
			continue
		}
		table = append(table, holder{amount: old[i].amount, by: old[i].by, more: true})
		i++
	}
	t.merged, t.spare = append(table, old[i:]...), old
}

// sameAsTold says whether the description for a neighbour is the one sent last.
func (t *tables) sameAsTold(n Neighbour, keep int) bool {
	told := t.links[n].told
	if keep > 0 || t.large {
		return told.Equal(t.describe(n, keep))
	}
	k := 0
	for h := range t.seenFrom(n) {
		if k >= len(told) || told[k] != h.amount {
			return false
		}
		k++
	}
	return k == len(told)
}

// noMore says whether all that has room by the description for a neighbour has room by the one sent last.
func (t *tables) noMore(n Neighbour, keep int) bool {
	told := t.links[n].told
	less := func(amount *Resources) bool {
		return slices.ContainsFunc(told, func(was Resources) bool { return was.covers(amount) })
	}
	if keep > 0 || t.large {
		return !slices.ContainsFunc(t.describe(n, keep), func(r Resources) bool { return !less(&r) })
	}
	for h := range t.seenFrom(n) {
		if !less(&h.amount) {
			return false
		}
	}
	return true
}

// seenFrom goes over what a neighbour is told of the merged table: nothing of
// what came from it (split horizon), and where descriptions are coarse of amounts
// of nearly as many processors only the largest, where that has room for whatever has room in the others.
func (t *tables) seenFrom(n Neighbour) iter.Seq[*holder] {
	return func(yield func(*holder) bool) {
		var last *holder
		for i := range t.merged {
			h := &t.merged[i]
			if h.by == n && !h.more {
				continue
			}
			if last != nil && !(t.coarse && class(last.amount.CPUs) == class(h.amount.CPUs) && h.amount.covers(&last.amount)) && !yield(last) {
				return
			}
			last = h
		}
		if last != nil {
			yield(last)
		}
	}
}

// count returns how many amounts a neighbour is told.
func (t *tables) count(n Neighbour) (amounts int) {
	for range t.seenFrom(n) {
		amounts++
	}
	return amounts
}

// exact is up to how many processors every amount is a class of its own.
const exact = 16

// class returns the class of a number of processors: there are eight in each doubling.
func class(cpus int) int {
	if cpus < exact {
		return cpus
	}
	shift := bits.Len(uint(cpus)) - bits.Len(uint(exact-1))
	return shift*exact + cpus>>shift
}

// describe returns the description for a neighbour, of the merged table.
// Nothing of what came from it is in it (split horizon).
func (t *tables) describe(n Neighbour, keep int) Set {
	var s Set
	if t.large {
		s = t.shared(n)
	} else {
		s = make(Set, 0, t.count(n))
		for h := range t.seenFrom(n) {
			s = append(s, h.amount)
		}
	}
	if keep > 0 {
		s = s.widest(keep)
	}
	if t.last != nil && s.Equal(t.last) { // one copy for all neighbours that are told the same
		return t.last
	}
	t.last = s
	return s
}

// maxWhole bounds how many kinds of systems are told.
const maxWhole = 16

// whole returns what systems have when empty, as seen from a neighbour.
func (t *tables) whole(n Neighbour) Set {
	s := Set{}
	if t.own.there {
		s = s.with(&t.own.total)
	}
	for i := range t.links {
		if l := &t.links[i]; l.up && Neighbour(i) != n {
			for k := range l.whole {
				s = s.with(&l.whole[k])
			}
		}
	}
	s = s.widest(maxWhole)
	return s.Largest(maxWholes)
}
