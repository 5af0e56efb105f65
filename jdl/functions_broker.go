package jdl

import "strings"

// brokerFunctions are those the gLite broker added to the library.
var brokerFunctions = []function{
	{name: "anyMatch", min: 2, max: 2, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.matchEach(a, s, anyMatch) }},
	{name: "allMatch", min: 2, max: 2, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.matchEach(a, s, allMatch) }},
	{name: "whichMatch", min: 2, max: 2, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.matchEach(a, s, whichMatch) }},
	{name: "listAttrRegEx", min: 2, max: 2, lazy: listAttrRegEx},
	{name: "fqanMember", min: 2, max: 2, strict: fqanMember},
}

type matchMode uint8

const (
	anyMatch   matchMode = iota // true if the test is true for a record, else false
	allMatch                    // false if the test is false for a record, else true
	whichMatch                  // the records for which the test is true; UNDEFINED if none
)

// matchEach evaluates an expression once for every record of a list, with
// that record as other and target. An element that is no record or a test
// that is no boolean is an ERROR.
func (ev *evaluator) matchEach(args []Expr, s *scope, mode matchMode) Value {
	switch args[1].(type) {
	case *Unary, *Binary, *Cond, *Call:
	default:
		return ErrorValue()
	}
	list := ev.eval(args[0], s)
	if list.kind == Undefined {
		return list
	}
	if list.kind != List {
		return ErrorValue()
	}
	var hits []Value
	for _, e := range list.box.list {
		if e.kind != Record {
			return ErrorValue()
		}
		v := ev.eval(args[1], withOther(s, e.box.rec))
		b, ok := v.Bool()
		switch {
		case !ok:
			return ErrorValue()
		case b && mode == anyMatch || !b && mode == allMatch:
			return v
		case b:
			hits = append(hits, e)
		}
	}
	switch {
	case mode != whichMatch:
		return BoolValue(mode == allMatch)
	case hits == nil:
		return UndefinedValue()
	}
	return ListValue(hits)
}

// listAttrRegEx(pattern, expr) lists the names of the attributes that an
// expression refers to, as far as the pattern is found in them. When expr is
// an attribute's name, its expression is meant. UNDEFINED if there is none.
func listAttrRegEx(ev *evaluator, args []Expr, s *scope) Value {
	p := ev.eval(args[0], s)
	if p.kind != String {
		return ErrorValue()
	}
	re, err := ev.pattern(p.str, "")
	if err != nil {
		return ErrorValue()
	}
	e := args[1]
	if ref, ok := e.(*AttrRef); ok {
		if e, ok = definition(s, ref.Name); !ok {
			return UndefinedValue()
		}
	}
	var names []string
	Walk(e, func(e Expr) bool {
		if name := refName(e); name != "" {
			if ok, _ := re.match(name); ok {
				names = append(names, name)
			}
		}
		return ev.spend(1, 0)
	})
	if names == nil {
		return UndefinedValue()
	}
	return StringsValue(names)
}

// definition finds the expression of a name, outwards from s.
func definition(s *scope, name string) (Expr, bool) {
	for c := s; c != nil; c = c.up {
		if c.ad != nil {
			if e, ok := c.ad.Expr(name); ok {
				return e, true
			}
		}
	}
	return nil, false
}

func refName(e Expr) string {
	switch e := e.(type) {
	case *AttrRef:
		return e.Name
	case *Select:
		return e.Name
	}
	return ""
}

// fqanMember(fqan, list) tells whether a VOMS attribute is covered by an
// entry of an access list. Both sides start with VOMS: or DENY:; what does
// not is an ERROR as first argument and passed over in the list.
func fqanMember(ev *evaluator, vs []Value) Value {
	want, ok := parseFQAN(vs[0].str)
	if vs[0].kind != String || !ok || vs[1].kind != List || !ev.spend(len(vs[1].box.list), 0) {
		return ErrorValue()
	}
	for _, e := range vs[1].box.list {
		if rule, ok := parseFQAN(e.str); ok && e.kind == String && rule.covers(want) {
			return BoolValue(true)
		}
	}
	return BoolValue(false)
}

// fqan is a VOMS attribute: "VOMS:/vo/group/Role=production".
type fqan struct{ prefix, group, role string }

func parseFQAN(s string) (fqan, bool) {
	prefix, rest, ok := strings.Cut(s, ":")
	prefix = fold(prefix)
	if !ok || prefix != "voms" && prefix != "deny" {
		return fqan{}, false
	}
	f := fqan{prefix: prefix}
	for _, part := range strings.Split(strings.TrimPrefix(rest, "/"), "/") {
		name, value, has := strings.Cut(part, "=")
		switch {
		case !has:
			f.group += "/" + part
		case equalFold(name, "role"):
			f.role = value
		case equalFold(name, "vo"), equalFold(name, "group"): // the form of old proxies
			f.group += "/" + strings.TrimPrefix(value, "/")
		}
	}
	if equalFold(f.role, "NULL") {
		f.role = ""
	}
	return f, true
}

// covers compares the whole group path, * standing for any text, and the
// role; an absent role is the same as NULL.
func (rule fqan) covers(f fqan) bool {
	return rule.prefix == f.prefix && glob(rule.group, f.group) && glob(rule.role, f.role)
}

// glob matches s against a pattern in which * stands for any text.
func glob(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	if !star {
		return s == ""
	}
	parts := strings.Split(rest, "*")
	for _, p := range parts[:len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
