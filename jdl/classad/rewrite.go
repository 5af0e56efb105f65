package classad

// Rewriter copies expressions with the text of strings and names changed.
type Rewriter struct {
	Text func(string) string        // the new text of a string or name
	Bad  func(pos Pos, text string) // hears of a changed name that is no expression
}

// Expr returns the changed copy; what does not change may be shared.
func (rw *Rewriter) Expr(e Expr) Expr {
	switch e := e.(type) {
	case *Literal:
		return rw.literal(e)
	case *AttrRef:
		return rw.ref(e)
	case *Select:
		return &Select{at: e.at, X: rw.Expr(e.X), Name: rw.Text(e.Name)}
	case *Index:
		return &Index{at: e.at, X: rw.Expr(e.X), Sub: rw.Expr(e.Sub)}
	case *Unary:
		return &Unary{at: e.at, Op: e.Op, X: rw.Expr(e.X)}
	case *Binary:
		return &Binary{at: e.at, Op: e.Op, X: rw.Expr(e.X), Y: rw.Expr(e.Y)}
	case *Cond:
		return &Cond{at: e.at, If: rw.Expr(e.If), Then: rw.Expr(e.Then), Else: rw.Expr(e.Else)}
	case *Call:
		return &Call{at: e.at, Name: rw.Text(e.Name), Args: rw.exprs(e.Args)}
	case *ListExpr:
		return &ListExpr{at: e.at, Elems: rw.exprs(e.Elems)}
	case *Ad:
		return rw.ad(e)
	}
	return e
}

func (rw *Rewriter) exprs(es []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = rw.Expr(e)
	}
	return out
}

func (rw *Rewriter) ad(a *Ad) *Ad {
	out := &Ad{at: a.at}
	for _, t := range a.Attrs() {
		out.Put(Attr{Name: rw.Text(t.Name), Expr: rw.Expr(t.Expr), NamePos: t.NamePos})
	}
	return out
}

func (rw *Rewriter) literal(l *Literal) Expr {
	s, ok := l.Value.Str()
	if t := rw.Text(s); ok && t != s {
		return &Literal{at: l.at, Value: StringValue(t)}
	}
	return l
}

// ref changes a name, which may thereby become a number or another
// expression.
func (rw *Rewriter) ref(a *AttrRef) Expr {
	t := rw.Text(a.Name)
	if t == a.Name {
		return a
	}
	if a.Absolute {
		t = "." + t
	}
	e, err := ParseExpr("", []byte(t))
	if err != nil {
		rw.Bad(a.pos, t)
		return a
	}
	return e
}
