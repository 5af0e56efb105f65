package jdl

import (
	"strings"

	"gridbroker/jdl/classad"
)

// judgeDialect decides by evidence: a name or expression only gLite has, then
// a name or placeholder only DIRAC has. Without evidence it is gLite.
func judgeDialect(ad *classad.Ad) Dialect {
	dirac, ours := false, false
	for _, a := range ad.Attrs() {
		def := findAttr(a.Name)
		if def != nil && def.mode&gliteOnly != 0 {
			return GLite
		}
		if def != nil && def.mode&diracOnly != 0 || strings.HasPrefix(classad.Fold(a.Name), "parameters.") {
			dirac = true
		}
		dirac = dirac || classad.EqualFold(a.Name, "OutputData") && namesOnly(a.Expr)
		ours = ours || def != nil && def.mode&(inOurs|inDIRAC) == inOurs
		if s, ok := literalText(a.Expr); ok {
			if strings.Contains(s, paramMark) {
				return GLite
			}
			dirac = dirac || hasPlaceholder(s) && hasAttr(ad, "Parameters")
		}
	}
	if dirac || hasAttr(ad, "CPUTime") && !ours {
		return DIRAC
	}
	return GLite
}

func hasAttr(ad *classad.Ad, name string) bool {
	_, ok := ad.Expr(name)
	return ok
}

// literalText is the text of a string literal.
func literalText(e classad.Expr) (string, bool) {
	if l, ok := e.(*classad.Literal); ok {
		return l.Value.Str()
	}
	return "", false
}

// namesOnly reports whether an expression is a string or a list of strings:
// OutputData, which in gLite is made of records.
func namesOnly(e classad.Expr) bool {
	if l, ok := e.(*classad.ListExpr); ok {
		for _, x := range l.Elems {
			if !namesOnly(x) {
				return false
			}
		}
		return len(l.Elems) > 0
	}
	_, ok := literalText(e)
	return ok
}
