package classad

import (
	"cmp"
	"iter"
	"math"
	"strings"
)

// stringFunctions work on text. Most convert their arguments to strings.
var stringFunctions = []function{
	{name: "strcat", min: 0, max: many, lazy: strcat},
	{name: "join", min: 0, max: many, strict: join},
	{name: "toUpper", min: 1, max: 1, strict: ofOne(func(ev *evaluator, v Value) Value { return ev.produce(mapBytes(ev.text(v), upper)) })},
	{name: "toLower", min: 1, max: 1, strict: ofOne(func(ev *evaluator, v Value) Value { return ev.produce(mapBytes(ev.text(v), lower)) })},
	{name: "substr", min: 2, max: 3, strict: substr},
	{name: "strcmp", min: 2, max: 2, strict: textCompare(strings.Compare)},
	{name: "stricmp", min: 2, max: 2, strict: textCompare(func(a, b string) int { return cmp.Compare(compareFold(a, b), 0) })},
	{name: "stringListsIntersect", min: 2, max: 3, strict: stringListsIntersect},
}

// text converts a value to a string: a string as it is, a relative time in
// whole seconds, anything else unparsed.
func (ev *evaluator) text(v Value) string {
	switch v.kind {
	case String:
		return v.str
	case AbsTime:
		return absTimeText(v)
	case RelTime:
		return relTimeText(RelTimeValue(math.Trunc(v.float())))
	}
	return UnparseValue(v)
}

// produce counts a new string against the bounds.
func (ev *evaluator) produce(s string) Value {
	if !ev.spend(0, len(s)) {
		return ErrorValue()
	}
	return StringValue(s)
}

// strcat stops at the first UNDEFINED or ERROR.
func strcat(ev *evaluator, args []Expr, s *scope) Value {
	var b strings.Builder
	for _, a := range args {
		v := ev.eval(a, s)
		if v.kind == Undefined || v.kind == Error {
			return v
		}
		t := ev.text(v)
		if !ev.spend(0, len(t)) {
			return ErrorValue()
		}
		b.WriteString(t)
	}
	return StringValue(b.String())
}

// join(separator, item...), join(separator, list) and join(list). UNDEFINED
// items are left out; if there is nothing else the result is UNDEFINED.
// Nothing stands between an item and empty text before it.
func join(ev *evaluator, vs []Value) Value {
	sep, items := StringValue(""), vs
	if last := len(vs) - 1; last >= 0 && last <= 1 && vs[last].kind == List {
		items = vs[last].box.list
		if last == 1 {
			sep = vs[0]
		}
	} else if len(vs) > 0 {
		sep, items = vs[0], vs[1:]
	}
	between, missing := "", sep.kind == Undefined
	switch {
	case sep.kind == Error:
		return sep
	case !missing:
		between = ev.text(sep)
	}
	var b strings.Builder
	some := false
	for _, v := range items {
		if v.kind == Error {
			return v
		}
		if v.kind == Undefined {
			missing = true
			continue
		}
		t := ev.text(v)
		if !ev.spend(1, len(t)+len(between)) {
			return ErrorValue()
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(t)
		some = true
	}
	if missing && !some {
		return UndefinedValue()
	}
	return StringValue(b.String())
}

// substr(s, offset [, length]) counts bytes. A negative offset counts from
// the end, a negative length leaves that many off the end.
func substr(ev *evaluator, vs []Value) Value {
	if v, bad := undefinedFirst(vs...); bad {
		return v
	}
	s, sok := vs[0].Str()
	from, fok := vs[1].Int()
	n, nok := int64(len(s)), true
	if len(vs) == 3 {
		n, nok = vs[2].Int()
	}
	if !sok || !fok || !nok {
		return ErrorValue()
	}
	size := int64(len(s))
	if from < 0 {
		from = max(0, size+from)
	}
	from = min(from, size)
	to := size
	if n < 0 {
		to = max(from, size+n)
	} else if n < size-from {
		to = from + n
	}
	return ev.produce(s[from:to])
}

// textCompare makes strcmp and stricmp: -1, 0 or 1.
func textCompare(f func(a, b string) int) func(*evaluator, []Value) Value {
	return func(ev *evaluator, vs []Value) Value {
		if v, bad := undefinedFirst(vs...); bad {
			return v
		}
		return IntValue(int64(f(ev.text(vs[0]), ev.text(vs[1]))))
	}
}

// stringListsIntersect(a, b [, delimiters]) tells whether two delimited
// texts have an item in common; items are compared with their case, and blanks
// around them count unless a blank is a delimiter.
func stringListsIntersect(ev *evaluator, vs []Value) Value {
	if v, bad := errorFirst(vs...); bad {
		return v
	}
	delims := ""
	for _, v := range vs {
		if v.kind != String {
			return ErrorValue()
		}
	}
	if len(vs) == 3 {
		delims = vs[2].str
	}
	if delims == "" {
		delims = " ,"
	}
	if !ev.spend(len(vs[0].str)+len(vs[1].str), 0) {
		return ErrorValue()
	}
	have := make(map[string]bool)
	for item := range items(vs[0].str, delims) {
		have[item] = true
	}
	for item := range items(vs[1].str, delims) {
		if have[item] {
			return BoolValue(true)
		}
	}
	return BoolValue(false)
}

// items cuts a text at any of the bytes of delims; empty items do not count.
func items(s, delims string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i <= len(s); i++ {
			if i < len(s) && strings.IndexByte(delims, s[i]) < 0 {
				continue
			}
			if i > start && !yield(s[start:i]) {
				return
			}
			start = i + 1
		}
	}
}
