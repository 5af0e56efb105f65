package pcre

import (
	"errors"
	"slices"
)

// reProgram is a compiled regular expression: instructions that are run with
// backtracking.
type reProgram struct {
	insts  []reInst
	slots  int  // of a match: two for the whole and for each group
	refs   bool // there are references to groups
	first  *byteSet
	start  bool  // matches only at the beginning of the text
	place  []int // of each instruction's bits in the memory of a search
	states int   // bits of one place of the text in that memory
}

type reOp uint8

const (
	opMatch reOp = iota
	opByte
	opSet
	opJump   // to x
	opSplit  // to x, or else to y
	opSave   // the place, in slot x
	opAssert // the anchor kind
	opLook   // sub must match here (or not, neg); width before here if behind
	opOnce   // sub must match here; its first match only
	opRef    // what group x matched; neg: without case
	opMark   // remember the place in register x
	opClose  // a group ends: slots x and x+1 are the place in register y, and here
	opMoved  // to y if the place is that in register x: an empty round
)

type reInst struct {
	op     reOp
	c      byte
	kind   reKind
	neg    bool
	behind bool
	x, y   int
	set    *byteSet
	sub    *reProgram
	rounds []int // registers of the rounds this instruction is part of
}

// maxProgram bounds the instructions of a pattern.
const maxProgram = 50000

type reCompiler struct {
	prog *reProgram
	size *int // instructions of the whole pattern
	regs *int // registers of the whole pattern
	base int  // first register, after the slots

	rounds []int // registers of the loops being compiled whose rounds may be empty
}

func compileProgram(n *reNode, p *reParser) (*reProgram, error) {
	size, regs := 0, 0
	slots := 2 * (p.groups + 1)
	prog := &reProgram{slots: slots, refs: p.maxRef > 0 || len(p.names) > 0}
	c := reCompiler{prog: prog, size: &size, regs: &regs, base: slots}
	c.emit(reInst{op: opSave, x: 0})
	c.node(n)
	c.emit(reInst{op: opSave, x: 1})
	c.emit(reInst{op: opMatch})
	if size > maxProgram {
		return nil, errors.New("the pattern is too large")
	}
	prog.slots += regs
	prog.layOut()
	prog.start = startsAtBegin(n)
	prog.first = firstBytes(n)
	return prog, nil
}

func (c *reCompiler) emit(i reInst) int {
	*c.size++
	i.rounds = c.rounds
	c.prog.insts = append(c.prog.insts, i)
	return len(c.prog.insts) - 1
}

func (c *reCompiler) here() int { return len(c.prog.insts) }

// register is a new one.
func (c *reCompiler) register() int {
	*c.regs++
	return c.base + *c.regs - 1
}

// sub compiles a node to a program of its own.
func (c *reCompiler) sub(n *reNode) *reProgram {
	s := reCompiler{prog: &reProgram{refs: c.prog.refs}, size: c.size, regs: c.regs, base: c.base}
	s.node(n)
	s.emit(reInst{op: opMatch})
	s.prog.layOut()
	return s.prog
}

// layOut places each instruction in the memory of a search: one bit, and where
// it is part of rounds that may be empty, one for each way in which some of
// them can have moved.
func (p *reProgram) layOut() {
	p.place = make([]int, len(p.insts))
	for i, in := range p.insts {
		p.place[i] = p.states
		if len(in.rounds) > maxRounds {
			p.refs = true // nothing is remembered
			return
		}
		p.states += 1 << len(in.rounds)
	}
}

// maxRounds bounds how deep loops with empty rounds are remembered.
const maxRounds = 6

func (c *reCompiler) node(n *reNode) {
	if *c.size > maxProgram {
		return
	}
	switch n.kind {
	case reByte:
		c.emit(reInst{op: opByte, c: n.c})
	case reSet:
		c.emit(reInst{op: opSet, set: n.set})
	case reSeq:
		for _, s := range n.subs {
			c.node(s)
		}
	case reAlt:
		c.alternatives(n.subs)
	case reRepeat:
		c.repeat(n)
	case reGroup:
		open := c.register()
		c.emit(reInst{op: opMark, x: open})
		c.node(n.subs[0])
		c.emit(reInst{op: opClose, x: 2 * n.n, y: open})
	case reAtomic:
		c.emit(reInst{op: opOnce, sub: c.sub(n.subs[0])})
	case reLook:
		c.look(n)
	case reBackref:
		c.emit(reInst{op: opRef, x: 2 * n.n, neg: n.neg})
	case reEmpty:
	default:
		c.emit(reInst{op: opAssert, kind: n.kind})
	}
}

func (c *reCompiler) alternatives(subs []*reNode) {
	var ends []int
	for i, s := range subs {
		if i == len(subs)-1 {
			c.node(s)
			break
		}
		split := c.emit(reInst{op: opSplit})
		c.prog.insts[split].x = c.here()
		c.node(s)
		ends = append(ends, c.emit(reInst{op: opJump}))
		c.prog.insts[split].y = c.here()
	}
	for _, e := range ends {
		c.prog.insts[e].x = c.here()
	}
}

