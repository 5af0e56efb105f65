package glue

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Merge puts the views that several schemas or sources give of one share into
// one resource. Two are of one share when host, queue and VO agree and their
// GlueCEUniqueIDs do not forbid it. The best one is kept as base: one whose
// record has not expired at now, then GLUE 2.0 before GLUE 1.3 before ARC's
// own schema, then what a computing element tells itself, then the younger. Its gaps are filled from the others, and what
// they contradict is listed in Conflicts. Views of a VO get what the whole
// share knows and they do not. IDs are unique afterwards.
// The result is sorted by ID; the parts are used up.
func Merge(now time.Time, parts ...[]Resource) []Resource {
	all := slices.Concat(parts...)
	m := newMerger(now, all, len(all)/2)
	m.room(len(all))
	for i := range all {
		m.enter(&all[i])
	}
	return m.merge()
}

// arrange puts those resources of all first, in their order, that first lists.
func arrange(all []Resource, first []*Resource) {
	from := make([]int32, 0, len(all)) // what comes to lie there
	listed := make([]bool, len(all))
	for _, r := range first {
		from = append(from, r.at)
		listed[r.at] = true
	}
	for i := range all {
		if all[i].at = 0; !listed[i] {
			from = append(from, int32(i))
		}
	}
	const done = -1
	for start := range from { // each cycle of the permutation from where it is met
		if from[start] == done {
			continue
		}
		out := all[start]
		for i := start; from[i] != done; {
			next := int(from[i])
			if from[i] = done; next == start {
				all[i] = out
				break
			}
			all[i] = all[next]
			i = next
		}
	}
}

// mergeGroup merges resources of one host and queue.
func mergeGroup(now time.Time, group []*Resource, u *united) []*Resource {
	slices.SortStableFunc(group, func(a, b *Resource) int { return compareBase(now, a, b) })
	var shares []*share
	type name struct{ view, id string }
	first := map[name]*share{}
	for _, r := range group {
		k := name{strings.ToLower(r.ViewOf), r.CEID}
		if r.Schema == "self" { // not published by others: only the very same is the same
			k = name{"self\n", r.ID}
		}
		s := first[k]
		if r.Schema != "self" && (s == nil || s.has(r)) {
			s = findShare(shares[:min(len(shares), maxLooked)], r)
		}
		if s == nil {
			s = &share{}
			shares = append(shares, s)
		}
		if s.members = append(s.members, r); first[k] == nil {
			first[k] = s
		}
	}
	merged := make([]*Resource, len(shares))
	for i, s := range shares {
		merged[i] = s.merge(u)
	}
	return inherit(merged, u)
}

// maxLooked bounds how many shares of one host and queue are looked through,
// and how many views and endpoints of one share are kept: a source that talks
// nonsense must not cost the square of its length.
const maxLooked = 256

// share is what several resources describe.
type share struct{ members []*Resource }

// findShare finds the share that r describes, of the same VO: one with a
// common endpoint, else any that r's source has not described in r's schema.
func findShare(shares []*share, r *Resource) *share {
	var other *share
	for _, s := range shares {
		if !strings.EqualFold(s.members[0].ViewOf, r.ViewOf) || s.members[0].Schema == "self" || s.has(r) {
			continue
		}
		if shareEndpoint(s.members[0], r) {
			return s
		}
		if other == nil {
			other = s
		}
	}
	return other
}

// has reports whether the share has r's source's word in r's schema already.
func (s *share) has(r *Resource) bool {
	return len(s.members) > maxLooked || slices.ContainsFunc(s.members, func(m *Resource) bool {
		return m.Schema == r.Schema && m.Source == r.Source && m.ID != r.ID
	})
}

func shareEndpoint(a, b *Resource) bool {
	for _, e := range a.Endpoints {
		if slices.ContainsFunc(b.Endpoints, func(f Endpoint) bool { return f.URL == e.URL }) {
			return true
		}
	}
	return false
}

// schemaOrder is the order of trust.
var schemaOrder = map[string]int{"self": 0, "glue2.0": 1, "glue1.3": 2, "nordugrid": 3}

// compareBase orders resources by how good a base they are.
func compareBase(now time.Time, a, b *Resource) int {
	return cmp.Or(
		cmp.Compare(bad(now, a), bad(now, b)),
		cmp.Compare(schemaOrder[a.Schema], schemaOrder[b.Schema]),
		cmp.Compare(toldByOthers(a), toldByOthers(b)),
		b.Created.Compare(a.Created))
}

// bad counts what speaks against a record as a base.
func bad(now time.Time, r *Resource) int {
	n := 0
	if r.Stale {
		n += 4
	}
	if r.StateIsPlaceholder {
		n += 2
	}
	if r.Expired(now) || r.Created.After(now.Add(aheadOfTime)) {
		n++
	}
	return n
}

// aheadOfTime is how far a publisher's clock may be ahead: who says that a record is made in a year would be the youngest for as long.
const aheadOfTime = time.Hour

// toldByOthers is 1 unless the record comes from the very host that it is about.
func toldByOthers(r *Resource) int {
	if _, at, ok := strings.Cut(r.Source, "://"); ok && r.CE != "" && beginsAt(at, "", r.CE) {
		return 0
	}
	return 1
}

// Expired reports whether the record's publisher says that it is too old at
// now.
func (r *Resource) Expired(now time.Time) bool {
	return r.Validity > 0 && now.After(r.Created.Add(r.Validity))
}

// merge fills the first member from the others.
func (s *share) merge(u *united) *Resource {
	r := s.members[0]
	for _, other := range s.members[1:] {
		by := other.Schema
		if other.Source != r.Source {
			by = other.Source
		}
		f := filler{united: u, dst: r, src: other, by: by, report: true}
		f.identity()
		f.state()
		f.static()
	}
	return r
}

// inherit gives views what only the whole share knows, and notes on the whole
// which VOs have views.
func inherit(rs []*Resource, u *united) []*Resource {
	var whole *Resource
	for _, r := range rs {
		if r.ViewOf != "" || r.Schema == "self" {
			continue
		}
		if whole != nil { // two shares of one name: each keeps what it had
			return rs
		}
		whole = r
	}
	if whole == nil {
		return rs
	}
	whole.Views = nil
	for _, r := range rs {
		if r.ViewOf != "" {
			nodes := filler{united: u, dst: whole, src: r} // the nodes are the same
			nodes.environment()
			whole.addView(r)
		}
	}
	slices.Sort(whole.Views) // sources send their entries in any order
	for _, r := range rs {
		if r.ViewOf != "" {
			all := filler{united: u, dst: r, src: whole}
			all.static()
		}
	}
	return rs
}

// addView notes that a VO has a view of its own, if the view lets in all
// members and not some roles only.
func (r *Resource) addView(view *Resource) {
	if view.ViewOf != "" && len(r.Views) < maxLooked && slices.Contains(view.Access, "VO:"+view.ViewOf) && !slices.Contains(r.Views, view.ViewOf) {
		r.Views = append(r.Views, view.ViewOf)
	}
}

// makeUnique numbers resources whose ID occurred before.
func makeUnique(rs []*Resource) {
	seen := make(map[string]int, len(rs)) // the last number given to an ID
	for _, r := range rs {
		id, n := r.ID, seen[r.ID]
		for seen[r.ID] > 0 {
			n++
			r.ID = id + "#" + strconv.Itoa(n)
		}
		seen[id] = max(n, 1)
		seen[r.ID] = max(seen[r.ID], 1)
	}
}
