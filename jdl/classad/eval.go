package classad

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Bounds of one evaluation. Beyond them the result is ERROR.
const (
	maxSteps  = 500_000  // nodes and list elements visited
	maxDepth  = 20_000   // recursion
	maxActive = 500      // attributes being evaluated, one inside the other
	maxBytes  = 64 << 20 // text and lists produced
)

// evaluator is the reference evaluator: it walks the tree.
type evaluator struct {
	steps, depth, bytes int
	over                bool // a bound was met: the whole result is ERROR
	active              []active
	now                 func() time.Time
	random              func() float64 // in [0, 1)
	functions           map[string]*function
	parse               func(file string, src []byte, opts ...Option) (Expr, error)
	*searches
}

// active is an attribute under evaluation.
type active struct {
	ad *Ad
	i  int
}

func newEvaluator(now func() time.Time) *evaluator { return newEvaluatorWith(now, newSearches()) }

// newEvaluatorWith shares the allowance of searches.
func newEvaluatorWith(now func() time.Time, s *searches) *evaluator {
	if now == nil {
		now = time.Now
	}
	return &evaluator{now: now, random: rand.Float64, functions: functions, parse: ParseExpr, searches: s}
}

// Evaluation evaluates expressions of one record against one other after the
// other. All of them share one allowance for regular expressions that go back
// too often, where Ad.Eval gives each a fresh one, and one of ten million steps for
// those that take very many, its programs' included. It is for one goroutine at a time.
type Evaluation struct {
	self     *Ad
	searches *searches
	*account // of evaluations that took many
}

// NewEvaluation is for expressions of self, which may be nil.
func NewEvaluation(self *Ad) *Evaluation {
	if self == nil {
		self = NewAd()
	}
	return &Evaluation{self: self, searches: newSearches(), account: new(account)}
}

// Compile is for many rows of a table, on the account of the evaluation.
func (x *Evaluation) Compile(e Expr, t *Table) *Program {
	return compile(e, x.self, t, x.account, x.searches)
}

// Eval is Ad.Eval.
func (x *Evaluation) Eval(e Expr, other Scope) Value {
	if x.spent > maxSpent {
		return ErrorValue()
	}
	ev := newEvaluatorWith(nil, x.searches)
	v := ev.run(e, matchScope(x.self, other))
	if cost := costOf(ev); cost > heavy {
		x.spent += cost
	}
	return v
}

// errTooLong is why what comes after very many steps is ERROR.
var errTooLong = errors.New("the expression takes too long")

// Err tells why expressions, or calls of regexp and its kin in them, were ERROR:
// nil when none was because of an allowance.
func (x *Evaluation) Err() error {
	if x.spent > maxSpent {
		return errTooLong
	}
	return x.searches.err
}

// Eval evaluates an expression as it would stand in a, matched against other,
// which may be nil. Any result is a value: UNDEFINED and ERROR are two of
// them. An *Ad as other is evaluated with the sides swapped.
func (a *Ad) Eval(e Expr, other Scope) Value { return NewEvaluation(a).Eval(e, other) }

// EvalAttr evaluates an attribute of a; see Eval.
func (a *Ad) EvalAttr(name string, other Scope) Value {
	return newEvaluator(nil).attrOf(matchScope(a, other), name)
}

// Lookup implements Scope: it evaluates an attribute of a on its own.
func (a *Ad) Lookup(name string) (Value, bool) {
	if a.find(Fold(name)) < 0 {
		return Value{}, false
	}
	return a.EvalAttr(name, nil), true
}

// run evaluates from the top.
func (ev *evaluator) run(e Expr, s *scope) Value {
	v := ev.eval(e, s)
	if ev.over {
		return ErrorValue()
	}
	return v
}

// attrOf evaluates an attribute of the record s itself.
func (ev *evaluator) attrOf(s *scope, name string) Value {
	if s.sides != nil {
		return UndefinedValue()
	}
	v, _ := ev.attribute(s, name, Fold(name))
	if ev.over {
		return ErrorValue()
	}
	return v
}

