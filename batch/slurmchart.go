package batch

import (
	"cmp"
	"slices"
	"time"
)

// chart is what one pass of Slurm's backfill knows of the places that it has given.
// It is coarser than a plan, as Slurm's own is: a place is not looked for at each time
// at which something comes free, but behind groups of ends (see barrier), on nodes that
// no place keeps from the time it is looked for on until the job would end; and it begins
// and ends at steps of bf_resolution.
type chart struct {
	p      *nodePlan
	now    int64
	step   int64 // bf_resolution
	window int64 // bf_window
	linear int64 // bf_window_linear
	recent bool  // see Slurm.Recent
	places []stay
	table  []record
	spares [][]uint64 // of records that are not in use
	free   berths     // what the job looked at could have
	shut   []uint64   // nodes that places keep from that job
	looks  int        // nodes looked at in this pass
	tried  int        // jobs looked at in this pass
	full   bool       // it takes no more places
}

// record is a line of Slurm's table of places: nodes that places keep from a time on,
// until the next begins.
type record struct {
	from int64
	kept []uint64
}

// stay is a place in the chart: nodes, which it keeps all others off, for a time.
type stay struct {
	from, to int64
	nodes    []share
}

// begin makes the chart empty.
func (t *chart) begin(p *nodePlan, s *Slurm, now int64) {
	t.p, t.now, t.recent = p, now, s.Recent
	t.step, t.window, t.linear = int64(s.Resolution/time.Second), int64(s.Window/time.Second), int64(s.WindowLinear/time.Second)
	t.places, t.looks, t.tried, t.full = t.places[:0], 0, 0, false
	if words := (len(p.nodes) + 63) / 64; len(t.shut) != words {
		t.shut, t.table, t.spares = make([]uint64, words), nil, nil
	}
	for _, r := range t.table {
		t.spares = append(t.spares, r.kept)
	}
	t.table = t.table[:0]
	t.cut(now)
}

// look finds the place that Slurm gives a job before a time, and its nodes; never:
// there is none.
func (t *chart) look(j *job, end int64) (at int64, nodes []share) {
	for from := max(t.now, j.Need.from); from < end; {
		later := t.later(j, from)
		t.open(j, from, from+j.Limit)
		at, nodes, ok := t.first(j, from, later)
		next := later
		if at = max(at, from); ok && at <= later {
			if at == t.now || at < end && !t.taken(at, at+j.Limit, nodes) {
				return at, nodes
			}
			if at > from {
				next = at
			}
		}
		from = next
	}
	return never, nil
}

// later is the next time at which Slurm looks for a place for a job: the end of the first
// record, from a time on, behind which a node is open to it that was not so in all until
// then, as long as they begin while it would run; else the end of the second behind these.
// never: there is none.
func (t *chart) later(j *job, from int64) int64 {
	i := t.within(from)
	clear(t.shut)
	for ; i+1 < len(t.table); i++ {
		r, next := &t.table[i], &t.table[i+1]
		for w, kept := range r.kept {
			if t.shut[w] |= kept; t.shut[w]&^next.kept[w]&j.Need.serve[w] != 0 {
				return next.from
			}
		}
		if r.from > from+j.Limit {
			if i+2 < len(t.table) {
				return t.table[i+2].from
			}
			break
		}
	}
	return never
}

// within is the place of the record that a time is in.
func (t *chart) within(at int64) int {
	i, there := slices.BinarySearchFunc(t.table, at, func(r record, at int64) int { return cmp.Compare(r.from, at) })
	if there {
		return i
	}
	return i - 1
}

// cut makes a record begin at a time and returns its place.
func (t *chart) cut(at int64) int {
	i := t.within(at)
	if i >= 0 && t.table[i].from == at {
		return i
	}
	var kept []uint64
	if n := len(t.spares); n > 0 {
		kept, t.spares = t.spares[n-1], t.spares[:n-1]
		clear(kept)
	} else {
		kept = make([]uint64, len(t.shut))
	}
	if i >= 0 {
		copy(kept, t.table[i].kept)
	}
	t.table = slices.Insert(t.table, i+1, record{at, kept})
	return i + 1
}

// open notes what a job could have now of each node that no place keeps at any moment
// of a time, its end among them.
func (t *chart) open(j *job, from, to int64) {
	clear(t.shut)
	for i := t.within(from); i < len(t.table) && t.table[i].from <= to; i++ {
		for w, kept := range t.table[i].kept {
			t.shut[w] |= kept
		}
	}
	t.free = t.free.sized(len(t.p.nodes))
	for _, n := range j.Need.on {
		if !t.keeps(n) {
			t.free.set(n, t.p.nodes[n].lasting(t.now+1, t.now, j.Need))
		}
	}
	t.looks += len(j.Need.on)
}

