package managers

import (
	"slices"
)

// Set is a generalised description: amounts that are free in some single
// system, each once, in ascending order. An amount without CPUs is not in it.
type Set []Resources

// Equal says whether two descriptions are the same.
func (s Set) Equal(o Set) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i] != o[i] {
			return false
		}
	}
	return true
}

// smallest returns the index of the smallest amount that has room for need, or -1.
func (s Set) smallest(need *Resources) int {
	for i := range s {
		if s[i].CPUs >= need.CPUs && s[i].Has(need) {
			return i
		}
	}
	return -1
}

// largest returns the index of the largest amount that has room for need, or -1.
func (s Set) largest(need *Resources) int {
	for i := len(s) - 1; i >= 0 && s[i].CPUs >= need.CPUs; i-- {
		if s[i].Has(need) {
			return i
		}
	}
	return -1
}

// without returns s with the amount at i taken out and what remains of it after need put in. It changes s.
func (s Set) without(i int, need *Resources) Set {
	rest := s[i].Less(*need)
	s = slices.Delete(s, i, i+1)
	return s.with(&rest)
}

// with returns s with one more amount. It changes s.
func (s Set) with(r *Resources) Set {
	if r.CPUs <= 0 {
		return s
	}
	i := 0
	for i < len(s) && compare(&s[i], r) < 0 {
		i++
	}
	if i < len(s) && s[i] == *r {
		return s
	}
	return slices.Insert(s, i, *r)
}

// NewSet makes a description of amounts in any order.
func NewSet(amounts ...Resources) Set {
	s := slices.DeleteFunc(Set(slices.Clone(amounts)), func(r Resources) bool { return r.CPUs <= 0 })
	slices.SortFunc(s, func(a, b Resources) int { return compare(&a, &b) })
	return slices.Compact(s)
}

// widest keeps the amounts that no other one of the set covers, at most keep of
// them, the largest first. It changes s.
func (s Set) widest(keep int) Set {
	kept := s[:0:0]
	for i := len(s) - 1; i >= 0 && len(kept) < keep; i-- {
		covered := false
		for j := range kept {
			covered = covered || kept[j].covers(&s[i])
		}
		if !covered {
			kept = append(kept, s[i])
		}
	}
	slices.Reverse(kept)
	return append(s[:0], kept...)
}

// covers says whether whatever fits into o fits into r.
func (r *Resources) covers(o *Resources) bool {
	return r.CPUs >= o.CPUs && r.GPUs >= o.GPUs && r.Memory >= o.Memory &&
		(r.Wall == 0 || o.Wall != 0 && o.Wall <= r.Wall) && (o.Tags == "" || hasTags(r.Tags, o.Tags))
}

// Check finds amounts out of order, twice, or senseless.
func (s Set) Check() error {
	for i := range s {
		if err := s[i].Check(); err != nil {
			return err
		}
		if i > 0 && compare(&s[i-1], &s[i]) >= 0 {
			return errUnordered
		}
	}
	return nil
}
