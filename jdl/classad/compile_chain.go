package classad

import "math"

// Long chains of || or && are what lists of sites look like. A chain is
// compiled to one loop over its operands, and a run of comparisons of one
// column with constants, x == "a" || x == "b" or x != "a" && x != "b", to one
// look-up in a set.

// operands returns the operands of a chain of op at the top of an expression,
// in order: those of (a op b) op c, not those of a op (b op c).
func operands(op Op, e Expr) []Expr {
	n := 0
	for x := e; isChain(op, x); x = x.(*Binary).X {
		n++
	}
	all := make([]Expr, n+1)
	for ; n > 0; n-- {
		b := e.(*Binary)
		all[n], e = b.Y, b.X
	}
	all[0] = e
	return all
}

func isChain(op Op, e Expr) bool {
	b, ok := e.(*Binary)
	return ok && b.Op == op
}

// logic compiles a chain of && or ||.
func (c *compiler) logic(e *Binary) code {
	terms := c.terms(e.Op, operands(e.Op, e))
	if len(terms) == 1 {
		return terms[0]
	}
	total := effort{}
	fixed := true
	for _, k := range terms {
		total = sumCost(total, k.cost)
		fixed = fixed && k.fixed
	}
	if fixed {
		v := terms[0].known
		for _, k := range terms[1:] {
			v = logic(e.Op, v, k.known)
		}
		return fixedCode(v, total)
	}
	return chainCode(e.Op, terms, total)
}

// chainCode is a chain by the rule of logic: the next operand is looked at
// unless those before decide.
func chainCode(op Op, terms []code, total effort) code {
	ends := truthOf(op == OpOr)
	if len(terms) == 2 {
		x, y := terms[0], terms[1]
		return code{cost: total, test: func(r int32) truth3 {
			a := x.truth(r)
			if a == ends || a == isError {
				return a
			}
			return after(ends, a, y.truth(r))
		}}
	}
	return code{cost: total, test: func(r int32) truth3 {
		t := terms[0].truth(r)
		for i := 1; i < len(terms) && t != ends && t != isError; i++ {
			t = after(ends, t, terms[i].truth(r))
		}
		return t
	}}
}

// after joins an operand that did not decide with the next one.
func after(ends, t, next truth3) truth3 {
	if next == ends || next == isError || t == not(ends) {
		return next
	}
	return isUndefined
}

// terms compiles the operands of a chain, runs over one column to one.
func (c *compiler) terms(op Op, es []Expr) []code {
	var codes []code
	for i := 0; i < len(es); {
		if k, n := c.run(op, es[i:]); n > 1 {
			codes = append(codes, k)
			i += n
			continue
		}
		codes = append(codes, c.expr(es[i]))
		i++
	}
	return codes
}

// run compiles the comparisons that a chain starts with, as far as they are of
// one column with constants of one kind; n counts them, 0 if there are none.
func (c *compiler) run(op Op, es []Expr) (k code, n int) {
	want := OpEq
	if op == OpAnd {
		want = OpNe
	}
	col, first, ok := c.equality(want, es[0])
	if !ok {
		return code{}, 0
	}
	constants := []Value{first}
	for _, e := range es[1:] {
		name, v, ok := c.equality(want, e)
		if !ok || v.kind != first.kind || !EqualFold(name.Name, col.Name) {
			break
		}
		constants = append(constants, v)
	}
	if len(constants) < 2 {
		return code{}, 0
	}
	c.nodes += len(constants)
	return c.oneOf(c.column(col), constants, want == OpEq), len(constants)
}

// equality recognises other.x == constant, either way round.
func (c *compiler) equality(op Op, e Expr) (col *Select, v Value, ok bool) {
	b, isBinary := e.(*Binary)
	if !isBinary || b.Op != op {
		return nil, Value{}, false
	}
	x, y := b.X, b.Y
	l, isLiteral := y.(*Literal)
	if !isLiteral {
		l, isLiteral = x.(*Literal)
		x = y
	}
	s, isSelect := x.(*Select)
	if !isLiteral || !isSelect || !c.ofColumn(s) || l.Value.kind != String && l.Value.kind != Int {
		return nil, Value{}, false
	}
	return s, l.Value, true
}

// oneOf compiles a run of comparisons of x with constants of one kind: is it
// equal to one, or (if equal is false) different from all?
func (c *compiler) oneOf(x code, constants []Value, equal bool) code {
	total := x.cost
	for range constants {
		total = sumCost(total, x.cost, one, one)
	}
	total.work = x.cost.work + 2 // one look-up, however many there are
	in := c.textSet(x.col, constants)
	if constants[0].kind == Int {
		in = intSet(x.col, constants)
	}
	op := OpNe
	if equal {
		op = OpEq
	}
	found, missed := truthOf(equal), truthOf(!equal)
	kind := constants[0].kind
	test := func(r int32) truth3 {
		switch k := x.col.kinds[r]; {
		case k == kind || kind == Int && k == Bool:
			if in(r) {
				return found
			}
			return missed
		case k == Undefined:
			return isUndefined
		}
		return eachOf(op, x.eval(r), constants)
	}
	return code{cost: total, test: test, scan: !x.col.evaluate}
}

// eachOf compares one value with the constants, the slow way.
func eachOf(op Op, v Value, constants []Value) truth3 {
	ends := truthOf(op == OpEq)
	t := apply(op, v, constants[0]).truth3()
	for i := 1; i < len(constants) && t != ends && t != isError; i++ {
		t = after(ends, t, apply(op, v, constants[i]).truth3())
	}
	return t
}

// textSet looks a text cell up by the number of its lower case.
func (c *compiler) textSet(col *column, constants []Value) func(r int32) bool {
	var bits []uint64
	for _, v := range constants {
		_, id := c.p.table.id(v.str)
		if id == 0 {
			continue // in no cell of the table
		}
		if n := int(id/64) + 1; n > len(bits) {
			bits = append(bits, make([]uint64, n-len(bits))...)
		}
		bits[id/64] |= 1 << (id % 64)
	}
	return func(r int32) bool {
		id := col.fold[r]
		return int(id/64) < len(bits) && bits[id/64]>>(id%64)&1 != 0
	}
}

// intSet looks an integer cell up.
func intSet(col *column, constants []Value) func(r int32) bool {
	set := make(map[int64]bool, len(constants))
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range constants {
		n := int64(v.num)
		set[n], lo, hi = true, min(lo, n), max(hi, n)
	}
	return func(r int32) bool {
		n := int64(col.num[r])
		return n >= lo && n <= hi && set[n]
	}
}
