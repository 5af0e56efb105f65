package glue

import (
	"slices"
	"strings"
	"time"
)

// merger merges resources that lie in one array. Those of a CE of GLUE 1.3 are made
// when their turn comes, as most views end in those that GLUE 2.0 has of the same: so
// there are never more than the most of what remains, and a few.
type merger struct {
	now     time.Time
	all     []Resource
	used    int // of all
	groups  []group
	at      map[key]int32 // the number of a host's queue's group
	kept    []bool        // those of all that remain
	scratch []Resource
	united  *united
}

// group is what is of one host and queue.
type group struct {
	there []*Resource
	ces   []ceOf
}

// maxScratch is how many resources that are about to be merged lie beside the array.
// Those of a queue with more views lie in it at once.
const maxScratch = 256

// newMerger expects so many hosts' queues.
func newMerger(now time.Time, all []Resource, queues int) *merger {
	return &merger{now: now, all: all, groups: make([]group, 0, queues), at: make(map[key]int32, queues), united: newUnited()}
}

// room is that for the next n resources.
func (m *merger) room(n int) *room {
	free := m.all[m.used:][:n]
	m.used += n
	return &room{free}
}

// group is that of a host's queue.
func (m *merger) group(host, queue string) *group {
	k := key{strings.ToLower(host), queue}
	i, ok := m.at[k]
	if !ok {
		i = int32(len(m.groups))
		m.at[k] = i
		m.groups = append(m.groups, group{})
	}
	return &m.groups[i]
}

// enter takes a resource in.
func (m *merger) enter(r *Resource) {
	g := m.group(r.CE, r.Queue)
	g.there = append(g.there, r)
}

// join takes in what a decoder has.
func (m *merger) join(j *joined) {
	for _, r := range j.glue2 {
		m.enter(r)
	}
	for i := range j.ces {
		p := &j.ces[i]
		g := m.group(j.glue1.queue(p))
		g.ces = append(g.ces, j.glue1.entry(p))
	}
	for _, r := range j.ng {
		m.enter(r)
	}
}

// merge merges the groups, one after the other.
func (m *merger) merge() []Resource {
	m.kept = make([]bool, len(m.all))
	for i := range m.used {
		m.all[i].at = int32(i)
	}
	merged := make([]*Resource, 0, m.used)
	for i := range m.groups {
		g := &m.groups[i]
		rs := m.make(g)
		if len(rs) > 1 {
			rs = mergeGroup(m.now, rs, m.united)
		}
		merged = m.keep(g, rs, merged)
		*g = group{}
	}
	makeUnique(merged)
	slices.SortFunc(merged, func(a, b *Resource) int { return strings.Compare(a.ID, b.ID) })
	all := m.all[:m.used]
	arrange(all, merged)
	clear(all[len(merged):])
	return all[:len(merged):len(merged)]
}

// beside is the at of a resource that does not lie in the array.
const beside = -1

// make lists the resources of a group, and makes those that are not yet.
func (m *merger) make(g *group) []*Resource {
	n := 0
	for i := range g.ces {
		n += 1 + len(g.ces[i].views)
	}
	if n == 0 {
		return g.there
	}
	own, first := &room{}, int32(beside)
	if n > maxScratch {
		first = int32(m.used)
		own = m.room(n)
	} else {
		if m.scratch == nil {
			m.scratch = make([]Resource, maxScratch)
		}
		own.free = m.scratch[:n]
		clear(own.free)
	}
	free, rs := own.free, slices.Clip(g.there)
	for i := range g.ces {
		rs = g.ces[i].resources(own, rs)
	}
	for i := range free {
		if free[i].at = beside; first != beside {
			free[i].at = first + int32(i)
		}
	}
	return rs
}

// keep adds to merged what remains of a group. What lies beside the array takes the
// place of what does not remain, or comes behind all.
func (m *merger) keep(g *group, rs, merged []*Resource) []*Resource {
	for _, r := range rs {
		if r.at != beside {
			m.kept[r.at] = true
		}
	}
	gone := g.there
	for _, r := range rs {
		if r.at == beside {
			for len(gone) > 0 && m.kept[gone[0].at] {
				gone = gone[1:]
			}
			r = m.put(r, &gone)
		}
		merged = append(merged, r)
	}
	return merged
}

// put copies a resource into the array, over the first that is gone if there is one.
func (m *merger) put(r *Resource, gone *[]*Resource) *Resource {
	var to *Resource
	at := int32(m.used)
	if len(*gone) > 0 {
		to, *gone = (*gone)[0], (*gone)[1:]
		at = to.at
	} else {
		to = m.room(1).next()
	}
	*to = *r
	to.at = at
	m.kept[at] = true
	return to
}
