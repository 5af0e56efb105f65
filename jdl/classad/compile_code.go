package classad

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
	cost  effort
	scan  bool // test meets no dynamic cell, so that a filter may ask it
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

func fixedCode(v Value, cost effort) code { return code{fixed: true, known: v, cost: cost} }

// effort is what evaluating a node takes.
type effort struct {
	work  int // about, to order conjuncts by
	steps int // of the reference evaluator, at most
}

// one is the cost of a node without operands.
var one = effort{1, 1}

// stepsOfWork bounds the steps of what is known by its work only: see
// cellElems and cellText.
const stepsOfWork = 120

// more adds work.
func (e effort) more(work int) effort { return e.add(effort{work, work * stepsOfWork}) }

func (e effort) add(d effort) effort {
	return effort{min(e.work+d.work, 1<<30), min(e.steps+d.steps, 1<<30)}
}

// sumCost is the cost of a node over the given operands.
func sumCost(operands ...effort) effort {
	n := one
	for _, c := range operands {
		n = n.add(c)
	}
	return n
}