func (ev *evaluator) exhaust() Value {
	ev.over = true
	return ErrorValue()
}

// spend counts work and memory; it is false when a bound is met.
func (ev *evaluator) spend(steps, bytes int) bool {
	ev.steps += steps
	ev.bytes += bytes
	if ev.steps > maxSteps || ev.bytes > maxBytes {
		ev.over = true
	}
	return !ev.over
}

// bytesOfStep is how much text is made in the time of a step.
const bytesOfStep = 64

// costOf is what was spent, in steps.
func costOf(ev *evaluator) int { return ev.steps + ev.bytes/bytesOfStep }

func (ev *evaluator) eval(e Expr, s *scope) Value {
	if ev.depth >= maxDepth || !ev.spend(1, 0) {
		return ev.exhaust()
	}
	ev.depth++
	v := node(ev, e, s)
	ev.depth--
	return v
}

func node(ev *evaluator, e Expr, s *scope) Value {
	switch e := e.(type) {
	case *Literal:
		return e.Value
	case *AttrRef:
		return attrRef(ev, e, s)
	case *Select:
		return ev.selectName(ev.eval(e.X, s), e.Name)
	case *Index:
		return index(ev, ev.eval(e.X, s), ev.eval(e.Sub, s))
	case *Unary:
		return unary(e.Op, ev.eval(e.X, s))
	case *Binary:
		return binary(ev, e, s)
	case *Cond:
		return ev.cond(e.If, e.Then, e.Else, s)
	case *Call:
		return ev.call(e, s)
	case *ListExpr:
		return ListValue(all(ev, e.Elems, s))
	case *Ad:
		return recordIn(&scope{ad: e, up: s})
	}
	return ErrorValue()
}

// all evaluates expressions to a new slice.
func all(ev *evaluator, es []Expr, s *scope) []Value {
	if !ev.spend(0, len(es)*valueBytes) {
		return nil
	}
	vs := make([]Value, len(es))
	for i, e := range es {
		vs[i] = ev.eval(e, s)
	}
	return vs
}

// valueBytes is what an element of a list counts for.
const valueBytes = 40

func attrRef(ev *evaluator, e *AttrRef, s *scope) Value {
	key := e.key
	if key == "" {
		key = Fold(e.Name)
	}
	if e.Absolute {
		s = s.root()
	}
	return ev.lookup(e.Name, key, s)
}

// selectName evaluates x.name; a list maps over its elements, lists in it
// likewise.
func (ev *evaluator) selectName(x Value, name string) Value {
	switch x.kind {
	case Undefined, Error:
		return x
	case Record:
		return ev.lookup(name, Fold(name), x.box.rec)
	case List:
		if !ev.spend(len(x.box.list), len(x.box.list)*valueBytes) {
			return ErrorValue()
		}
		vs := make([]Value, len(x.box.list))
		for i, elem := range x.box.list {
			vs[i] = ev.selectName(elem, name)
		}
		return ListValue(vs)
	}
	return ErrorValue()
}

// index evaluates x[i]. A record answers for its own attributes only.
func index(ev *evaluator, x, i Value) Value {
	if v, bad := strict(x, i); bad {
		return v
	}
	switch {
	case x.kind == List && i.kind == Int:
		if n := int64(i.num); n >= 0 && n < int64(len(x.box.list)) {
			return x.box.list[n]
		}
	case x.kind == Record && i.kind == String:
		if x.box.rec.sides != nil {
			return UndefinedValue()
		}
		v, _ := ev.attribute(x.box.rec, i.str, Fold(i.str))
		return v
	}
	return ErrorValue()
}

// cond evaluates one branch only.
func (ev *evaluator) cond(c, then, els Expr, s *scope) Value {
	v := ev.eval(c, s)
	b, ok := v.truth()
	switch {
	case v.kind == Undefined:
		return v
	case !ok:
		return ErrorValue()
	case b:
		return ev.eval(then, s)
	}
	return ev.eval(els, s)
}
