package readahead

// branch is one branch of the simulated program, on a node of its own.
type branch struct {
	number  int
	program *program
	node    *level
	clock   float64
	ops     int   // reads done
	left    int64 // blocks of the present read still to come
	at      operation
	ahead   bool // the look-ahead of the last block is still to be issued
	done    bool
}

// branchQueue orders branches by their clocks, then by number.
type branchQueue []*branch

func (q branchQueue) Len() int { return len(q) }
func (q branchQueue) Less(i, j int) bool {
	return q[i].clock < q[j].clock || q[i].clock == q[j].clock && q[i].number < q[j].number
}
func (q branchQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push adds a branch.
func (q *branchQueue) Push(x any) { *q = append(*q, x.(*branch)) }

// Pop removes the last branch.
func (q *branchQueue) Pop() any {
	old := *q
	b := old[len(old)-1]
	*q = old[:len(old)-1]
	return b
}

// step reads the next block, and moves the branch's clock to where it is done.
func (b *branch) step(m *model) {
	if b.ahead {
		b.ahead = false
		b.lookAhead(m, b.portion(m, b.at.block-1), b.clock)
		if b.left == 0 {
			b.endRead(m)
			return
		}
	}
	if b.left == 0 {
		b.at, b.left = b.program.next(), m.PerRead
	}
	if m.Cache {
		b.read(m, b.portion(m, b.at.block))
	} else {
		b.direct(m)
	}
	b.at.block++
	b.left--
	b.ahead = m.Cache && m.When == AtEnd
	if b.left == 0 && !b.ahead {
		b.endRead(m)
	}
}

func (b *branch) endRead(m *model) {
	b.clock += m.Think
	b.ops++
	b.done = b.ops == m.Ops
	m.result.Time = max(m.result.Time, b.clock)
}

// portion names the portion of a block. Every branch reads a part of its own of each file.
func (b *branch) portion(m *model, block int64) Portion {
	return Portion{File: b.number*(m.Remote+m.Local) + b.at.file, Index: block / m.Portion}
}

// direct fetches one block without a cache.
func (b *branch) direct(m *model) {
	if m.remote(b.at.file) {
		b.clock = m.wide(b.clock, 1) + m.LanBlock
	} else {
		b.clock += m.Disk + m.LanBlock
	}
}

// read reads a block through the node's cache.
func (b *branch) read(m *model, p Portion) {
	at := b.clock + m.Look
	switch s := b.node.table.Find(p); {
	case s == None:
		m.result.NodeMiss++
		b.clock = b.fetch(m, p, at, false) + m.Cell
		b.node.missed(b.clock - at)
	case b.node.ready[s] > at:
		m.result.NodeLate++
		b.clock = b.node.touch(s, at) + m.Cell
	default:
		m.result.NodeHit++
		b.clock = b.node.touch(s, at) + m.Cell
	}
	if m.When == AtStart {
		b.lookAhead(m, p, at)
	}
}

func (b *branch) lookAhead(m *model, p Portion, at float64) {
	for i := range m.Ahead {
		next := Portion{File: p.File, Index: p.Index + i + 1}
		if b.node.ahead() && m.within(next) && b.node.table.Find(next) == None {
			m.result.Prefetched++
			b.fetch(m, next, at, true)
		}
	}
}

// fetch brings a portion into the node's cache and returns when it is there.
func (b *branch) fetch(m *model, p Portion, at float64, ahead bool) float64 {
	ready := at + m.Disk
	if m.remote(p.File) {
		ready = m.fromSystem(p, at)
	}
	ready += float64(m.Portion) * (m.LanBlock + m.Write)
	m.result.LanBlocks += m.Portion
	b.node.insert(p, ready, ahead)
	return ready
}
