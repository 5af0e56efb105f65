package classad

import "math"

// strict is the rule of most operators: ERROR if an operand is ERROR, else
// UNDEFINED if one is UNDEFINED.
func strict(a, b Value) (v Value, bad bool) {
	if a.kind == Error || b.kind == Error {
		return ErrorValue(), true
	}
	return UndefinedValue(), a.kind == Undefined || b.kind == Undefined
}

func binary(ev *evaluator, e *Binary, s *scope) Value {
	if e.Op == OpAnd || e.Op == OpOr {
		return chain(ev, e, s)
	}
	x := ev.eval(e.X, s)
	if e.Op == OpDefault {
		if x.kind != Undefined {
			return x
		}
		return ev.eval(e.Y, s)
	}
	return apply(e.Op, x, ev.eval(e.Y, s))
}

// chain evaluates && and ||. The operands of (a || b) || c are taken in a loop,
// for such chains may be longer than the evaluator goes deep.
func chain(ev *evaluator, e *Binary, s *scope) Value {
	var few [16]Expr
	rest, x := few[:0], Expr(e)
	for isChain(e.Op, x) {
		b := x.(*Binary)
		rest, x = append(rest, b.Y), b.X
	}
	if !ev.spend(len(rest)-1, 0) {
		return ErrorValue()
	}
	v := ev.eval(x, s)
	for i := len(rest) - 1; i >= 0; i-- {
		if v.decides(e.Op) {
			return logic(e.Op, v, v)
		}
		v = logic(e.Op, v, ev.eval(rest[i], s))
	}
	return v
}

// apply is an operator that evaluates both its operands.
func apply(op Op, x, y Value) Value {
	switch op {
	case OpIs, OpIsnt:
		return identical(op, x, y)
	}
	if v, bad := strict(x, y); bad {
		return v
	}
	switch op {
	case OpLt, OpLe, OpGt, OpGe, OpEq, OpNe:
		return compare(op, x, y)
	case OpBitAnd, OpBitOr, OpBitXor, OpShl, OpShr, OpUshr:
		return bits(op, x, y)
	}
	return arithmetic(op, x, y)
}

// arithmetic is + - * / % on operands that are neither UNDEFINED nor ERROR.
func arithmetic(op Op, x, y Value) Value {
	if x.kind == AbsTime || y.kind == AbsTime || x.kind == RelTime || y.kind == RelTime {
		return timeArithmetic(op, x, y)
	}
	if x, y = x.asInt(), y.asInt(); x.kind == Int && y.kind == Int {
		return intArithmetic(op, int64(x.num), int64(y.num))
	}
	a, aok := x.Number()
	b, bok := y.Number()
	if !aok || !bok {
		return ErrorValue()
	}
	return realArithmetic(op, a, b)
}

// asInt makes an integer of a boolean.
func (v Value) asInt() Value {
	if v.kind == Bool {
		v.kind = Int
	}
	return v
}

func intArithmetic(op Op, a, b int64) Value {
	switch op {
	case OpAdd:
		return IntValue(a + b)
	case OpSub:
		return IntValue(a - b)
	case OpMul:
		return IntValue(a * b)
	}
	switch {
	case b == 0:
		return ErrorValue()
	case a == math.MinInt64 && b == -1 && op == OpDiv:
		return IntValue(math.MaxInt64)
	case op == OpDiv:
		return IntValue(a / b)
	case op == OpMod:
		return IntValue(a % b)
	}
	return ErrorValue()
}

// realArithmetic gives ERROR for +Inf, as the ClassAd library does; -Inf and
// NaN pass through.
func realArithmetic(op Op, a, b float64) Value {
	var f float64
	switch op {
	case OpAdd:
		f = a + b
	case OpSub:
		f = a - b
	case OpMul:
		f = a * b
	case OpDiv:
		f = a / b
	default:
		return ErrorValue()
	}
	if math.IsInf(f, 1) {
		return ErrorValue()
	}
	return RealValue(f)
}

// bits is an operator on the bits of two integers. A shift count outside
// 0..63 is an ERROR.
func bits(op Op, x, y Value) Value {
	if x.kind != Int || y.kind != Int {
		return ErrorValue()
	}
	a, b := int64(x.num), int64(y.num)
	switch op {
	case OpBitAnd:
		return IntValue(a & b)
	case OpBitOr:
		return IntValue(a | b)
	case OpBitXor:
		return IntValue(a ^ b)
	}
	switch {
	case b < 0 || b > 63:
		return ErrorValue()
	case op == OpShl:
		return IntValue(a << b)
	case op == OpShr:
		return IntValue(a >> b)
	}
	return IntValue(int64(uint64(a) >> b))
}

// unary is a prefix operator.
func unary(op Op, x Value) Value {
	if x.kind == Undefined || x.kind == Error {
		return x
	}
	switch op {
	case OpNot:
		if b, ok := x.truth(); ok {
			return BoolValue(!b)
		}
	case OpBitNot:
		if x.kind == Int {
			return IntValue(^int64(x.num))
		}
	case OpPlus:
		if x.kind == Int || x.kind == Real || x.kind == RelTime {
			return x
		}
	case OpMinus:
		switch x.kind {
		case Int:
			return IntValue(-int64(x.num))
		case Real:
			return RealValue(-x.float())
		case RelTime:
			return RelTimeValue(-x.float())
		}
	}
	return ErrorValue()
}

// timeArithmetic is + - * / where an operand is a time: abs-abs is rel,
// abs±rel is abs (of the relative time the whole seconds count), rel±rel is
// rel, rel*number and rel/number are rel.
func timeArithmetic(op Op, x, y Value) Value {
	a, b := x.float(), y.float()
	switch {
	case x.kind == AbsTime && y.kind == AbsTime && op == OpSub:
		return RelTimeValue(a - b)
	case x.kind == AbsTime && y.kind == RelTime && op == OpAdd:
		return AbsTimeValue(a+math.Trunc(b), x.zone)
	case x.kind == AbsTime && y.kind == RelTime && op == OpSub:
		return AbsTimeValue(a-math.Trunc(b), x.zone)
	case x.kind == RelTime && y.kind == AbsTime && op == OpAdd:
		return AbsTimeValue(math.Trunc(a)+b, y.zone)
	case x.kind == RelTime && y.kind == RelTime && op == OpAdd:
		return RelTimeValue(a + b)
	case x.kind == RelTime && y.kind == RelTime && op == OpSub:
		return RelTimeValue(a - b)
	}
	if x.kind != RelTime {
		x, y = y, x
		if op == OpDiv {
			return ErrorValue()
		}
	}
	n, ok := y.Number()
	if x.kind != RelTime || !ok {
		return ErrorValue()
	}
	return scaleTime(op, x.float(), n)
}

func scaleTime(op Op, seconds, n float64) Value {
	switch {
	case op == OpMul:
		return RelTimeValue(seconds * n)
	case op == OpDiv && n != 0:
		return RelTimeValue(seconds / n)
	}
	return ErrorValue()
}
