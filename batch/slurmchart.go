package batch

import (
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
	up     bool  // ends are rounded up
	places []stay
	edges  []int64 // their begins and ends, sorted, each once
	free   berths  // what the job looked at could have
	kept   []bool  // by node: a place keeps it from that job
	looks  int     // nodes looked at in this pass
	tried  int     // jobs looked at in this pass
	full   bool    // it takes no more places
}

// stay is a place in the chart: nodes, which it keeps all others off, for a time.
type stay struct {
	from, to int64
	nodes    []share
}

// begin makes the chart empty.
func (t *chart) begin(p *nodePlan, s *Slurm, now int64) {
	t.p, t.now, t.up = p, now, s.RoundsUp
	t.step, t.window, t.linear = int64(s.Resolution/time.Second), int64(s.Window/time.Second), int64(s.WindowLinear/time.Second)
	t.places, t.edges, t.looks, t.tried, t.full = t.places[:0], t.edges[:0], 0, 0, false
	if len(t.kept) < len(p.nodes) {
		t.kept = make([]bool, len(p.nodes))
	}
}

// look finds the place that Slurm gives a job before a time, and its nodes; never:
// there is none.
func (t *chart) look(j *job, end int64) (at int64, nodes []share) {
	for from := max(t.now, j.Need.from); from < end; {
		later := t.after(from)
		t.open(j, from, from+j.Limit)
		at, nodes, ok := t.first(j)
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

// after is the first edge after a time; never: there is none.
func (t *chart) after(at int64) int64 {
	if i, _ := slices.BinarySearch(t.edges, at+1); i < len(t.edges) {
		return t.edges[i]
	}
	return never
}

// records are those of Slurm's table of places: times between which the same nodes are
// kept, from now on until bf_window ahead.
func (t *chart) records() int {
	from, _ := slices.BinarySearch(t.edges, t.now+1)
	to, _ := slices.BinarySearch(t.edges, t.now+t.window)
	return 1 + max(0, to-from)
}

// open notes what a job could have now of each node that no place keeps at any moment
// of a time, its end among them.
func (t *chart) open(j *job, from, to int64) {
	clear(t.kept)
	t.free = t.free.sized(len(t.p.nodes))
	for i := range t.places {
		if s := &t.places[i]; s.to > from && s.from <= to {
			for _, part := range s.nodes {
				t.kept[part.node] = true
			}
		}
	}
	for _, n := range j.Need.on {
		if !t.kept[n] {
			t.free.set(n, t.p.nodes[n].lasting(t.now+1, t.now, j.Need))
		}
	}
	t.looks += len(j.Need.on)
}

// first is when a job could start on the nodes that are open, beside what runs: now, or
// with the last end of a group (see groups). Slurm looks whether a group is over only
// behind an end on an open node: behind others it takes the next on one in, however late
// that is.
func (t *chart) first(j *job) (at int64, nodes []share, ok bool) {
	if nodes, ok = t.fits(j); ok {
		return t.now, nodes, true
	}
	e, here, more := t.p.releases.at(t.p.releases.after(t.now))
	for g := (groups{width: barrier, linear: t.linear}); more; {
		last := never
		for over := false; more && !over; {
			end := int64(e.key)
			open := t.release(j, end, t.p.releases.parts[e.job])
			if open {
				g.begin(end)
				last = end
			}
			e, here, more = t.p.releases.at(place{here.b, here.i + 1})
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

// release takes in what comes free at a time and tells whether it is on an open node.
func (t *chart) release(j *job, at int64, parts []share) (open bool) {
	t.looks++
	for _, s := range parts {
		if j.Need.serves(s.node) && !t.kept[s.node] {
			t.free.set(s.node, t.p.nodes[s.node].lasting(t.now+1, at, j.Need))
			open = true
		}
	}
	return open
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
	nodes, ok := t.p.parts(j, &t.free)
	most := int(j.most())
	return slices.Clone(nodes), ok && len(nodes) >= min(j.Need.Nodes, int(j.procs)) && (most == 0 || len(nodes) <= most)
}

// stay is the place of a job from a time to another, as the chart has it.
func (t *chart) stay(from, to int64, nodes []share) stay {
	if t.up {
		to += t.step - 1
	}
	return stay{max(t.now, from-from%t.step), to - to%t.step, nodes}
}

// taken tells whether a place keeps one of some nodes within a time.
func (t *chart) taken(from, to int64, nodes []share) bool {
	want := t.stay(from, to, nodes)
	return slices.ContainsFunc(t.places, func(s stay) bool {
		return s.from < want.to && want.from < s.to && slices.ContainsFunc(nodes, func(n share) bool { return among(s.nodes, n.node) })
	})
}

// put gives a job a place.
func (t *chart) put(from, to int64, nodes []share) {
	s := t.stay(from, to, nodes)
	if s.from >= s.to {
		return
	}
	t.places = append(t.places, s)
	for _, at := range []int64{s.from, s.to} {
		if i, there := slices.BinarySearch(t.edges, at); !there {
			t.edges = slices.Insert(t.edges, i, at)
		}
	}
}
