package jdl

import (
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// judgeDialect decides by evidence: an expression only gLite has, or a name, unless
// more names are there that only DIRAC has; then a name or placeholder only DIRAC
// has. Without evidence it is gLite.
func judgeDialect(ad *classad.Ad) Dialect {
	switch glite, alien, judges := namesOf(ad); {
	case judges || glite > 0 && alien <= glite:
		return GLite
	case glite > 0:
		return DIRAC
	}
	dirac, ours := false, false
	for _, a := range ad.Attrs() {
		def := findAttr(a.Name)
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

// namesOf counts the names that only gLite has and those that only DIRAC has, and
// tells whether an expression over resources is among them, as only gLite has.
func namesOf(ad *classad.Ad) (glite, dirac int, judges bool) {
	for _, a := range ad.Attrs() {
		def := findAttr(a.Name)
		switch {
		case def == nil:
		case def.mode&gliteOnly != 0:
			glite++
			judges = judges || def.typ == tExpr
		case def.mode&diracOnly != 0:
			dirac++
		}
	}
	return glite, dirac, judges
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

// alienNames are attributes that only AliEn's JDL has, folded.
var alienNames = map[string]bool{
	"packages": true, "inputfile": true, "split": true, "splitarguments": true, "splitmaxinputfilenumber": true, "splitmaxinputfilesize": true,
	"inputdatacollection": true, "inputdatalist": true, "inputdatalistformat": true, "validationcommand": true, "ttl": true, "jdlpath": true,
	"jdlvariables": true, "jdlarguments": true, "outputdir": true, "outputarchive": true, "outputfile": true, "masterresubmitthreshold": true,
	"maxfailfraction": true, "maxwaitingtime": true, "executableprefix": true, "workdirectorysize": true, "jobtag": true, "orderlfn": true,
}

// alien finds evidence of AliEn's JDL: two of its names, or a file with the
// prefix of its catalogue.
func alien(ad *classad.Ad) (at classad.Attr, found bool) {
	names := 0
	for _, a := range ad.Attrs() {
		if alienNames[classad.Fold(a.Name)] {
			if names++; names == 1 {
				at = a
			}
		}
		if hasLF(a.Expr) {
			return a, true
		}
	}
	return at, names > 1
}

// clientSettings finds what only the configuration of gLite's client has.
func clientSettings(ad *classad.Ad) (at classad.Attr, found bool) {
	for _, name := range []string{"WMProxyEndPoints", "WmsClient", "NSAddresses", "LBAddresses"} {
		if at, found = ad.Attr(name); found {
			return at, true
		}
	}
	return at, false
}

// hasLF reports whether a string, or one of a list, begins with LF: or PF:.
func hasLF(e classad.Expr) bool {
	if l, ok := e.(*classad.ListExpr); ok {
		return slices.ContainsFunc(l.Elems, hasLF)
	}
	s, _ := literalText(e)
	return strings.HasPrefix(s, "LF:") || strings.HasPrefix(s, "PF:")
}
