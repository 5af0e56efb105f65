package classad

// truth reads a boolean, or a number as one.
func (v Value) truth() (b, ok bool) {
	switch v.kind {
	case Bool, Int:
		return v.num != 0, true
	case Real:
		return v.float() != 0, true
	}
	return false, false
}

// decides reports whether the left operand of && or || settles the result:
// false or ERROR for &&, true or ERROR for ||.
func (v Value) decides(op Op) bool {
	b, ok := v.truth()
	if !ok {
		return v.kind != Undefined
	}
	return b == (op == OpOr)
}

// logic is && and || once both operands are known. Not symmetric: what the
// left one decides the right one cannot change, so error && false is ERROR
// and false && error is false.
func logic(op Op, x, y Value) Value {
	ends := op == OpOr // the operand value that ends the matter
	a, aok := x.truth()
	switch {
	case !aok && x.kind != Undefined:
		return ErrorValue()
	case aok && a == ends:
		return BoolValue(ends)
	}
	b, bok := y.truth()
	switch {
	case !bok && y.kind != Undefined:
		return ErrorValue()
	case bok && b == ends:
		return BoolValue(ends)
	case !aok || !bok:
		return UndefinedValue()
	}
	return BoolValue(!ends)
}

// compare is < <= == != >= > on operands that are neither UNDEFINED nor
// ERROR. Operands of different kinds are an ERROR; strings ignore case.
func compare(op Op, x, y Value) Value {
	if x.kind == String && y.kind == String {
		return ordered(op, compareFold(x.str, y.str))
	}
	if (x.kind == AbsTime || x.kind == RelTime) && x.kind == y.kind {
		return compareFloat(op, x.float(), y.float())
	}
	x, y = x.asInt(), y.asInt()
	if x.kind == Int && y.kind == Int {
		return ordered(op, order(int64(x.num), int64(y.num)))
	}
	a, aok := x.Number()
	b, bok := y.Number()
	if !aok || !bok {
		return ErrorValue()
	}
	return compareFloat(op, a, b)
}

func order(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// ordered turns a three-way comparison into the operator's answer.
func ordered(op Op, c int) Value {
	switch op {
	case OpLt:
		return BoolValue(c < 0)
	case OpLe:
		return BoolValue(c <= 0)
	case OpGt:
		return BoolValue(c > 0)
	case OpGe:
		return BoolValue(c >= 0)
	case OpEq:
		return BoolValue(c == 0)
	}
	return BoolValue(c != 0)
}

// compareFloat follows IEEE 754 where a NaN is met.
func compareFloat(op Op, a, b float64) Value {
	switch op {
	case OpLt:
		return BoolValue(a < b)
	case OpLe:
		return BoolValue(a <= b)
	case OpGt:
		return BoolValue(a > b)
	case OpGe:
		return BoolValue(a >= b)
	case OpEq:
		return BoolValue(a == b)
	}
	return BoolValue(a != b)
}

// identical is =?= and =!=: same kind and same value, case-sensitive.
func identical(op Op, x, y Value) Value {
	if x.kind == y.kind && (x.kind == List || x.kind == Record) {
		return ErrorValue()
	}
	return BoolValue(x.same(y) == (op == OpIs))
}

func (v Value) same(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case String:
		return v.str == w.str
	case Real, RelTime:
		return v.float() == w.float()
	case AbsTime:
		return v.float() == w.float() && v.zone == w.zone
	case Bool, Int:
		return v.num == w.num
	}
	return v.kind == Undefined || v.kind == Error
}
