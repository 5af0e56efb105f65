package classad

// Clause tells what one operand of the && at the top of an expression gave.
type Clause struct {
	Expr                          Expr
	True, False, Undefined, Error int      // numbers of rows
	Attributes                    []string // of the other side, that no row has
}

// Explain evaluates each operand of the && at the top for every row by
// itself, whatever the others say. A number counts as a boolean where there
// are several operands, and as an error where there is only one.
func (p *Program) Explain() []Clause {
	clauses := make([]Clause, len(p.parts))
	for i := range p.parts {
		part := &p.parts[i]
		cl := &clauses[i]
		cl.Expr = part.expr
		cl.Attributes = p.missing(part.expr)
		for r := range p.table.rows {
			switch p.clauseTruth(part, int32(r)) {
			case isTrue:
				cl.True++
			case isFalse:
				cl.False++
			case isUndefined:
				cl.Undefined++
			default:
				cl.Error++
			}
		}
	}
	return clauses
}

func (p *Program) clauseTruth(part *part, r int32) truth3 {
	v := Value{}
	if p.plain {
		v = p.referenceOf(part.expr, int(r))
	} else {
		p.ev.reset()
		v = part.code.eval(r)
	}
	if len(p.parts) == 1 && (v.kind == Int || v.kind == Real) {
		return isError
	}
	return v.truth3()
}

// missing lists the attributes of the other side in an expression that are
// UNDEFINED in every row.
func (p *Program) missing(e Expr) []string {
	var names []string
	asked := map[string]bool{}
	Walk(e, func(e Expr) bool {
		s, ok := e.(*Select)
		if !ok {
			return true
		}
		ref, ok := s.X.(*AttrRef)
		if key := Fold(s.Name); ok && !asked[key] && (EqualFold(ref.Name, "other") || EqualFold(ref.Name, "target")) {
			asked[key] = true
			if p.table.column(s.Name).empty() {
				names = append(names, s.Name)
			}
		}
		return true
	})
	return names
}

func (c *column) empty() bool {
	for _, k := range c.kinds {
		if k != Undefined {
			return false
		}
	}
	return true
}
