package glue

import (
	"strings"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

var _ classad.Scope = (*Resource)(nil)

// Getter reads one attribute of a resource; ok is false when the resource does
// not publish it.
type Getter func(*Resource) (v classad.Value, ok bool)

// Lookup answers attributes by their GLUE 1.3 and GLUE 2.0 names, without
// regard to case and whatever schema the resource was published in. Units are
// those of the schema the name is from: GlueCEPolicyMaxWallClockTime is in
// minutes, GLUE2ComputingShareMaxWallTime in seconds. Names that stand for
// several values always give a list.
func (r *Resource) Lookup(name string) (classad.Value, bool) {
	var buf [96]byte
	lower := lowerInto(buf[:0], name)
	if get, ok := attributes[string(lower)]; ok {
		return get.get(r)
	}
	vs, ok := r.Attrs[string(lower)]
	if !ok || len(vs) == 0 {
		return classad.Value{}, false
	}
	return guess(string(lower), vs)
}

// Column returns the reader of the attribute with that name (any case), for
// callers that look at the same attribute of many resources. Names outside of
// the table are looked up in Attrs; known is false for them.
func Column(name string) (get Getter, known bool) {
	if a, ok := attributes[strings.ToLower(name)]; ok {
		return a.get, true
	}
	return func(r *Resource) (classad.Value, bool) { return r.Lookup(name) }, false
}

// Names lists the attributes that every schema's resources can answer, in the
// schema's spelling, GLUE 1.3 first.
func Names() []string {
	names := make([]string, len(attributeList))
	for i, a := range attributeList {
		names[i] = a.name
	}
	return names
}

// lowerInto appends s with A-Z lowered to buf.
func lowerInto[S string | []byte](buf []byte, s S) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		buf = append(buf, c)
	}
	return buf
}

// guess gives values of an attribute that no field holds a type: the schema's,
// or where the name is outside of it a list of several, else an integer, a
// real, a boolean or a string, whatever the text reads as. Text that is not of
// the schema's type is not published.
func guess(lower string, vs []string) (classad.Value, bool) {
	kind, isList, known := jdl.GLUEType(lower)
	if isList || !known && len(vs) > 1 {
		return classad.StringsValue(vs), true
	}
	switch {
	case !known:
		return guessType(vs[0]), true
	case kind == classad.Int:
		n, ok := parseInt([]byte(vs[0]))
		return classad.IntValue(n), ok
	case kind == classad.Bool:
		b := boolean([]byte(vs[0]))
		return classad.BoolValue(b.V), b.OK
	}
	return classad.StringValue(vs[0]), true
}

// guessType reads a value of unknown type.
func guessType(s string) classad.Value {
	text := []byte(s)
	if n, ok := parseInt(text); ok {
		return classad.IntValue(n)
	}
	if f, ok := real(text); ok {
		return classad.RealValue(f)
	}
	switch strings.ToUpper(s) {
	case "TRUE":
		return classad.BoolValue(true)
	case "FALSE":
		return classad.BoolValue(false)
	}
	return classad.StringValue(s)
}

// The constructors below make Getters from fields.

func text(f func(*Resource) string) Getter {
	return func(r *Resource) (classad.Value, bool) {
		s := f(r)
		return classad.StringValue(s), s != ""
	}
}

func number(f func(*Resource) Opt[int64]) Getter {
	return func(r *Resource) (classad.Value, bool) {
		n := f(r)
		return classad.IntValue(n.V), n.OK
	}
}

func duration(unit time.Duration, f func(*Resource) Opt[time.Duration]) Getter {
	return func(r *Resource) (classad.Value, bool) {
		d := f(r)
		return classad.IntValue(int64(d.V / unit)), d.OK
	}
}

func flag(f func(*Resource) Opt[bool]) Getter {
	return func(r *Resource) (classad.Value, bool) {
		b := f(r)
		return classad.BoolValue(b.V), b.OK
	}
}

func list(f func(*Resource) []string) Getter {
	return func(r *Resource) (classad.Value, bool) {
		ss := f(r)
		return classad.StringsValue(ss), len(ss) > 0
	}
}

// benchmark reads a benchmark by its canonical name; whole rounds it to the
// integer GLUE 1.3 publishes.
func benchmark(name string, whole bool) Getter {
	return func(r *Resource) (classad.Value, bool) {
		f, ok := r.Benchmarks[name]
		if whole {
			return classad.IntValue(int64(f + 0.5)), ok
		}
		return classad.RealValue(f), ok
	}
}
