package classad

// listFunctions work on lists.
var listFunctions = []function{
	{name: "member", min: 2, max: 2, strict: member},
	{name: "identicalMember", min: 2, max: 2, strict: identicalMember},
	{name: "size", min: 1, max: 1, strict: ofOne(size)},
	{name: "sum", min: 1, max: 1, strict: ofOne(sum)},
	{name: "avg", min: 1, max: 1, strict: ofOne(avg)},
	{name: "min", min: 1, max: 1, strict: ofOne(extreme(OpLt))},
	{name: "max", min: 1, max: 1, strict: ofOne(extreme(OpGt))},
	{name: "anyCompare", min: 3, max: 3, strict: compareAll(true)},
	{name: "allCompare", min: 3, max: 3, strict: compareAll(false)},
}

// member(x, list) compares with ==. An element that is UNDEFINED, ERROR or of
// another kind does not match, so the result is never UNDEFINED for that.
func member(ev *evaluator, vs []Value) Value {
	x, list := vs[0], vs[1]
	switch {
	case list.kind == Undefined || x.kind == Undefined:
		return UndefinedValue()
	case list.kind != List || x.kind == Error || x.kind == List || x.kind == Record:
		return ErrorValue()
	}
	return ev.search(list, func(e Value) bool { return apply(OpEq, e, x).IsTrue() })
}

// identicalMember(x, list) compares with =?=; x may be UNDEFINED or ERROR.
func identicalMember(ev *evaluator, vs []Value) Value {
	x, list := vs[0], vs[1]
	switch {
	case list.kind == Undefined:
		return list
	case list.kind != List || x.kind == List || x.kind == Record:
		return ErrorValue()
	}
	return ev.search(list, x.same)
}

func (ev *evaluator) search(list Value, hit func(Value) bool) Value {
	if !ev.spend(len(list.box.list), 0) {
		return ErrorValue()
	}
	for _, e := range list.box.list {
		if hit(e) {
			return BoolValue(true)
		}
	}
	return BoolValue(false)
}

// size is the number of elements, attributes or bytes.
func size(_ *evaluator, v Value) Value {
	switch {
	case v.kind == String:
		return IntValue(int64(len(v.str)))
	case v.kind == List:
		return IntValue(int64(len(v.box.list)))
	case v.kind == Record && v.box.rec.ad != nil:
		return IntValue(int64(v.box.rec.ad.Len()))
	}
	return ErrorValue()
}

// numbers calls f with every element that is not UNDEFINED; it is false when
// v is no list or an element is no number. Booleans count as numbers.
func (ev *evaluator) numbers(v Value, f func(Value)) bool {
	if v.kind != List || !ev.spend(len(v.box.list), 0) {
		return false
	}
	for _, e := range v.box.list {
		switch e.kind {
		case Undefined:
		case Bool, Int, Real:
			f(e)
		default:
			return false
		}
	}
	return true
}

// total adds up the numbers of a list; one alone stays what it is, also a
// boolean. n counts them.
func (ev *evaluator) total(v Value) (sum Value, n int, ok bool) {
	sum = IntValue(0)
	ok = ev.numbers(v, func(e Value) {
		if n++; n == 1 {
			sum = e
		} else {
			sum = apply(OpAdd, sum, e)
		}
	})
	return sum, n, ok
}

func sum(ev *evaluator, v Value) Value {
	total, _, ok := ev.total(v)
	if !ok {
		return ErrorValue()
	}
	return total
}

// avg of nothing is the integer 0, as in the ClassAd library.
func avg(ev *evaluator, v Value) Value {
	total, n, ok := ev.total(v)
	switch {
	case !ok:
		return ErrorValue()
	case n == 0:
		return total
	}
	return apply(OpDiv, total, RealValue(float64(n)))
}

// extreme makes min and max; of nothing they are UNDEFINED. Each comparison
// gives both numbers one type, so the result is real once a real was met.
func extreme(better Op) func(*evaluator, Value) Value {
	return func(ev *evaluator, v Value) Value {
		best := UndefinedValue()
		ok := ev.numbers(v, func(e Value) {
			if best.kind == Undefined {
				best = e
				return
			}
			if e, best = promote(e, best); compare(better, e, best).IsTrue() {
				best = e
			}
		})
		if !ok {
			return ErrorValue()
		}
		return best
	}
}

// promote gives two numbers one type: booleans become integers, an integer
// beside a real a real.
func promote(x, y Value) (Value, Value) {
	x, y = x.asInt(), y.asInt()
	if x.kind != y.kind {
		a, _ := x.Number()
		b, _ := y.Number()
		return RealValue(a), RealValue(b)
	}
	return x, y
}

// comparisons are the operators anyCompare and allCompare know.
var comparisons = map[string]Op{
	"<": OpLt, "<=": OpLe, "==": OpEq, "!=": OpNe, ">": OpGt, ">=": OpGe, "is": OpIs, "isnt": OpIsnt,
}

// compareAll makes anyCompare and allCompare: does the comparison of each
// element with x hold for any, for all? Both end with false where a comparison
// is UNDEFINED.
func compareAll(stop bool) func(*evaluator, []Value) Value {
	return func(ev *evaluator, vs []Value) Value {
		name, list, x := vs[0], vs[1], vs[2]
		if name.kind == Undefined {
			return name
		}
		op, ok := comparisons[name.str]
		if name.kind != String || !ok {
			return ErrorValue()
		}
		if list.kind == Undefined {
			return list
		}
		if list.kind != List || !ev.spend(len(list.box.list), 0) {
			return ErrorValue()
		}
		for _, e := range list.box.list {
			switch r := apply(op, e, x); {
			case r.kind == Error:
				return r
			case r.kind == Undefined:
				return BoolValue(false)
			case r.IsTrue() == stop:
				return BoolValue(stop)
			}
		}
		return BoolValue(!stop)
	}
}
