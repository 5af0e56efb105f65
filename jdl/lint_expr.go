package jdl

import (
	"fmt"
	"math"
	"strings"

	"gridbroker/jdl/classad"
)

// matchExpr checks an expression that is evaluated against a resource.
func (l *linter) matchExpr(ad *classad.Ad, a classad.Attr) {
	isRank := classad.EqualFold(a.Name, "Rank")
	if classad.EqualFold(a.Name, "CERequirements") && batchWord(ad, a.Expr) != "" {
		return // which the reader of the job tells
	}
	operands(l, ad, a.Expr)
	if isRank {
		l.constant(ad, a.Expr, "Rank", isRank)
		return
	}
	clauses := classad.Conjuncts(a.Expr)
	for _, c := range clauses {
		l.constant(ad, c, "this clause", isRank)
	}
	l.ranges(ad, clauses)
}

// operands checks what an expression over resources names and compares.
func operands(l *linter, ad *classad.Ad, e classad.Expr) {
	classad.Walk(e, func(e classad.Expr) bool {
		switch e := e.(type) {
		case *classad.Select:
			l.otherAttr(e)
			return otherName(e) == ""
		case *classad.AttrRef:
			l.bareName(ad, e)
		case *classad.Binary:
			l.comparison(e)
		case *classad.Call:
			l.call(e)
		}
		return true
	})
}

// otherAttr checks that the resource's attribute exists.
func (l *linter) otherAttr(e *classad.Select) {
	name := otherName(e)
	if name == "" {
		return
	}
	if _, ok := l.glue.find(name); ok {
		return
	}
	if near := l.glue.Nearest(name); near != "" {
		l.warn(e.Pos(), "unknown-glue-name", "did you mean other."+near+"?", "no schema has an attribute %s", name)
		return
	}
	l.warn(e.Pos(), "unknown-glue-name", "it is UNDEFINED wherever it is not published", "no schema has an attribute %s", name)
}

// pseudoNames are names that need no attribute.
var pseudoNames = map[string]bool{
	"other": true, "target": true, "my": true, "self": true, "parent": true, "root": true, "toplevel": true, "null": true,
}

// bareName checks a name that stands alone: it must be one of the job's
// attributes.
func (l *linter) bareName(ad *classad.Ad, e *classad.AttrRef) {
	_, has := ad.Expr(e.Name)
	_, inTop := l.top.Expr(e.Name)
	if has || inTop || pseudoNames[classad.Fold(e.Name)] || strings.Contains(e.Name, paramMark) {
		return
	}
	if a, ok := l.glue.find(e.Name); ok {
		l.warn(e.Pos(), "other-missing", "write other."+a.name, "%s is an attribute of the resource, not of the job", e.Name)
		return
	}
	l.warn(e.Pos(), "unquoted-word", fmt.Sprintf("write %q for a text, other.%s for what the resource publishes", e.Name, e.Name), "%s is no attribute of the job: UNDEFINED", e.Name)
}

// constant evaluates an expression that does not look at the resource.
func (l *linter) constant(ad *classad.Ad, e classad.Expr, what string, isRank bool) {
	if !isConstant(ad, e, map[string]bool{}) {
		return
	}
	v := ad.Eval(e, nil)
	switch {
	case v.IsUndefined() || v.IsError():
		l.warn(firstPos(e), "always-"+classad.Fold(describe(v)), "no resource can match", "%s is always %s", what, describe(v))
	case isRank:
	case v.IsTrue():
	case v.Kind() == classad.Bool:
		l.warn(firstPos(e), "always-false", "no resource can match", "%s is always false", what)
	default:
		l.warn(firstPos(e), "not-boolean", "no resource can match", "%s is %s, not a boolean", what, describe(v))
	}
}

// isConstant reports whether an expression has the same value for every
// resource, at any time. The job's attributes that it names count with what
// they say; those in seen have been looked at.
func isConstant(ad *classad.Ad, e classad.Expr, seen map[string]bool) bool {
	same := true
	classad.Walk(e, func(e classad.Expr) bool {
		switch e := e.(type) {
		case *classad.AttrRef:
			name := classad.Fold(e.Name)
			same = same && name != "other" && name != "target"
			if x, own := ad.Expr(e.Name); same && own && !seen[name] {
				seen[name] = true
				same = isConstant(ad, x, seen)
			}
		case *classad.Call:
			switch classad.Fold(e.Name) {
			case "random", "time", "currenttime", "daytime", "abstime", "timezoneoffset", "unparse", "eval":
				same = false
			}
		}
		return same
	})
	return same
}

