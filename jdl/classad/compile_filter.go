package classad

// filter compiles the commonest conjuncts to a loop over rows; nil for others.
// A loop needs no evaluator, so it must not meet a dynamic cell.
func (c *compiler) filter(e Expr, k code) filter {
	if k.scan {
		return func(rows []int32) []int32 {
			return keep(rows, func(r int32) bool { return k.test(r) == isTrue })
		}
	}
	switch e := e.(type) {
	case *Binary:
		x, y, op := c.expr(e.X), c.expr(e.Y), e.Op
		if x.fixed && y.col != nil {
			x, y, op = y, x, op.Mirrored()
		}
		if x.col == nil || !y.fixed || op < OpLt || op > OpNe || x.col.evaluate {
			return nil
		}
		switch y.known.kind {
		case Int, Bool:
			return intFilter(x.col, op, int64(y.known.num))
		case String:
			_, want := c.p.table.id(y.known.str)
			return textFilter(x.col, op, want)
		}
	case *Call:
		return c.callFilter(e, k)
	}
	return nil
}

// callFilter is member("text", column) and regexp("pattern", column).
func (c *compiler) callFilter(e *Call, k code) filter {
	if e.fn == nil || len(e.Args) != 2 || k.test == nil || e.fn.name != "member" && e.fn.name != "regexp" {
		return nil
	}
	x, y := c.expr(e.Args[0]), c.expr(e.Args[1])
	if y.col == nil || y.col.evaluate || !x.fixed || x.known.kind != String {
		return nil
	}
	if e.fn.name == "regexp" {
		return func(rows []int32) []int32 {
			return keep(rows, func(r int32) bool { return k.test(r) == isTrue })
		}
	}
	_, want := c.p.table.id(x.known.str)
	return memberFilter(y.col, want)
}

func memberFilter(col *column, want uint32) filter {
	if want == 0 || col.lists == nil {
		return func([]int32) []int32 { return nil }
	}
	return func(rows []int32) []int32 {
		out := rows[:0]
		for _, r := range rows {
			for _, id := range col.elems[col.lists[r].from:col.lists[r].to] {
				if id == want {
					out = append(out, r)
					break
				}
			}
		}
		return out
	}
}

// intFilter compares with an integer. It is nil for a column that has reals:
// they compare as reals.
func intFilter(col *column, op Op, want int64) filter {
	if col.reals {
		return nil
	}
	if col.num == nil {
		return func([]int32) []int32 { return nil }
	}
	lo, hi, inside := interval64(op, want)
	return func(rows []int32) []int32 {
		n := 0
		for _, r := range rows {
			v := int64(col.num[r])
			rows[n] = r
			if k := col.kinds[r]; (v >= lo && v <= hi) == inside && (k == Int || k == Bool) {
				n++
			}
		}
		return rows[:n]
	}
}

// interval64 expresses a comparison with an integer as being inside or
// outside of lo..hi.
func interval64(op Op, want int64) (lo, hi int64, inside bool) {
	const least, most = -1 << 63, 1<<63 - 1
	switch op {
	case OpLt:
		return want, most, false
	case OpLe:
		return least, want, true
	case OpGt:
		return least, want, false
	case OpGe:
		return want, most, true
	case OpEq:
		return want, want, true
	}
	return want, want, false
}

// textFilter tests for equality with a text without case; nil for an order.
func textFilter(col *column, op Op, want uint32) filter {
	if op != OpEq && op != OpNe {
		return nil
	}
	if col.fold == nil || op == OpEq && want == 0 {
		return func([]int32) []int32 { return nil }
	}
	equal := op == OpEq
	return func(rows []int32) []int32 {
		n := 0
		for _, r := range rows {
			rows[n] = r
			if (col.fold[r] == want) == equal && col.kinds[r] == String {
				n++
			}
		}
		return rows[:n]
	}
}
