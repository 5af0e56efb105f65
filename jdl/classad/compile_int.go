package classad

// Integers are most of what resources publish. Code that may be an integer
// has a second way to be asked, which says when a row has none; the first way
// then gives the answer.

// ints is the integer of a row; ok is false for any other kind of value.
type ints func(r int32) (i int64, ok bool)

// int returns the way to ask for integers, nil if there is none.
func (c *code) int() ints {
	switch {
	case c.ints != nil:
		return c.ints
	case c.fixed && c.known.kind == Int:
		i := int64(c.known.num)
		return func(int32) (int64, bool) { return i, true }
	case c.col != nil && c.col.num != nil:
		col := c.col
		return func(r int32) (int64, bool) { return int64(col.num[r]), col.kinds[r] == Int }
	}
	return nil
}

// intCode is + - and * of what are integers mostly, and comparisons of them.
func intCode(op Op, x, y code, cost effort) (code, bool) {
	a, b := x.int(), y.int()
	if a == nil || b == nil {
		return code{}, false
	}
	slow := func(r int32) Value { return apply(op, x.eval(r), y.eval(r)) }
	var f func(i, j int64) int64
	switch op {
	case OpAdd:
		f = func(i, j int64) int64 { return i + j }
	case OpSub:
		f = func(i, j int64) int64 { return i - j }
	case OpMul:
		f = func(i, j int64) int64 { return i * j }
	case OpLt, OpLe, OpGt, OpGe, OpEq, OpNe:
		return code{cost: cost, test: func(r int32) truth3 {
			i, iok := a(r)
			if j, jok := b(r); iok && jok {
				return truthOf(holds(op, order(i, j)))
			}
			return slow(r).truth3()
		}}, true
	default:
		return code{}, false
	}
	both := func(r int32) (int64, bool) {
		i, iok := a(r)
		j, jok := b(r)
		return f(i, j), iok && jok
	}
	return code{cost: cost, ints: both, value: func(r int32) Value {
		if i, ok := both(r); ok {
			return IntValue(i)
		}
		return slow(r)
	}}, true
}

// negative is - before what is an integer mostly.
func negative(x code, cost effort) code {
	a := x.int()
	minus := func(r int32) (int64, bool) {
		i, ok := a(r)
		return -i, ok
	}
	return code{cost: cost, ints: minus, value: func(r int32) Value {
		if i, ok := minus(r); ok {
			return IntValue(i)
		}
		return unary(OpMinus, x.eval(r))
	}}
}

// kindCode is isUndefined and its kin.
func kindCode(k Kind, x code, cost effort) code {
	return code{cost: cost, test: func(r int32) truth3 {
		if x.col != nil && x.col.kinds[r] != dynamic {
			return truthOf(x.col.kinds[r] == k)
		}
		return truthOf(x.eval(r).kind == k)
	}}
}

// kindTests are the functions that test a kind.
var kindTests = map[string]Kind{
	"isUndefined": Undefined, "isError": Error, "isString": String, "isInteger": Int, "isReal": Real,
	"isBoolean": Bool, "isList": List, "isClassAd": Record, "isAbsTime": AbsTime, "isRelTime": RelTime,
}
