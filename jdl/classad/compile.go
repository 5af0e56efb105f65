package classad

import "slices"

// Program is an expression compiled for one job and all the rows of a table.
// Its answers are those of Ad.Eval, row by row, except that an expression made
// to waste time is ERROR for the rows that come after ten million steps. A
// Program is for one goroutine at a time.
type Program struct {
	expr  Expr
	self  *Ad
	table *Table
	code  code
	parts []part // the operands of the && at the top
	order []int  // of parts, cheapest first
	plain bool   // evaluate every row with the reference evaluator
	*account
	ev *evaluator
}

// account is what programs and evaluations of one job have cost together.
type account struct {
	spent int // steps of the reference evaluator, of whole rows, and of code that gave a row up
	nodes int // compiled
}

// part is one conjunct.
type part struct {
	expr   Expr
	code   code
	filter filter // nil: ask code
}

// filter keeps the rows for which a conjunct is true, in order and in place.
type filter func(rows []int32) []int32

// Bounds beyond which a program leaves everything to the reference evaluator,
// so that its limits hold in the same way.
const (
	maxNodes = 100000 // compiled, inlined ones each time they are met
	maxInner = 100    // attributes inlined, one inside the other
	heavy    = 1000   // steps of the reference evaluator in one row
	maxSpent = 20 * maxSteps
	maxTotal = 10 * maxNodes // compiled, of all programs of an account
)

// Compile compiles an expression of self, which may be nil, against the rows
// of a table.
func Compile(e Expr, self *Ad, t *Table) *Program { return NewEvaluation(self).Compile(e, t) }

func compile(e Expr, self *Ad, t *Table, a *account, s *searches) *Program {
	p := &Program{expr: e, self: self, table: t, account: a, ev: newEvaluatorWith(nil, s)}
	c := compiler{p: p}
	if a.nodes > maxTotal {
		c.nodes = maxNodes // nothing more
	}
	p.code = c.expr(e)
	for _, x := range Conjuncts(e) {
		k := p.code
		if x != e {
			k = c.expr(x)
		}
		p.parts = append(p.parts, part{expr: x, code: k, filter: c.filter(x, k)})
	}
	a.nodes += c.nodes
	p.plain = c.over || p.code.cost.steps > maxSteps-2*heavy
	p.order = make([]int, len(p.parts))
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortStableFunc(p.order, func(i, j int) int { return p.parts[i].code.cost.work - p.parts[j].code.cost.work })
	return p
}

// Eval evaluates the expression for one row.
func (p *Program) Eval(row int) Value {
	if p.plain || p.wasted() {
		return p.reference(row)
	}
	p.ev.reset()
	v := p.code.eval(int32(row))
	if p.tooHeavy() {
		return p.reference(row)
	}
	return v
}

// wasted reports whether the expression has had all that it may cost.
func (p *Program) wasted() bool { return p.spent > maxSpent }

// tooHeavy reports whether a row is for the reference evaluator, and counts what has been done for it.
func (p *Program) tooHeavy() bool {
	if p.ev.steps <= heavy && !p.ev.over {
		return false
	}
	p.spent += costOf(p.ev)
	return true
}

// reference evaluates with the reference evaluator. Once that has cost too
// much for all rows together, the rest is ERROR.
func (p *Program) reference(row int) Value { return p.referenceOf(p.expr, row) }

func (p *Program) referenceOf(e Expr, row int) Value {
	if p.wasted() {
		return ErrorValue()
	}
	ev := newEvaluator(nil)
	ev.searches = p.ev.searches
	v := ev.run(e, matchScope(p.self, p.table.rows[row]))
	p.spent += costOf(ev)
	return v
}

// Filter keeps those of the given rows for which the expression is the
// boolean true. It works in place.
func (p *Program) Filter(rows []int32) []int32 {
	if p.plain || len(p.parts) == 1 && p.parts[0].filter == nil {
		return keep(rows, func(r int32) bool { return p.Eval(int(r)).IsTrue() })
	}
	for _, i := range p.order {
		if len(rows) == 0 {
			break
		}
		if f := p.parts[i].filter; f != nil {
			rows = f(rows)
			continue
		}
		rows = keep(rows, func(r int32) bool { return p.holds(i, r) })
	}
	return rows
}

// holds tells whether a conjunct is true for a row.
func (p *Program) holds(i int, r int32) bool {
	if p.wasted() {
		return false
	}
	p.ev.reset()
	t := p.parts[i].code.truth(r)
	if p.tooHeavy() {
		return p.reference(int(r)).IsTrue()
	}
	return t == isTrue
}

func keep(rows []int32, test func(r int32) bool) []int32 {
	out := rows[:0]
	for _, r := range rows {
		if test(r) {
			out = append(out, r)
		}
	}
	return out
}

// Values evaluates the expression, a Rank, for the given rows.
func (p *Program) Values(rows []int32) []Value {
	vs := make([]Value, len(rows))
	ints := p.code.int()
	for i, r := range rows {
		if ints != nil && !p.plain {
			if n, ok := ints(r); ok {
				vs[i] = IntValue(n)
				continue
			}
		}
		vs[i] = p.Eval(int(r))
	}
	return vs
}

// reset gives an evaluator its whole budget again.
func (ev *evaluator) reset() { ev.steps, ev.bytes, ev.over = 0, 0, false }
