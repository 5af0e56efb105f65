package classad

import "strings"

// brokerFunctions are those the gLite broker added to the library.
var brokerFunctions = []function{
	{name: "anyMatch", min: 2, max: 2, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.matchEach(a, s, anyMatch) }},
	{name: "allMatch", min: 2, max: 2, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.matchEach(a, s, allMatch) }},
	{name: "whichMatch", min: 2, max: 2, lazy: func(ev *evaluator, a []Expr, s *scope) Value { return ev.matchEach(a, s, whichMatch) }},
	{name: "fqanMember", min: 2, max: 2, strict: fqanMember},
	{name: "retrieveCloseSEsInfo", min: 1, max: 1, lazy: closeSEs},
	{name: "successFraction", min: 1, max: 2, strict: successFraction},
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

// closeSEs is retrieveCloseSEsInfo(vo): the records of the storage elements
// close to the resource, those left out whose storage areas
// (GlueSAAccessControlBaseRule) are for other VOs only. The resource publishes
// them as storage.CloseSEs; it is the record the call stands in, or the other
// side of the match. UNDEFINED if neither publishes them.
func closeSEs(ev *evaluator, args []Expr, s *scope) Value {
	vo := ev.eval(args[0], s)
	if vo.kind == Undefined {
		return vo
	}
	if vo.kind != String {
		return ErrorValue()
	}
	list := ev.closeSEs(ev.lookup("storage", "storage", s))
	if list.kind != List {
		list = ev.closeSEs(ev.selectName(ev.lookup("other", "other", s), "storage"))
	}
	if list.kind != List || !ev.spend(len(list.box.list), 0) {
		return UndefinedValue()
	}
	var near []Value
	for _, se := range list.box.list {
		if se.kind == Record && ev.serves(se, vo.str) {
			near = append(near, se)
		}
	}
	return ListValue(near)
}

func (ev *evaluator) closeSEs(storage Value) Value {
	if storage.kind != Record {
		return UndefinedValue()
	}
	v, _ := ev.attribute(storage.box.rec, "CloseSEs", "closeses")
	return v
}

// serves tells whether a storage element's areas may be used by a VO: one of
// the rules names it, or there are none.
func (ev *evaluator) serves(se Value, vo string) bool {
	rules, _ := ev.attribute(se.box.rec, "GlueSAAccessControlBaseRule", "gluesaaccesscontrolbaserule")
	switch rules.kind {
	case String:
		rules = ListValue([]Value{rules})
	case List:
	default:
		return true
	}
	for _, r := range rules.box.list {
		rule := strings.TrimPrefix(strings.TrimPrefix(Fold(r.str), "vo:"), "voms:/")
		if name, _, _ := strings.Cut(rule, "/"); name == Fold(vo) {
			return true
		}
	}
	return len(rules.box.list) == 0
}

// successFraction(id [, server]) is the part of a resource's recent jobs that
// ended well. gLite's broker asked its logging service; here nothing is known
// of a resource's other jobs, which counts as 1.0, as it did there.
func successFraction(_ *evaluator, vs []Value) Value {
	if v, bad := errorFirst(vs...); bad {
		return v
	}
	for _, v := range vs {
		if v.kind != String {
			return ErrorValue()
		}
	}
	return RealValue(1)
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
	prefix = Fold(prefix)
	if !ok || prefix != "voms" && prefix != "deny" {
		return fqan{}, false
	}
	f := fqan{prefix: prefix}
	for _, part := range strings.Split(strings.TrimPrefix(rest, "/"), "/") {
		name, value, has := strings.Cut(part, "=")
		switch {
		case !has:
			f.group += "/" + part
		case EqualFold(name, "role"):
			f.role = value
		case EqualFold(name, "vo"), EqualFold(name, "group"): // the form of old proxies
			f.group += "/" + strings.TrimPrefix(value, "/")
		}
	}
	if EqualFold(f.role, "NULL") {
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
