package classad

import "slices"

// compiler turns nodes that stand in the job's record into code.
type compiler struct {
	p     *Program
	inner []active // attributes of the job being inlined
	over  bool     // the program is beyond the bounds
	nodes int
	depth int
}

func (c *compiler) expr(e Expr) code {
	c.nodes++
	if c.depth++; c.depth > maxDepth/10 || c.nodes > maxNodes {
		c.over = true
		return fixedCode(ErrorValue(), one)
	}
	defer func() { c.depth-- }()
	switch e := e.(type) {
	case *Literal:
		return fixedCode(e.Value, one)
	case *AttrRef:
		if !e.Absolute {
			return c.name(e, e.Name)
		}
	case *Select:
		return c.selectName(e)
	case *Unary:
		return c.unary(e)
	case *Binary:
		return c.binary(e)
	case *Cond:
		return c.cond(e.If, e.Then, e.Else)
	case *Call:
		return call(c, e)
	case *ListExpr:
		return c.list(e)
	}
	return c.fallback(e)
}

// fallback leaves a node to the reference evaluator.
func (c *compiler) fallback(e Expr) code {
	p, inner := c.p, slices.Clone(c.inner)
	return code{cost: effort{}.more(50), value: func(r int32) Value {
		p.ev.active = append(p.ev.active[:0], inner...)
		v := p.ev.eval(e, matchScope(p.self, p.table.rows[r]))
		p.ev.active = p.ev.active[:0]
		return v
	}}
}

// name compiles a bare name: an attribute of the job, inlined, or nothing.
func (c *compiler) name(e Expr, name string) code {
	key := Fold(name)
	if i := c.p.self.find(key); i >= 0 {
		return c.attribute(i)
	}
	switch key {
	case "self", "parent", "root", "toplevel", "other", "target", "my", "ad":
		return c.fallback(e)
	}
	return fixedCode(UndefinedValue(), one)
}

// attribute compiles attribute i of the job where it is used. Inside itself
// it is UNDEFINED.
func (c *compiler) attribute(i int) code {
	this := active{c.p.self, i}
	if slices.Contains(c.inner, this) {
		return fixedCode(UndefinedValue(), one)
	}
	if len(c.inner) == maxInner {
		c.over = true
		return fixedCode(ErrorValue(), one)
	}
	c.inner = append(c.inner, this)
	k := c.expr(c.p.self.exprAt(i))
	c.inner = c.inner[:len(c.inner)-1]
	k.cost = k.cost.add(one)
	return k
}

// selectName compiles other.x to a column and my.x to an attribute.
func (c *compiler) selectName(e *Select) code {
	if c.ofColumn(e) {
		return c.column(e)
	}
	ref, ok := e.X.(*AttrRef)
	if !ok || ref.Absolute || c.p.self.find(Fold(ref.Name)) >= 0 {
		return c.fallback(e)
	}
	switch Fold(ref.Name) {
	case "my", "self":
		if c.p.self.find(Fold(e.Name)) >= 0 {
			return c.name(e, e.Name)
		}
	}
	return c.fallback(e)
}

// ofColumn recognises other.x.
func (c *compiler) ofColumn(e *Select) bool {
	ref, ok := e.X.(*AttrRef)
	if !ok || ref.Absolute || !EqualFold(ref.Name, "other") && !EqualFold(ref.Name, "target") || c.p.self.find(Fold(ref.Name)) >= 0 {
		return false
	}
	switch Fold(e.Name) {
	case "self", "parent", "root", "toplevel", "other", "target", "my", "ad":
		return false
	}
	return true
}

func (c *compiler) column(e *Select) code {
	col, p := c.p.table.column(e.Name), c.p
	inner := slices.Clone(c.inner)
	return code{cost: effort{3, 3 + col.longest}, col: col, value: func(r int32) Value {
		if v, ok := col.value(int(r)); ok {
			return v
		}
		p.ev.active = append(p.ev.active[:0], inner...)
		v := p.ev.eval(e, matchScope(p.self, p.table.rows[r]))
		p.ev.active = p.ev.active[:0]
		return v
	}}
}

func (c *compiler) unary(e *Unary) code {
	x, op := c.expr(e.X), e.Op
	cost := sumCost(x.cost)
	switch {
	case x.fixed:
		return fixedCode(unary(op, x.known), cost)
	case op == OpMinus && x.int() != nil:
		return negative(x, cost)
	case op == OpNot:
		return code{cost: cost, test: func(r int32) truth3 { return not(x.truth(r)) }}
	}
	return code{cost: cost, value: func(r int32) Value { return unary(op, x.eval(r)) }}
}

func not(t truth3) truth3 {
	switch t {
	case isTrue:
		return isFalse
	case isFalse:
		return isTrue
	}
	return t
}

func (c *compiler) binary(e *Binary) code {
	if e.Op == OpAnd || e.Op == OpOr {
		return c.logic(e)
	}
	x, y, op := c.expr(e.X), c.expr(e.Y), e.Op
	cost := sumCost(x.cost, y.cost)
	if op == OpDefault {
		if x.fixed {
			return c.chosen(x.known.kind != Undefined, x, y, cost)
		}
		return code{cost: cost, value: func(r int32) Value {
			if v := x.eval(r); v.kind != Undefined {
				return v
			}
			return y.eval(r)
		}}
	}
	if x.fixed && y.fixed {
		return fixedCode(apply(op, x.known, y.known), cost)
	}
	if k, ok := c.comparison(op, x, y, cost); ok {
		return k
	}
	if k, ok := intCode(op, x, y, cost); ok {
		return k
	}
	return code{cost: cost, value: func(r int32) Value { return apply(op, x.eval(r), y.eval(r)) }}
}

// chosen is the branch that a fixed condition takes.
func (c *compiler) chosen(first bool, x, y code, cost effort) code {
	k := y
	if first {
		k = x
	}
	k.cost = cost
	return k
}

func (c *compiler) cond(e, then, els Expr) code {
	i, t, f := c.expr(e), c.expr(then), c.expr(els)
	cost := sumCost(i.cost, t.cost, f.cost)
	if i.fixed {
		switch i.known.truth3() {
		case isUndefined, isError:
			return fixedCode(i.known.truth3().value(), cost)
		}
		return c.chosen(i.known.truth3() == isTrue, t, f, cost)
	}
	return code{cost: cost, value: func(r int32) Value {
		switch b := i.truth(r); b {
		case isTrue:
			return t.eval(r)
		case isFalse:
			return f.eval(r)
		default:
			return b.value()
		}
	}}
}

func (c *compiler) list(e *ListExpr) code {
	vs, cost := make([]Value, len(e.Elems)), one
	for i, x := range e.Elems {
		k := c.expr(x)
		if !k.fixed {
			return c.fallback(e)
		}
		vs[i] = k.known
		cost = cost.add(k.cost)
	}
	return fixedCode(ListValue(vs), cost)
}