// firstPos is the place of the leftmost part of an expression.
func firstPos(e classad.Expr) classad.Pos {
	best := e.Pos()
	classad.Walk(e, func(e classad.Expr) bool {
		if p := e.Pos(); p.Line > 0 && (p.Line < best.Line || p.Line == best.Line && p.Col < best.Col) {
			best = p
		}
		return true
	})
	return best
}

// isComparison reports whether op compares strictly: with another type it is
// ERROR.
func isComparison(op classad.Op) bool {
	switch op {
	case classad.OpLt, classad.OpLe, classad.OpGt, classad.OpGe, classad.OpEq, classad.OpNe:
		return true
	}
	return false
}

// comparison checks one side that is the resource's attribute against the
// other side.
func (l *linter) comparison(e *classad.Binary) {
	for _, side := range [][2]classad.Expr{{e.X, e.Y}, {e.Y, e.X}} {
		name := otherName(side[0])
		if name == "" {
			continue
		}
		a, known := l.glue.find(name)
		lit, isLit := side[1].(*classad.Literal)
		if f, ok := reckoned(side[1]); ok && !isLit && known && isComparison(e.Op) && a.kind != classad.String {
			l.unit(side[1], a.name, f)
		}
		switch {
		case isComparison(e.Op) && known && a.list:
			l.warn(e.Pos(), "list-compared", fmt.Sprintf(`write Member("...", other.%s)`, a.name),
				"%s is a list: comparing it with %s is always ERROR", a.name, e.Op)
		case isComparison(e.Op) && isLit && lit.Value.IsUndefined():
			l.warn(e.Pos(), "always-undefined", fmt.Sprintf("write isUndefined(other.%s)", name), "comparing with undefined is always UNDEFINED")
		case isComparison(e.Op) && known && isLit:
			l.types(e, a, lit)
		case (e.Op == classad.OpIs || e.Op == classad.OpIsnt) && isLit:
			l.caseMatters(e, name, lit)
		}
	}
}

// types checks a literal against the type of the attribute it is compared
// with, and the unit of a number.
func (l *linter) types(e *classad.Binary, a glueAttr, lit *classad.Literal) {
	f, isNumber := lit.Value.Number()
	s, isText := lit.Value.Str()
	switch {
	case a.kind == classad.Int && isText:
		hint := ""
		if _, ok := readNumber(s); ok {
			hint = "remove the quotes: " + s
		}
		l.warn(lit.Pos(), "always-error", hint, "%s is a number: comparing it with a string is always ERROR", a.name)
	case a.kind == classad.String && (isNumber || lit.Value.Kind() == classad.Bool):
		l.warn(lit.Pos(), "always-error", fmt.Sprintf("write %q", classad.Unparse(lit)), "%s is a string: comparing it with %s is always ERROR", a.name, describe(lit.Value))
	case a.kind == classad.Bool && isText:
		l.warn(lit.Pos(), "always-error", "remove the quotes", "%s is a boolean: comparing it with a string is always ERROR", a.name)
	case isNumber:
		l.unit(lit, a.name, f)
	}
}

// reckoned is the value of an expression that has plain numbers alone, such as 24*60.
func reckoned(e classad.Expr) (float64, bool) {
	b, ok := e.(*classad.Binary)
	if !ok {
		lit, ok := e.(*classad.Literal)
		if !ok || lit.Unit != 0 {
			return 0, false
		}
		return lit.Value.Number()
	}
	x, known := reckoned(b.X)
	y, also := reckoned(b.Y)
	switch {
	case !known || !also:
	case b.Op == classad.OpAdd:
		return x + y, true
	case b.Op == classad.OpSub:
		return x - y, true
	case b.Op == classad.OpMul:
		return x * y, true
	}
	return 0, false
}

// caseMatters warns of =?= on the one text whose case differs between GLUE 1.3
// and 2.0.
func (l *linter) caseMatters(e *classad.Binary, name string, lit *classad.Literal) {
	if s, ok := lit.Value.Str(); ok && classad.EqualFold(s, "production") && strings.HasSuffix(classad.Fold(name), "status") {
		l.warn(e.Pos(), "case", "write ==", "%s tells Production from production, and both are published", e.Op)
	}
}

