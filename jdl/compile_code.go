package jdl

// truth3 is a truth value: what && and || see of an operand.
type truth3 uint8

const (
	isFalse truth3 = iota
	isTrue
	isUndefined
	isError // or of a kind that has no truth
)

func (v Value) truth3() truth3 {
	b, ok := v.truth()
	switch {
	case !ok && v.kind == Undefined:
		return isUndefined
	case !ok:
		return isError
	case b:
		return isTrue
	}
	return isFalse
}

// value is the value an operator such as && gives for a truth value.
func (t truth3) value() Value {
	switch t {
	case isUndefined:
		return UndefinedValue()
	case isError:
		return ErrorValue()
	}
	return BoolValue(t == isTrue)
}

func truthOf(b bool) truth3 {
	if b {
		return isTrue
	}
	return isFalse
}

// code is a compiled node. At least one of value and test is set; test says
// that the node is a boolean, UNDEFINED or ERROR.
type code struct {
	value func(r int32) Value
	test  func(r int32) truth3
	ints  ints
	col   *column // the node is a column
	fixed bool    // the node is the same for all rows
	known Value   // that value
	cost  int     // at most so many steps of the reference evaluator, about
}

func (c *code) eval(r int32) Value {
	switch {
	case c.fixed:
		return c.known
	case c.value != nil:
		return c.value(r)
	}
	return c.test(r).value()
}

func (c *code) truth(r int32) truth3 {
	switch {
	case c.test != nil:
		return c.test(r)
	case c.fixed:
		return c.known.truth3()
	}
	return c.value(r).truth3()
}

func fixedCode(v Value, cost int) code { return code{fixed: true, known: v, cost: cost} }

func sumCost(cs ...code) int {
	n := 1
	for _, c := range cs {
		n = min(n+c.cost, 1<<30)
	}
	return n
}
