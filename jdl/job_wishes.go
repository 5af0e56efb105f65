package jdl

import (
	"gridbroker/jdl/classad"
)

// Wishes are those clauses of Requirements that other languages have words of
// their own for.
type Wishes struct {
	Platform          string // other.GlueHostArchitecturePlatformType == "..."
	Host              string // other.GlueCEInfoHostName == "..."
	Inbound, Outbound bool   // other.GlueHostNetworkAdapterInboundIP, ...OutboundIP
}

// impliedBy are attributes in clauses that other attributes of a job, which
// are written themselves, add to its Requirements.
var impliedBy = map[string]bool{"gluecestatestatus": true, "glueceinfototalcpus": true, "gluehostarchitecturesmpsize": true}

// Wishes reads them; whole reports whether Requirements say nothing else but
// what other attributes imply.
func (j *Job) Wishes() (w Wishes, whole bool) {
	whole = true
	for _, c := range classad.Conjuncts(j.Requirements) {
		if !w.take(c) {
			whole = whole && !written(c) && impliedBy[classad.Fold(comparedName(c))]
		}
	}
	return w, whole
}

// take notes a clause that is a wish.
func (w *Wishes) take(e classad.Expr) bool {
	text := func(to *string) bool {
		b, ok := e.(*classad.Binary)
		if !ok || b.Op != classad.OpEq || *to != "" {
			return false
		}
		l, ok := b.Y.(*classad.Literal)
		if ok {
			*to, ok = l.Value.Str()
		}
		return ok
	}
	switch classad.Fold(comparedName(e)) {
	case "gluehostarchitectureplatformtype":
		return text(&w.Platform)
	case "glueceinfohostname":
		return text(&w.Host)
	case "gluehostnetworkadapterinboundip":
		w.Inbound = isSelect(e)
		return w.Inbound
	case "gluehostnetworkadapteroutboundip":
		w.Outbound = isSelect(e)
		return w.Outbound
	}
	return false
}

func isSelect(e classad.Expr) bool {
	_, ok := e.(*classad.Select)
	return ok
}

// comparedName is X of other.X, alone or left of an operator.
func comparedName(e classad.Expr) string {
	if b, ok := e.(*classad.Binary); ok {
		e = b.X
	}
	if s, ok := e.(*classad.Select); ok {
		return s.Name
	}
	return ""
}

// written reports whether a clause stands in the user's text: those made here
// are parsed by themselves and begin at line 1, column 1.
func written(e classad.Expr) bool {
	first := classad.Pos{}
	classad.Walk(e, func(e classad.Expr) bool {
		if p := e.Pos(); p.Line > 0 && (first.Line == 0 || p.Line < first.Line || p.Line == first.Line && p.Col < first.Col) {
			first = p
		}
		return true
	})
	return first.Line > 1 || first.Col > 1
}