// records are those of Slurm's table of places, from now on until bf_window ahead.
func (t *chart) records() int {
	return t.within(t.now+t.window-1) + 1
}

// keeps tells whether a place keeps a node from the job looked at.
func (t *chart) keeps(node int32) bool { return t.shut[node>>6]>>(node&63)&1 != 0 }

// first is when a job could start on the nodes that are open, beside what runs: now, or
// with the last end of a group (see groups). Slurm looks whether a group is over only
// behind an end on an open node: behind others it takes the next on one in, however late
// that is. 24.11 takes what ends before the time looked at as gone, and nothing in that
// ends behind the next time that it will look at.
func (t *chart) first(j *job, from, later int64) (at int64, nodes []share, ok bool) {
	e, here, more := t.p.releases.at(t.p.releases.after(t.now))
	step := func(until int64) {
		e, here, more = t.p.releases.at(place{here.b, here.i + 1})
		more = more && int64(e.key) <= until
	}
	until := never - 1
	if t.recent {
		for more = more && int64(e.key) < from; more; step(from - 1) {
			t.release(j, &e)
		}
		e, here, more = t.p.releases.at(here)
		until = later
		more = more && int64(e.key) <= until
	}
	if nodes, ok = t.fits(j); ok {
		return t.now, nodes, true
	}
	for g := (groups{width: barrier, linear: t.linear}); more; {
		last := never
		for over := false; more && !over; {
			end := int64(e.key)
			open := t.release(j, &e)
			if open {
				g.begin(end)
				last = end
			}
			step(until)
			over = open && more && !g.covers(int64(e.key))
		}
		if last == never {
			break
		}
		if nodes, ok = t.fits(j); ok {
			return last, nodes, true
		}
		g.widen(int64(e.key), more)
	}
	return never, nil, false
}

// release takes in what comes free and tells whether it is on an open node. Of several
// jobs that end in one second each is gone by itself.
func (t *chart) release(j *job, e *entry) (open bool) {
	t.looks++
	for _, s := range t.p.releases.parts[e.job] {
		if j.Need.serves(s.node) && !t.keeps(s.node) {
			t.free.set(s.node, t.behind(s.node, e, j.Need))
			open = true
		}
	}
	return open
}

// behind is the room of a node for processors of a job beside what is held now, when all
// that ends before a release is gone, and of what ends with it the owners up to its own.
func (t *chart) behind(node int32, e *entry, n *Need) int32 {
	used, end := amounts{}, int64(e.key)
	for i := range t.p.nodes[node].held {
		if h := &t.p.nodes[node].held[i]; h.from <= t.now && (h.to > end || h.to == end && h.owner > e.seq) {
			used = used.plus(&h.amounts)
		}
	}
	return t.p.nodes[node].have.room(used, n)
}

// fits chooses nodes of those that are open.
func (t *chart) fits(j *job) ([]share, bool) {
	room := int64(0)
	for _, n := range j.Need.on {
		room += int64(t.free.at(n))
	}
	if t.looks += len(j.Need.on); room < int64(j.procs) {
		return nil, false
	}
	t.p.small = true
	nodes, ok := t.p.parts(j, &t.free)
	t.p.small = false
	most := int(j.most())
	return slices.Clone(nodes), ok && len(nodes) >= int(j.apart()) && (most == 0 || len(nodes) <= most)
}

// stay is the place of a job from a time to another, as the chart has it.
func (t *chart) stay(from, to int64, nodes []share) stay {
	if t.recent {
		to += t.step - 1
	}
	return stay{max(t.now, from-from%t.step), to - to%t.step, nodes}
}

// taken tells whether a place keeps one of some nodes within a time.
func (t *chart) taken(from, to int64, nodes []share) bool {
	want := t.stay(from, to, nodes)
	for i := t.within(want.from); i < len(t.table) && t.table[i].from < want.to; i++ {
		for _, n := range nodes {
			if t.table[i].kept[n.node>>6]>>(n.node&63)&1 != 0 {
				return true
			}
		}
	}
	return false
}

// put gives a job a place. The table ends with bf_window.
func (t *chart) put(from, to int64, nodes []share) {
	s := t.stay(from, to, nodes)
	if s.from >= s.to {
		return
	}
	t.places = append(t.places, s)
	begin, end := t.cut(s.from), len(t.table)
	if s.to < t.now+t.window {
		end = t.cut(s.to)
	}
	for _, r := range t.table[begin:end] {
		for _, n := range nodes {
			r.kept[n.node>>6] |= 1 << (n.node & 63)
		}
	}
}
