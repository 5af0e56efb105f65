package jdl

import "gridbroker/jdl/classad"

// references are the names that the expressions of a record use, folded, those
// in a SignificantAttributes list too.
func references(ad *classad.Ad) map[string]bool {
	out := map[string]bool{}
	for _, a := range ad.Attrs() {
		significant := classad.EqualFold(a.Name, "SignificantAttributes")
		classad.Walk(a.Expr, func(e classad.Expr) bool {
			switch e := e.(type) {
			case *classad.AttrRef:
				out[classad.Fold(e.Name)] = true
			case *classad.Select:
				out[classad.Fold(e.Name)] = true
			case *classad.Literal:
				if s, ok := e.Value.Str(); ok && significant {
					out[classad.Fold(s)] = true
				}
			}
			return true
		})
	}
	return out
}

// replaceRoot puts the parent's elements in place of root.InputSandbox[i] and
// root.InputSandbox.
func replaceRoot(e classad.Expr, parent *classad.Ad) classad.Expr {
	switch e := e.(type) {
	case *classad.ListExpr:
		out := make([]classad.Expr, 0, len(e.Elems))
		for _, x := range e.Elems {
			_, named := x.(*classad.Select)
			if l, isList := replaceRoot(x, parent).(*classad.ListExpr); named && isList { // {"own", root.InputSandbox}
				out = append(out, l.Elems...)
				continue
			}
			out = append(out, replaceRoot(x, parent))
		}
		return classad.Placed(classad.NewList(out...), e.Pos())
	case *classad.Index:
		of := rootAttr(e.X, parent)
		l, isList := of.(*classad.ListExpr)
		i, isInt := intLiteral(e.Sub)
		if only, ok := of.(*classad.Literal); ok && isInt && i == 0 {
			return only
		}
		if isList && isInt && i >= 0 && i < int64(len(l.Elems)) {
			return l.Elems[i]
		}
	case *classad.Select:
		if x := rootAttr(e, parent); x != nil {
			return x
		}
	}
	return e
}

// rootAttr is the parent's expression that root.X names, or nil.
func rootAttr(e classad.Expr, parent *classad.Ad) classad.Expr {
	s, ok := e.(*classad.Select)
	if !ok {
		return nil
	}
	if a, ok := s.X.(*classad.AttrRef); !ok || !classad.EqualFold(a.Name, "root") {
		return nil
	}
	x, _ := parent.Expr(s.Name)
	return x
}

func intLiteral(e classad.Expr) (int64, bool) {
	if l, ok := e.(*classad.Literal); ok {
		return l.Value.Int()
	}
	return 0, false
}
