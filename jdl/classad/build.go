package classad

// NewLiteral returns a constant node.
func NewLiteral(v Value) *Literal { return &Literal{Value: v} }

// NewAttrRef returns a reference to an attribute.
func NewAttrRef(name string) *AttrRef { return &AttrRef{Name: name, key: Fold(name)} }

// NewSelect returns x.name, for instance other.GlueCEUniqueID.
func NewSelect(x Expr, name string) *Select { return &Select{X: x, Name: name} }

// NewList returns a list.
func NewList(elems ...Expr) *ListExpr { return &ListExpr{Elems: elems} }

// NewAd returns an empty record.
func NewAd() *Ad { return &Ad{} }

// And returns x && y, the other one where one is nil.
func And(x, y Expr) Expr {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return &Binary{Op: OpAnd, X: x, Y: y}
}

// Walk calls f for e and, where f returns true, for the nodes below it.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	switch e := e.(type) {
	case *Select:
		Walk(e.X, f)
	case *Index:
		Walk(e.X, f)
		Walk(e.Sub, f)
	case *Unary:
		Walk(e.X, f)
	case *Binary:
		Walk(e.X, f)
		Walk(e.Y, f)
	case *Cond:
		Walk(e.If, f)
		Walk(e.Then, f)
		Walk(e.Else, f)
	case *Call:
		walkAll(e.Args, f)
	case *ListExpr:
		walkAll(e.Elems, f)
	case *Ad:
		for _, t := range e.Attrs() {
			Walk(t.Expr, f)
		}
	}
}

func walkAll(es []Expr, f func(Expr) bool) {
	for _, e := range es {
		Walk(e, f)
	}
}

// Conjuncts returns the operands of the && at the top of an expression, in
// order, those in parentheses too. An expression without && is its own single
// conjunct.
func Conjuncts(e Expr) []Expr {
	b, ok := e.(*Binary)
	if !ok || b.Op != OpAnd {
		return []Expr{e}
	}
	return append(Conjuncts(b.X), Conjuncts(b.Y)...)
}
