package classad

import (
	"slices"
	"strings"

	"gridbroker/jdl/pcre"
)

// referenceFunctions look at what expressions refer to.
var referenceFunctions = []function{
	{name: "unresolved", min: 1, max: 2, lazy: unresolved},
	{name: "listAttrRegEx", min: 2, max: 2, lazy: listAttrRegEx},
}

// unresolved(attribute) lists the names that the expression of an attribute
// refers to, directly or through others, and that are defined nowhere: text
// with commas between, without "target.". With a pattern it tells whether the
// pattern, without case, is found in one of them.
func unresolved(ev *evaluator, args []Expr, s *scope) Value {
	var r refWalk
	switch args[0].(type) {
	case *AttrRef, *Select:
	default:
		return ErrorValue()
	}
	e, in, ok := ev.definitionOf(args[0], s)
	if !ok {
		return UndefinedValue()
	}
	var re *pcre.Regexp
	if len(args) == 2 {
		v := ev.eval(args[1], s)
		var err error
		if re, err = ev.pattern(v.str, "i"); v.kind != String || err != nil {
			return ErrorValue()
		}
	}
	r.ev = ev
	r.walk(e, in)
	if ev.over {
		return ErrorValue()
	}
	slices.SortFunc(r.names, compareFold)
	names := slices.CompactFunc(r.names, EqualFold)
	if r.failed {
		names = nil
	}
	for i, name := range names {
		if len(name) > 7 && EqualFold(name[:7], "target.") {
			names[i] = name[7:]
		}
	}
	if re == nil {
		return ev.produce(strings.Join(names, ","))
	}
	return BoolValue(slices.ContainsFunc(names, func(s string) bool { return ev.findsText(re, s) }))
}

// findsText reports whether the pattern finds more than empty text in s.
func (ev *evaluator) findsText(re *pcre.Regexp, s string) bool {
	for at := 0; at < len(s); at++ {
		m, err := ev.find(re, s, at)
		if err != nil || m == nil {
			return false
		}
		if m[1] > m[0] {
			return true
		}
		at = m[0]
	}
	return false
}

// definitionOf finds the expression that a name or a selection stands for, and
// the record that expression stands in.
func (ev *evaluator) definitionOf(e Expr, s *scope) (def Expr, in *scope, ok bool) {
	switch e := e.(type) {
	case *AttrRef:
		if e.Absolute {
			s = s.root()
		}
		return defined(s, e.Name)
	case *Select:
		if x := ev.eval(e.X, s); x.kind == Record {
			return defined(x.box.rec, e.Name)
		}
	}
	return nil, nil, false
}

// defined finds the expression of a name, outwards from s.
func defined(s *scope, name string) (Expr, *scope, bool) {
	for c := s; c != nil; c = c.up {
		if c.ad == nil {
			continue
		}
		if e, ok := c.ad.Expr(name); ok {
			return e, c, true
		}
	}
	return nil, nil, false
}

// refWalk collects the names that are defined nowhere.
type refWalk struct {
	ev     *evaluator
	names  []string
	within []Expr // expressions being walked: one that refers to itself adds nothing
	failed bool   // a selection from what is no record
}

func (r *refWalk) walk(e Expr, s *scope) {
	if slices.Contains(r.within, e) {
		return
	}
	if len(r.within) == maxActive {
		r.ev.exhaust()
		return
	}
	r.within = append(r.within, e)
	defer func() { r.within = r.within[:len(r.within)-1] }()
	Walk(e, func(x Expr) bool {
		if r.failed || !r.ev.spend(1, 0) {
			return false
		}
		switch x := x.(type) {
		case *AttrRef:
			r.name(x, s)
		case *Select:
			r.selection(x, s)
			return false
		}
		return true
	})
}

func (r *refWalk) name(ref *AttrRef, s *scope) {
	if ref.Absolute {
		s = s.root()
	}
	r.lookUp(ref.Name, s)
}

func (r *refWalk) selection(sel *Select, s *scope) {
	switch x := r.ev.eval(sel.X, s); x.kind {
	case Undefined:
		r.names = append(r.names, Unparse(sel.X)+"."+sel.Name)
	case Record:
		r.lookUp(sel.Name, x.box.rec)
	default:
		r.failed = true
	}
}

// lookUp goes on with the expression of a name, or notes that there is none.
func (r *refWalk) lookUp(name string, s *scope) {
	if def, in, ok := defined(s, name); ok {
		r.walk(def, in)
	} else if r.ev.lookup(name, Fold(name), s).kind == Undefined {
		r.names = append(r.names, name)
	}
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
		if e, _, ok = defined(s, ref.Name); !ok {
			return UndefinedValue()
		}
	}
	var names []string
	Walk(e, func(e Expr) bool {
		if name := refName(e); name != "" {
			if ok, _ := ev.match(re, name); ok {
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

func refName(e Expr) string {
	switch e := e.(type) {
	case *AttrRef:
		return e.Name
	case *Select:
		return e.Name
	}
	return ""
}