// Numbers beyond these are more likely in another unit.
const (
	longMinutes  = 30 * 24 * 60 // a month; queues that last longer are rare
	shortSeconds = 3600         // nobody asks for less than an hour in seconds
	lowMB        = 64
	highMB       = 8 << 20 // 8 TB
)

// unit warns of a number that looks as if it counted in another unit.
func (l *linter) unit(e classad.Expr, name string, f float64) {
	lit, isLit := e.(*classad.Literal)
	switch unit := attrUnit(name); {
	case isLit && lit.Unit != 0 && lit.Unit|0x20 != 'b' && (unit == unitMB || unit == unitGB):
		l.warn(e.Pos(), "unit", "write the number without a suffix", "%s counts MB, and %s is %s", name, classad.Unparse(lit), formatNumber(f))
	case unit == unitMinutes && f > longMinutes:
		l.warn(e.Pos(), "unit", fmt.Sprintf("%s seconds are %s minutes", formatNumber(f), formatNumber(f/60)), "%s counts minutes: %s are %.0f days", name, formatNumber(f), f/1440)
	case unit == unitSeconds && f > 0 && f < shortSeconds && f == float64(int(f)):
		l.warn(e.Pos(), "unit", fmt.Sprintf("%s minutes are %s seconds", formatNumber(f), formatNumber(f*60)), "%s counts seconds: %s are few", name, formatNumber(f))
	case unit == unitMB:
		l.memory(e, name, f)
	}
}

func (l *linter) memory(e classad.Expr, name string, f float64) {
	switch {
	case f > 0 && f < lowMB:
		l.warn(e.Pos(), "unit", fmt.Sprintf("%s GB are %s MB", formatNumber(f), formatNumber(f*1024)), "%s counts MB: %s are few", name, formatNumber(f))
	case f > highMB:
		l.warn(e.Pos(), "unit", fmt.Sprintf("%s kB are %s MB", formatNumber(f), formatNumber(math.Round(f/1024))), "%s counts MB: %s are %.0f TB", name, formatNumber(f), f/(1<<20))
	}
}

// call checks the arguments of functions that want lists, and patterns that
// look like a shell's.
func (l *linter) call(e *classad.Call) {
	switch classad.Fold(e.Name) {
	case "member", "identicalmember":
		if len(e.Args) == 2 {
			l.memberArgs(e)
		}
	case "regexp":
		if len(e.Args) >= 2 {
			l.pattern(e)
		}
	}
}

func (l *linter) memberArgs(e *classad.Call) {
	first, firstKnown := l.glue.find(otherName(e.Args[0]))
	second, secondKnown := l.glue.find(otherName(e.Args[1]))
	_, secondText := literalText(e.Args[1])
	switch {
	case firstKnown && first.list && (secondText || secondKnown && !second.list):
		l.warn(e.Pos(), "swapped", "the list is the second argument", "%s looks for a list in a text: always ERROR", e.Name)
	case firstKnown && first.list:
		l.warn(e.Args[0].Pos(), "swapped", "the list is the second argument", "%s is a list and cannot be a member: always ERROR", first.name)
	case secondKnown && !second.list:
		l.warn(e.Args[1].Pos(), "no-list", "compare it with ==", "%s is no list: %s is always ERROR", second.name, e.Name)
	}
}

func (l *linter) pattern(e *classad.Call) {
	a, known := l.glue.find(otherName(e.Args[1]))
	if known && a.list {
		l.warn(e.Args[1].Pos(), "list-compared", "write regexpMember(pattern, other."+a.name+")", "%s is a list: regexp is always ERROR", a.name)
	}
	lit, ok := e.Args[0].(*classad.Literal)
	if s, isText := stringOf(lit); ok && isText && looksLikeGlob(s) {
		l.warn(lit.Pos(), "glob", "write .* for any text", "%q: in a regular expression * repeats the character before it", s)
	}
}

// stringOf is the text of a literal that may be nil.
func stringOf(l *classad.Literal) (string, bool) {
	if l == nil {
		return "", false
	}
	return l.Value.Str()
}

// looksLikeGlob reports whether * follows a letter, a digit or a dash, as in
// a shell's pattern and hardly ever in a regular expression.
func looksLikeGlob(s string) bool {
	for i := 1; i < len(s); i++ {
		c := s[i-1]
		plain := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-'
		escaped := i > 1 && s[i-2] == '\\'
		if s[i] == '*' && plain && !escaped {
			return true
		}
	}
	return false
}