// look compiles an assertion about what follows or comes before. The
// alternatives of one that looks back may differ in length.
func (c *reCompiler) look(n *reNode) {
	if !n.behind {
		c.emit(reInst{op: opLook, neg: n.neg, sub: c.sub(n.subs[0])})
		return
	}
	alts := alternativesOf(n.subs[0])
	if len(alts) == 1 || n.neg { // not behind a and not behind b
		for _, a := range alts {
			w, _ := a.width()
			c.emit(reInst{op: opLook, behind: true, neg: n.neg, x: w, sub: c.sub(a)})
		}
		return
	}
	var one []*reNode
	for _, a := range alts {
		one = append(one, &reNode{kind: reLook, behind: true, subs: []*reNode{a}})
	}
	c.alternatives(one)
}

func (c *reCompiler) repeat(n *reNode) {
	if n.mode == '+' { // possessive
		greedy := *n
		greedy.mode = 0
		c.node(&reNode{kind: reAtomic, subs: []*reNode{&greedy}})
		return
	}
	if n.max < 0 {
		for range n.min - 1 {
			c.node(n.subs[0])
		}
		c.loop(n)
		return
	}
	for range n.min {
		c.node(n.subs[0])
	}
	var splits []int
	for range n.max - n.min {
		splits = append(splits, c.emit(reInst{op: opSplit}))
		c.branch(splits[len(splits)-1], n.mode, c.here(), 0)
		c.node(n.subs[0])
	}
	for _, s := range splits {
		c.exit(s, n.mode, c.here())
	}
}

// loop compiles x*, or x+ where at least one is wanted; a round that matched
// nothing ends it.
func (c *reCompiler) loop(n *reNode) {
	skip := -1
	if n.min == 0 {
		skip = c.emit(reInst{op: opSplit})
		c.branch(skip, n.mode, c.here(), 0)
	}
	top, moved := c.here(), -1
	if mayBeEmpty(n.subs[0]) {
		moved = c.round(n.subs[0])
	} else {
		c.node(n.subs[0])
	}
	again := c.emit(reInst{op: opSplit})
	c.branch(again, n.mode, top, 0)
	c.exit(again, n.mode, c.here())
	if skip >= 0 {
		c.exit(skip, n.mode, c.here())
	}
	if moved >= 0 {
		c.prog.insts[moved].y = c.here()
	}
}

// round compiles a round that may be empty and returns the instruction that
// leaves the loop then.
func (c *reCompiler) round(n *reNode) (moved int) {
	reg := c.register()
	c.emit(reInst{op: opMark, x: reg})
	outer := c.rounds
	c.rounds = append(slices.Clip(outer), reg)
	c.node(n)
	moved = c.emit(reInst{op: opMoved, x: reg})
	c.rounds = outer
	return moved
}

// mayBeEmpty reports whether a node can match empty text, as far as its shape
// tells.
func mayBeEmpty(n *reNode) bool {
	switch n.kind {
	case reByte, reSet:
		return false
	case reGroup, reAtomic:
		return mayBeEmpty(n.subs[0])
	case reRepeat:
		return n.min == 0 || mayBeEmpty(n.subs[0])
	case reSeq:
		return !slices.ContainsFunc(n.subs, func(s *reNode) bool { return !mayBeEmpty(s) })
	case reAlt:
		return slices.ContainsFunc(n.subs, mayBeEmpty)
	}
	return true
}

// branch sets where a split enters its body, exit where it goes past it; a
// lazy split prefers to go past.
func (c *reCompiler) branch(i int, mode byte, body, past int) {
	if mode == '?' {
		c.prog.insts[i].x, c.prog.insts[i].y = past, body
		return
	}
	c.prog.insts[i].x, c.prog.insts[i].y = body, past
}

func (c *reCompiler) exit(i int, mode byte, past int) {
	if mode == '?' {
		c.prog.insts[i].x = past
		return
	}
	c.prog.insts[i].y = past
}

// startsAtBegin reports whether a match can only be at the beginning.
func startsAtBegin(n *reNode) bool {
	switch n.kind {
	case reBegin:
		return true
	case reSeq:
		return len(n.subs) > 0 && startsAtBegin(n.subs[0])
	case reGroup, reAtomic:
		return startsAtBegin(n.subs[0])
	case reAlt:
		for _, s := range n.subs {
			if !startsAtBegin(s) {
				return false
			}
		}
		return true
	}
	return false
}

// firstBytes is the set of bytes a match can start with, nil if it may be
// empty or is not known.
func firstBytes(n *reNode) *byteSet {
	switch n.kind {
	case reByte:
		var s byteSet
		s.add(n.c)
		return &s
	case reSet:
		return n.set
	case reSeq:
		if len(n.subs) > 0 {
			return firstBytes(n.subs[0])
		}
	case reGroup, reAtomic:
		return firstBytes(n.subs[0])
	case reRepeat:
		if n.min > 0 {
			return firstBytes(n.subs[0])
		}
	case reAlt:
		var all byteSet
		for _, s := range n.subs {
			f := firstBytes(s)
			if f == nil {
				return nil
			}
			all.union(f)
		}
		return &all
	}
	return nil
}
