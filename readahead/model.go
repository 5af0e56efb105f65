package readahead

import "container/heap"

// Result is the outcome of a simulated run.
type Result struct {
	Time float64 // when the slowest branch ended
	Counts
}

// Model runs a simulated program once. The same params and seed give the same result.
func Model(p Params, seed uint64) (Result, error) {
	if err := p.Check(); err != nil {
		return Result{}, err
	}
	m := newModel(&p, seed)
	for m.queue.Len() > 0 {
		b := m.queue[0]
		if b.step(m); b.done {
			heap.Pop(&m.queue)
		} else {
			heap.Fix(&m.queue, 0)
		}
	}
	return m.result, nil
}

// level is one cache of the model: a table and when the data of its cells comes.
type level struct {
	table   *Table
	ready   []float64 // as many as there were cells in use
	benefit *Benefit  // nil: look-ahead is always on
}

func newLevel(cells int, b *Benefit) *level {
	return &level{table: newTable(cells), benefit: b}
}

func (l *level) insert(p Portion, ready float64, ahead bool) {
	s, _, _, ok := l.table.Insert(p)
	if !ok {
		return
	}
	if int(s) == len(l.ready) {
		l.ready = append(l.ready, 0)
	}
	l.ready[s] = ready
	if ahead {
		l.table.MarkAhead(s)
	}
}

// ahead says whether the level looks ahead now.
func (l *level) ahead() bool { return l.benefit == nil || l.benefit.On() }

// touch counts a use of a held portion that is wanted at a time, and returns when it is there.
func (l *level) touch(s Slot, at float64) float64 {
	l.table.Use(s)
	ready := max(at, l.ready[s])
	if fresh := l.table.TakeAhead(s); l.benefit != nil {
		l.benefit.Read(ready-at, fresh)
	}
	return ready
}

// missed counts a read that had to fetch.
func (l *level) missed(took float64) {
	if l.benefit != nil {
		l.benefit.Fetched(took)
		l.benefit.Read(took, true)
	}
}

type model struct {
	*Params
	system   *level
	linkFree float64 // when the wide network can take the next transfer
	queue    branchQueue
	result   Result
}

// newModel builds the system. Whether to look ahead is measured once for the
// system's cache and once for all of its nodes: what one of them gains by
// filling the link the others may lose.
func newModel(p *Params, seed uint64) *model {
	var system, nodes *Benefit
	if p.TurnOff {
		system, nodes = newBenefit(0), newBenefit(0)
	}
	m := &model{Params: p, system: newLevel(p.SystemCells, system)}
	for i := range p.Branches {
		b := &branch{number: i, program: newProgram(p, seed, i), node: newLevel(p.NodeCells, nodes)}
		m.queue = append(m.queue, b)
	}
	return m
}

// wide returns when blocks asked for at a time have come over the wide network.
func (m *model) wide(at float64, blocks int64) float64 {
	m.result.WideRequests++
	m.result.WideBlocks += blocks
	transfer := float64(blocks) * m.WideBlock
	switch m.Link {
	case Serial:
		at = max(at, m.linkFree)
		m.linkFree = at + transfer
	case Blocking:
		at = max(at, m.linkFree)
		m.linkFree = at + transfer + m.Wide
	}
	return at + m.Wide + transfer
}

// fromSystem returns when a portion of a remote file is in the system's cache
// if a node asks for it at a time.
func (m *model) fromSystem(p Portion, at float64) float64 {
	l := m.system
	var ready float64
	switch s := l.table.Find(p); {
	case s == None:
		m.result.SystemMiss++
		ready = m.fetchWide(p, at, false)
		l.missed(ready - at)
	case l.ready[s] > at:
		m.result.SystemLate++
		ready = l.touch(s, at)
	default:
		m.result.SystemHit++
		ready = l.touch(s, at)
	}
	for i := range m.SystemAhead {
		next := Portion{File: p.File, Index: p.Index + i + 1}
		if l.ahead() && m.within(next) && l.table.Find(next) == None {
			m.result.Prefetched++
			m.fetchWide(next, at, true)
		}
	}
	return ready
}

func (m *model) fetchWide(p Portion, at float64, ahead bool) float64 {
	ready := m.wide(at, m.Portion)
	m.system.insert(p, ready, ahead)
	return ready
}

// within says whether a portion lies within its file.
func (m *model) within(p Portion) bool { return p.Index*m.Portion < m.Blocks }

// remote says whether a file lies outside the system.
func (m *model) remote(file int) bool { return file%(m.Remote+m.Local) < m.Remote }
