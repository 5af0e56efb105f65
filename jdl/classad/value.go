package classad

import (
	"math"
	"time"
)

// Kind is the type of a ClassAd value.
type Kind uint8

// The ClassAd types. The zero Kind is Undefined, so the zero Value is UNDEFINED.
const (
	Undefined Kind = iota
	Error
	Bool
	Int
	Real
	String
	List
	Record
	AbsTime
	RelTime
)

// Value is one ClassAd value. The zero Value is UNDEFINED. Values are
// immutable: a list or record inside one must not be changed.
type Value struct {
	kind Kind
	zone int32  // AbsTime: seconds east of UTC
	num  uint64 // Bool, Int, Real (float bits), AbsTime and RelTime (seconds, float bits)
	str  string
	box  *box // List, Record
}

// box is the part of a value that few values have.
type box struct {
	list []Value
	rec  *scope // a record, with the records around it
}

// UndefinedValue returns UNDEFINED.
func UndefinedValue() Value { return Value{} }

// ErrorValue returns ERROR.
func ErrorValue() Value { return Value{kind: Error} }

// BoolValue returns a boolean.
func BoolValue(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.num = 1
	}
	return v
}

// IntValue returns an integer.
func IntValue(i int64) Value { return Value{kind: Int, num: uint64(i)} }

// RealValue returns a real.
func RealValue(f float64) Value { return Value{kind: Real, num: math.Float64bits(f)} }

// StringValue returns a string (bytes; UTF-8 passes through untouched).
func StringValue(s string) Value { return Value{kind: String, str: s} }

// ListValue returns a list of the given elements.
func ListValue(vs []Value) Value { return Value{kind: List, box: &box{list: vs}} }

// StringsValue returns a list of strings.
func StringsValue(ss []string) Value {
	vs := make([]Value, len(ss))
	for i, s := range ss {
		vs[i] = StringValue(s)
	}
	return ListValue(vs)
}

// RecordValue returns a record with nothing around it.
func RecordValue(a *Ad) Value { return recordIn(&scope{ad: a}) }

func recordIn(s *scope) Value { return Value{kind: Record, box: &box{rec: s}} }

// AbsTimeValue returns an absolute time: seconds since the epoch, and the
// zone's offset in seconds east of UTC.
func AbsTimeValue(seconds float64, zone int32) Value {
	return Value{kind: AbsTime, num: math.Float64bits(seconds), zone: zone}
}

// RelTimeValue returns a relative time in seconds.
func RelTimeValue(seconds float64) Value {
	return Value{kind: RelTime, num: math.Float64bits(seconds)}
}

// elements are those of a list, nil for other kinds.
func (v Value) elements() []Value {
	if v.kind != List {
		return nil
	}
	return v.box.list
}

func (v Value) float() float64 { return math.Float64frombits(v.num) }

// Kind reports the type.
func (v Value) Kind() Kind { return v.kind }

// IsUndefined reports whether v is UNDEFINED.
func (v Value) IsUndefined() bool { return v.kind == Undefined }

// IsError reports whether v is ERROR.
func (v Value) IsError() bool { return v.kind == Error }

// IsTrue reports whether v is the boolean true: the only value with which
// Requirements accept a resource.
func (v Value) IsTrue() bool { return v.kind == Bool && v.num != 0 }

// Bool returns the boolean; ok is false for any other kind.
func (v Value) Bool() (b, ok bool) { return v.num != 0, v.kind == Bool }

// Int returns the integer; ok is false for any other kind.
func (v Value) Int() (i int64, ok bool) {
	if v.kind != Int {
		return 0, false
	}
	return int64(v.num), true
}

// Number returns an integer or a real as float64; ok is false for any other kind.
func (v Value) Number() (f float64, ok bool) {
	switch v.kind {
	case Int:
		return float64(int64(v.num)), true
	case Real:
		return math.Float64frombits(v.num), true
	}
	return 0, false
}

// Str returns the string; ok is false for any other kind.
func (v Value) Str() (s string, ok bool) { return v.str, v.kind == String }

// List returns the elements; ok is false for any other kind.
func (v Value) List() (vs []Value, ok bool) {
	if v.kind != List || v.box == nil {
		return nil, v.kind == List
	}
	return v.box.list, true
}

// Record returns the record; ok is false for any other kind, and for a
// record that is not made of expressions (a Scope met as "other").
func (v Value) Record() (a *Ad, ok bool) {
	if v.kind != Record || v.box.rec.ad == nil {
		return nil, false
	}
	return v.box.rec.ad, true
}

// Attr evaluates the named attribute of a record where the record stands, so
// that it sees the records around it. It is UNDEFINED when the record has no
// such attribute, and ERROR when v is no record.
func (v Value) Attr(name string) Value {
	if v.kind != Record {
		return ErrorValue()
	}
	return newEvaluator(nil).attrOf(v.box.rec, name)
}

// AbsTime returns the absolute time; ok is false for any other kind.
func (v Value) AbsTime() (t time.Time, ok bool) {
	if v.kind != AbsTime {
		return time.Time{}, false
	}
	sec, frac := math.Modf(math.Float64frombits(v.num))
	return time.Unix(int64(sec), int64(frac*1e9)).In(time.FixedZone("", int(v.zone))), true
}

// RelTime returns the relative time; ok is false for any other kind.
func (v Value) RelTime() (d time.Duration, ok bool) {
	if v.kind != RelTime {
		return 0, false
	}
	return time.Duration(math.Float64frombits(v.num) * float64(time.Second)), true
}

// Seconds returns the seconds of a time: since the epoch for an absolute one,
// the length of a relative one; ok is false for any other kind.
func (v Value) Seconds() (f float64, ok bool) {
	return v.float(), v.kind == AbsTime || v.kind == RelTime
}
