package jdl

import "strings"

// judgeDialect decides by evidence: a name or expression only gLite has, then
// a name or placeholder only DIRAC has. Without evidence it is gLite.
func judgeDialect(ad *Ad) Dialect {
	dirac := false
	for _, a := range ad.Attrs() {
		def := findAttr(a.Name)
		if def != nil && def.mode&gliteOnly != 0 {
			return GLite
		}
		if def != nil && def.mode&diracOnly != 0 || strings.HasPrefix(fold(a.Name), "parameters.") {
			dirac = true
		}
		if s, ok := literalText(a.Expr); ok {
			if strings.Contains(s, paramMark) {
				return GLite
			}
			dirac = dirac || hasPlaceholder(s) && hasAttr(ad, "Parameters")
		}
	}
	if dirac || hasAttr(ad, "CPUTime") && !hasAttr(ad, "WallTime") {
		return DIRAC
	}
	return GLite
}

func hasAttr(ad *Ad, name string) bool {
	_, ok := ad.Expr(name)
	return ok
}

// literalText is the text of a string literal.
func literalText(e Expr) (string, bool) {
	if l, ok := e.(*Literal); ok {
		return l.Value.Str()
	}
	return "", false
}
