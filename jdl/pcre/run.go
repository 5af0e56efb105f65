package pcre

import "errors"

// Bounds of one search, and of its memory in bits.
const (
	maxSteps   = 5_000_000
	maxVisited = 1 << 27
)

// free is what a search may take without being counted: far more than a
// pattern needs that does not go back again and again.
func free(s string) int { return 1000 + 32*len(s) }

// ErrSteps is the error of a search that takes too many steps.
var ErrSteps = errors.New("the regular expression goes back too often: too many steps")

// reMachine runs a program with backtracking. Where there are no references
// to groups, a place that was tried in vain is not tried again, so that the
// time is bounded by pattern times text. Inside loops whose rounds may be empty
// it is the same place only if the same rounds have moved.
type reMachine struct {
	prog    *reProgram
	s       string
	slots   []int
	visited []uint64 // one bit for each instruction and place; nil: not kept
	stack   []reJob
	steps   *int
}

// reJob is what is left to try: go on at pc and at, or with pc negative set
// slot -pc-1 back to at.
type reJob struct{ pc, at int }

func newMachine(p *reProgram, s string, slots []int, steps *int) *reMachine {
	m := &reMachine{prog: p, s: s, slots: slots, steps: steps}
	if n := p.states * (len(s) + 1); !p.refs && n <= maxVisited {
		m.visited = make([]uint64, n/64+1)
		*steps -= n / 64
	}
	return m
}

// search returns the slots of the first match at from or after it, nil for
// none. What it takes beyond the free steps is taken from allowance.
func (p *reProgram) search(s string, from int, allowance *int) ([]int, error) {
	allowed := min(maxSteps, free(s)+max(0, *allowance))
	steps := allowed
	slots := p.searchWithin(s, from, &steps)
	*allowance -= max(0, allowed-steps-free(s))
	if slots == nil && steps < 0 {
		return nil, ErrSteps
	}
	return slots, nil
}

func (p *reProgram) searchWithin(s string, from int, steps *int) []int {
	m := newMachine(p, s, make([]int, p.slots), steps)
	for at := from; at <= len(s) && *steps >= 0; at++ {
		if p.start && at > 0 {
			return nil
		}
		if p.first != nil && (at == len(s) || !p.first.has(s[at])) {
			continue
		}
		for i := range m.slots {
			m.slots[i] = -1
		}
		if _, ok := m.run(at); ok {
			return m.slots
		}
	}
	return nil
}

// run tries the program at one place and returns where the match ends.
func (m *reMachine) run(at int) (end int, ok bool) {
	m.stack = append(m.stack[:0], reJob{0, at})
	for len(m.stack) > 0 {
		j := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if j.pc < 0 {
			m.slots[-j.pc-1] = j.at
			continue
		}
		if end, ok := m.thread(j.pc, j.at); ok {
			return end, true
		}
	}
	return 0, false
}

// seen notes a place; it is true when it was there before.
func (m *reMachine) seen(pc, at int) bool {
	if m.visited == nil {
		return false
	}
	state := m.prog.place[pc]
	for i, reg := range m.prog.insts[pc].rounds {
		if m.slots[reg] == at {
			state += 1 << i
		}
	}
	n := state*(len(m.s)+1) + at
	bit := uint64(1) << (n & 63)
	if m.visited[n>>6]&bit != 0 {
		return true
	}
	m.visited[n>>6] |= bit
	return false
}

// set changes a slot, so that going back restores it.
func (m *reMachine) set(slot, at int) {
	m.stack = append(m.stack, reJob{-slot - 1, m.slots[slot]})
	m.slots[slot] = at
}

// thread follows one path until it matches or fails.
func (m *reMachine) thread(pc, at int) (end int, ok bool) {
	for {
		if *m.steps--; *m.steps < 0 || m.seen(pc, at) {
			return 0, false
		}
		in := &m.prog.insts[pc]
		pc++
		switch in.op {
		case opMatch:
			return at, true
		case opByte:
			if at == len(m.s) || m.s[at] != in.c {
				return 0, false
			}
			at++
		case opSet:
			if at == len(m.s) || !in.set.has(m.s[at]) {
				return 0, false
			}
			at++
		case opJump:
			pc = in.x
		case opSplit:
			m.stack = append(m.stack, reJob{in.y, at})
			pc = in.x
		case opSave, opMark:
			m.set(in.x, at)
		case opClose:
			m.set(in.x, m.slots[in.y])
			m.set(in.x+1, at)
		case opMoved:
			if m.slots[in.x] == at {
				pc = in.y
			}
		default:
			if at, ok = m.special(in, at); !ok {
				return 0, false
			}
		}
	}
}

// special runs the instructions that are rare.
func (m *reMachine) special(in *reInst, at int) (next int, ok bool) {
	switch in.op {
	case opAssert:
		return at, m.holds(in.kind, at)
	case opRef:
		return m.again(in, at)
	case opOnce:
		return m.nested(in.sub, at)
	}
	from := at
	if in.behind {
		from -= in.x
	}
	found := false
	if from >= 0 {
		s := m.s
		if in.behind {
			m.s = s[:at]
		}
		_, found = m.nested(in.sub, from)
		m.s = s
	}
	return at, found != in.neg
}

// nested runs a program of its own; what it captured stays on success.
func (m *reMachine) nested(p *reProgram, at int) (end int, ok bool) {
	sub := newMachine(p, m.s, append([]int(nil), m.slots...), m.steps)
	end, ok = sub.run(at)
	if !ok {
		return 0, false
	}
	for i, v := range sub.slots {
		if m.slots[i] != v {
			m.set(i, v)
		}
	}
	return end, true
}

// again matches what a group matched; a group that took no part fails.
func (m *reMachine) again(in *reInst, at int) (next int, ok bool) {
	from, to := m.slots[in.x], m.slots[in.x+1]
	if from < 0 || to < from || at+to-from > len(m.s) {
		return 0, false
	}
	want, have := m.s[from:to], m.s[at:at+to-from]
	*m.steps -= len(want)
	if want == have || in.neg && equalFold(want, have) {
		return at + len(want), true
	}
	return 0, false
}

// holds tests an anchor.
func (m *reMachine) holds(kind reKind, at int) bool {
	n := len(m.s)
	switch kind {
	case reBegin:
		return at == 0
	case reEnd:
		return at == n
	case reEndLine:
		return at == n || at == n-1 && m.s[at] == '\n'
	case reLineBeg:
		return at == 0 || m.s[at-1] == '\n' && at < n
	case reLineEnd:
		return at == n || m.s[at] == '\n'
	}
	word := at > 0 && isWord(m.s[at-1]) != (at < n && isWord(m.s[at])) || at == 0 && n > 0 && isWord(m.s[0])
	return word == (kind == reWord)
}

func isWord(c byte) bool { return isLetter(c) || isDigit(c) }
