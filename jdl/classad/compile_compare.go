package classad

// comparison compiles a comparison of a column with a constant.
func (c *compiler) comparison(op Op, x, y code, cost effort) (code, bool) {
	if x.fixed && y.col != nil {
		x, y, op = y, x, op.Mirrored()
	}
	if x.col == nil || !y.fixed {
		return code{}, false
	}
	k := y.known
	if op == OpIs || op == OpIsnt {
		return identity(op, x, k, cost), true
	}
	if op < OpLt || op > OpNe {
		return code{}, false
	}
	switch k.kind {
	case Int, Bool:
		return compareInt(op, x, k.asInt(), cost), true
	case String:
		return c.compareText(op, x, k, cost), true
	}
	return code{}, false
}

// compareInt compares a column with an integer; cells of other kinds are
// compared as values.
func compareInt(op Op, x code, k Value, cost effort) code {
	col, want := x.col, int64(k.num)
	return code{cost: cost, test: func(r int32) truth3 {
		switch col.kinds[r] {
		case Int, Bool:
			return truthOf(holds(op, order(int64(col.num[r]), want)))
		case Undefined:
			return isUndefined
		}
		return apply(op, x.eval(r), k).truth3()
	}}
}

// holds is the answer of a comparison to a three-way comparison.
func holds(op Op, c int) bool {
	switch op {
	case OpLt:
		return c < 0
	case OpLe:
		return c <= 0
	case OpGt:
		return c > 0
	case OpGe:
		return c >= 0
	case OpEq:
		return c == 0
	}
	return c != 0
}

// compareText compares a column with a text, without case: equality by the
// number of the text, order by the texts.
func (c *compiler) compareText(op Op, x code, k Value, cost effort) code {
	col := x.col
	_, want := c.p.table.id(k.str)
	onText := func(r int32) truth3 { return truthOf(holds(op, compareFold(col.str[r], k.str))) }
	switch {
	case op == OpEq:
		onText = func(r int32) truth3 { return truthOf(col.fold[r] == want) }
	case op == OpNe:
		onText = func(r int32) truth3 { return truthOf(col.fold[r] != want) }
	case 2*col.distinct < len(col.kinds):
		onText = kept(col, onText)
	}
	return code{cost: cost, test: func(r int32) truth3 {
		switch col.kinds[r] {
		case String:
			return onText(r)
		case Undefined:
			return isUndefined
		}
		return apply(op, x.eval(r), k).truth3()
	}}
}

// identity is =?= and =!= with a constant.
func identity(op Op, x code, k Value, cost effort) code {
	col := x.col
	return code{cost: cost, test: func(r int32) truth3 {
		kind := col.kinds[r]
		if kind != k.kind && kind != dynamic {
			return truthOf(op == OpIsnt)
		}
		return identical(op, x.eval(r), k).truth3()
	}}
}
