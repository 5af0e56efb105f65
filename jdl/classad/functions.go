package classad

import "slices"

// function is a built-in function. Names ignore case. A call with another
// number of arguments is ERROR, without evaluating them.
//
// A function is either strict and gets values, or lazy and gets expressions.
type function struct {
	name     string
	min, max int
	strict   strictFunc
	lazy     lazyFunc
	impure   bool // the same arguments may give another result
}

type (
	strictFunc func(ev *evaluator, vs []Value) Value
	lazyFunc   func(ev *evaluator, args []Expr, s *scope) Value
)

// many stands for "any number of arguments".
const many = 1 << 30

// functions is every built-in by its name in lower case.
var functions = functionTable(typeFunctions, listFunctions, stringFunctions, regexpFunctions,
	numberFunctions, versionFunctions, timeFunctions, scopeFunctions, referenceFunctions, brokerFunctions)

func functionTable(groups ...[]function) map[string]*function {
	t := make(map[string]*function)
	for _, g := range groups {
		for i := range g {
			t[Fold(g[i].name)] = &g[i]
		}
	}
	return t
}

// functionNames returns the names of all built-in functions, sorted.
func functionNames() []string {
	var names []string
	for _, f := range functions {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// call calls a built-in; an unknown one is ERROR.
func (ev *evaluator) call(e *Call, s *scope) Value {
	f := e.fn
	if f == nil {
		f = ev.functions[Fold(e.Name)]
	}
	if f == nil || len(e.Args) < f.min || len(e.Args) > f.max {
		return ErrorValue()
	}
	if f.lazy != nil {
		return f.lazy(ev, e.Args, s)
	}
	var few [4]Value
	vs := few[:0]
	for _, a := range e.Args {
		vs = append(vs, ev.eval(a, s))
	}
	return f.strict(ev, vs)
}

// ofOne makes a strict function of one that passes UNDEFINED and ERROR
// through.
func ofOne(f func(ev *evaluator, v Value) Value) strictFunc {
	return func(ev *evaluator, vs []Value) Value {
		if v := vs[0]; v.kind == Undefined || v.kind == Error {
			return v
		}
		return f(ev, vs[0])
	}
}

// undefinedFirst is the rule of functions over text: UNDEFINED if any
// argument is, else ERROR if any is.
func undefinedFirst(vs ...Value) (v Value, bad bool) {
	for _, v := range vs {
		if v.kind == Undefined {
			return v, true
		}
	}
	return errorAmong(vs)
}

// errorFirst is ERROR if any argument is, else UNDEFINED if any is.
func errorFirst(vs ...Value) (v Value, bad bool) {
	if v, bad := errorAmong(vs); bad {
		return v, true
	}
	for _, v := range vs {
		if v.kind == Undefined {
			return v, true
		}
	}
	return Value{}, false
}

func errorAmong(vs []Value) (Value, bool) {
	for _, v := range vs {
		if v.kind == Error {
			return v, true
		}
	}
	return Value{}, false
}

// typeFunctions test the kind of a value; they are never UNDEFINED.
var typeFunctions = kindFunctions()

func kindFunctions() (fs []function) {
	for name, k := range kindTests {
		fs = append(fs, function{name: name, min: 1, max: 1, strict: isKind(k)})
	}
	return fs
}

func isKind(k Kind) strictFunc {
	return func(_ *evaluator, vs []Value) Value { return BoolValue(vs[0].kind == k) }
}

// scopeFunctions look at expressions rather than values.
var scopeFunctions = []function{
	{name: "ifThenElse", min: 3, max: 3, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.cond(a[0], a[1], a[2], s) }},
	{name: "eval", min: 1, max: 1, lazy: evalText},
	{name: "unparse", min: 1, max: 1, lazy: unparseAttr},
	{name: "debug", min: 1, max: 1, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.eval(a[0], s) }},
}

// evalText parses the argument and evaluates it where the call stands. An
// UNDEFINED argument is an ERROR.
func evalText(ev *evaluator, args []Expr, s *scope) Value {
	v := ev.eval(args[0], s)
	if v.kind == Undefined || v.kind == Error {
		return ErrorValue()
	}
	text := ev.text(v)
	if !ev.spend(len(text), len(text)) {
		return ErrorValue()
	}
	e, err := ev.parse("eval", []byte(text))
	if err != nil {
		return ErrorValue()
	}
	return ev.eval(e, s)
}

// unparseAttr is the source text of the attribute that the argument names, of
// the record in which the call stands; empty if that has no such attribute.
func unparseAttr(_ *evaluator, args []Expr, s *scope) Value {
	switch ref := args[0].(type) {
	case *AttrRef:
		if s.ad == nil || ref.Absolute {
			return StringValue("")
		}
		if e, ok := s.ad.Expr(ref.Name); ok {
			return StringValue(Unparse(e))
		}
		return StringValue("")
	case *Select:
		return StringValue("")
	}
	return ErrorValue()
}
