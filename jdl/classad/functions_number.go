package classad

import (
	"math"
	"strconv"
	"strings"
)

// numberFunctions convert to numbers and calculate. Those that want a number
// give ERROR for UNDEFINED.
var numberFunctions = []function{
	{name: "int", min: 1, max: 1, strict: ofOne(toInt)},
	{name: "real", min: 1, max: 1, strict: ofOne(toReal)},
	{name: "string", min: 1, max: 1, strict: ofOne(func(ev *evaluator, v Value) Value { return ev.produce(ev.text(v)) })},
	{name: "bool", min: 1, max: 1, strict: ofOne(toBool)},
	{name: "floor", min: 1, max: 1, strict: rounding(math.Floor)},
	{name: "ceil", min: 1, max: 1, strict: rounding(math.Ceil)},
	{name: "ceiling", min: 1, max: 1, strict: rounding(math.Ceil)},
	{name: "round", min: 1, max: 1, strict: rounding(math.RoundToEven)},
	{name: "pow", min: 2, max: 2, strict: pow},
	{name: "quantize", min: 2, max: 2, strict: quantize},
	{name: "random", min: 0, max: 1, strict: random, impure: true},
}

// number converts a value to an integer or a real; text as far as it is one,
// a relative time to its whole seconds.
func (v Value) number() (Value, bool) {
	switch v.kind {
	case Int, Real:
		return v, true
	case Bool:
		return v.asInt(), true
	case AbsTime, RelTime:
		return RealValue(math.Trunc(v.float())), true
	case String:
		return parseNumber(v.str)
	}
	return Value{}, false
}

// parseNumber reads the number a text starts with, as strtod(3) does: blanks
// in front, anything after. Decimal digits alone are an integer.
func parseNumber(s string) (Value, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	for end := numberEnd(s); end > 0; end-- {
		text := s[:end]
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return IntValue(n), true
		}
		f, err := strconv.ParseFloat(text, 64)
		if isHexInteger(text) {
			f, err = strconv.ParseFloat(text+"p0", 64)
		}
		if err == nil || math.IsInf(f, 0) {
			return RealValue(f), true
		}
	}
	return Value{}, false
}

func isHexInteger(s string) bool {
	s = Fold(strings.TrimLeft(s, "+-"))
	return strings.HasPrefix(s, "0x") && !strings.Contains(s, "p")
}

// numberEnd is where the letters, digits, signs and dots of a text end.
func numberEnd(s string) int {
	for i := range min(len(s), maxNumber) {
		if c := s[i]; !isDigit(c) && !isLetter(c) && c != '.' && c != '+' && c != '-' || c == '_' {
			return i
		}
	}
	return min(len(s), maxNumber)
}

// maxNumber is the longest text read as a number.
const maxNumber = 400

func toInt(_ *evaluator, v Value) Value {
	n, ok := v.number()
	if !ok {
		return ErrorValue()
	}
	if f, _ := n.Number(); n.kind == Real {
		return truncated(f)
	}
	return n
}

// truncated drops the fraction. What does not fit in 64 bits is the smallest
// integer, as on the machines the ClassAd library runs on.
func truncated(f float64) Value {
	if math.IsNaN(f) || f >= 1<<63 || f < -1<<63 {
		return IntValue(math.MinInt64)
	}
	return IntValue(int64(f))
}

func toReal(_ *evaluator, v Value) Value {
	n, ok := v.number()
	if !ok {
		return ErrorValue()
	}
	f, _ := n.Number()
	return RealValue(f)
}

// toBool reads numbers, relative times (whole seconds) and the texts true and
// false; another text is UNDEFINED.
func toBool(_ *evaluator, v Value) Value {
	if b, ok := v.truth(); ok {
		return BoolValue(b)
	}
	switch {
	case v.kind == RelTime:
		return BoolValue(math.Trunc(v.float()) != 0)
	case v.kind != String:
		return ErrorValue()
	case EqualFold(v.str, "true"):
		return BoolValue(true)
	case EqualFold(v.str, "false"):
		return BoolValue(false)
	}
	return UndefinedValue()
}

func rounding(f func(float64) float64) strictFunc {
	return func(_ *evaluator, vs []Value) Value {
		n, ok := vs[0].number()
		if !ok {
			return ErrorValue()
		}
		if n.kind == Int {
			return n
		}
		return truncated(f(n.float()))
	}
}

// pow(base, exponent) is an integer for two integers, the exponent not
// negative.
func pow(_ *evaluator, vs []Value) Value {
	x, xok := vs[0].number()
	y, yok := vs[1].number()
	if !xok || !yok {
		return ErrorValue()
	}
	a, _ := x.Number()
	b, _ := y.Number()
	f := power(a, b)
	if vs[0].kind == Int && vs[1].kind == Int && b >= 0 {
		return truncated(f)
	}
	return RealValue(f)
}

// quantize(x, base) is the least multiple of base not below x; with a list,
// the first element not below x, else a multiple of the last. It is an integer
// when both are integers, and x itself when base is 0 or the list empty.
func quantize(ev *evaluator, vs []Value) Value {
	n, ok := vs[0].number()
	if !ok {
		return ErrorValue()
	}
	x, _ := n.Number()
	base := vs[1]
	if base.kind == List {
		list := base.box.list
		if !ev.spend(len(list), 0) || len(list) == 0 {
			return vs[0]
		}
		for _, base = range list {
			b, ok := base.number()
			if !ok {
				return ErrorValue()
			}
			if f, _ := b.Number(); f >= x {
				return base
			}
		}
	}
	return multiple(vs[0], x, base)
}

// tiny is the base of quantize that counts as 0.
const tiny = 1e-8

// multiple rounds v, whose value is x, up to a multiple of base.
func multiple(v Value, x float64, base Value) Value {
	n, ok := base.number()
	b, _ := n.Number()
	switch {
	case !ok:
		return ErrorValue()
	case base.kind == Int && b == 0, base.kind != Int && math.Abs(b) <= tiny:
		return v
	case base.kind == Int && v.kind == Int:
		n, m := int64(v.num), int64(base.num)
		return IntValue((n + m - 1) / m * m)
	}
	return RealValue(math.Ceil(x/b) * b)
}

// random(n) is below n: an integer for an integer, else a real; without an
// argument a real in [0, 1).
func random(ev *evaluator, vs []Value) Value {
	if len(vs) == 0 {
		return RealValue(ev.random())
	}
	if v, bad := undefinedFirst(vs...); bad {
		return v
	}
	switch v := vs[0]; {
	case v.kind == Int && int64(v.num) > 0:
		return IntValue(int64(ev.random() * float64(int64(v.num))))
	case v.kind == Real && v.float() > 0:
		return RealValue(ev.random() * v.float())
	}
	return ErrorValue()
}
