package jdl

// rewriter copies expressions with the text of strings and names changed.
type rewriter struct {
	text func(string) string        // the new text of a string or name
	err  func(pos Pos, text string) // a changed name that is no expression
}

func (rw *rewriter) expr(e Expr) Expr {
	switch e := e.(type) {
	case *Literal:
		return rw.literal(e)
	case *AttrRef:
		return rw.ref(e)
	case *Select:
		return &Select{at: e.at, X: rw.expr(e.X), Name: rw.text(e.Name)}
	case *Index:
		return &Index{at: e.at, X: rw.expr(e.X), Sub: rw.expr(e.Sub)}
	case *Unary:
		return &Unary{at: e.at, Op: e.Op, X: rw.expr(e.X)}
	case *Binary:
		return &Binary{at: e.at, Op: e.Op, X: rw.expr(e.X), Y: rw.expr(e.Y)}
	case *Cond:
		return &Cond{at: e.at, If: rw.expr(e.If), Then: rw.expr(e.Then), Else: rw.expr(e.Else)}
	case *Call:
		return &Call{at: e.at, Name: rw.text(e.Name), Args: rw.exprs(e.Args)}
	case *ListExpr:
		return &ListExpr{at: e.at, Elems: rw.exprs(e.Elems)}
	case *Ad:
		return rw.ad(e)
	}
	return e
}

func (rw *rewriter) exprs(es []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = rw.expr(e)
	}
	return out
}

func (rw *rewriter) ad(a *Ad) *Ad {
	out := &Ad{at: a.at}
	for _, t := range a.Attrs() {
		out.put(Attr{Name: rw.text(t.Name), Expr: rw.expr(t.Expr), NamePos: t.NamePos})
	}
	return out
}

func (rw *rewriter) literal(l *Literal) Expr {
	s, ok := l.Value.Str()
	if t := rw.text(s); ok && t != s {
		return &Literal{at: l.at, Value: StringValue(t)}
	}
	return l
}

// ref changes a name, which may thereby become a number or another
// expression.
func (rw *rewriter) ref(a *AttrRef) Expr {
	t := rw.text(a.Name)
	if t == a.Name {
		return a
	}
	if a.Absolute {
		t = "." + t
	}
	e, err := ParseExpr("", []byte(t))
	if err != nil {
		rw.err(a.pos, t)
		return a
	}
	return e
}

// references are the names that the expressions of a record use, folded, those
// in a SignificantAttributes list too.
func references(ad *Ad) map[string]bool {
	out := map[string]bool{}
	for _, a := range ad.Attrs() {
		significant := equalFold(a.Name, "SignificantAttributes")
		Walk(a.Expr, func(e Expr) bool {
			switch e := e.(type) {
			case *AttrRef:
				out[fold(e.Name)] = true
			case *Select:
				out[fold(e.Name)] = true
			case *Literal:
				if s, ok := e.Value.Str(); ok && significant {
					out[fold(s)] = true
				}
			}
			return true
		})
	}
	return out
}

// replaceRoot puts the parent's elements in place of root.InputSandbox[i] and
// root.InputSandbox.
func replaceRoot(e Expr, parent *Ad) Expr {
	switch e := e.(type) {
	case *ListExpr:
		out := make([]Expr, 0, len(e.Elems))
		for _, x := range e.Elems {
			out = append(out, replaceRoot(x, parent))
		}
		return &ListExpr{at: e.at, Elems: out}
	case *Index:
		l, isList := rootAttr(e.X, parent).(*ListExpr)
		i, isInt := intLiteral(e.Sub)
		if isList && isInt && i >= 0 && i < int64(len(l.Elems)) {
			return l.Elems[i]
		}
	case *Select:
		if x := rootAttr(e, parent); x != nil {
			return x
		}
	}
	return e
}

// rootAttr is the parent's expression that root.X names, or nil.
func rootAttr(e Expr, parent *Ad) Expr {
	s, ok := e.(*Select)
	if !ok {
		return nil
	}
	if a, ok := s.X.(*AttrRef); !ok || !equalFold(a.Name, "root") {
		return nil
	}
	x, _ := parent.Expr(s.Name)
	return x
}

func intLiteral(e Expr) (int64, bool) {
	if l, ok := e.(*Literal); ok {
		return l.Value.Int()
	}
	return 0, false
}
