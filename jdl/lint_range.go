package jdl

import (
	"fmt"
	"math"

	"gridbroker/jdl/classad"
)

// bounds are what the clauses of Requirements leave of one attribute.
type bounds struct {
	low, high         float64
	lowOpen, highOpen bool
	text              string // the text it must equal
	hasText           bool
}

// ranges looks for clauses that exclude each other: no resource can then
// match, though each clause alone could hold.
func (l *linter) ranges(ad *classad.Ad, clauses []classad.Expr) {
	seen := map[string]*bounds{}
	for _, c := range clauses {
		e, ok := c.(*classad.Binary)
		if !ok {
			continue
		}
		name, bound, op := otherName(e.X), e.Y, e.Op
		if name == "" {
			name, bound, op = otherName(e.Y), e.X, e.Op.Mirrored()
		}
		if name == "" || !isConstant(ad, bound, map[string]bool{}) {
			continue
		}
		b := seen[classad.Fold(name)]
		if b == nil {
			b = &bounds{low: math.Inf(-1), high: math.Inf(1)}
			seen[classad.Fold(name)] = b
		}
		if why := b.narrow(op, ad.Eval(bound, nil)); why != "" {
			l.warn(firstPos(e), "always-false", "no resource can match", "this clause excludes another one: %s %s", name, why)
			return
		}
	}
}

// narrow adds a condition and says why nothing is left, or "".
func (b *bounds) narrow(op classad.Op, v classad.Value) string {
	if s, ok := v.Str(); ok && op == classad.OpEq {
		if b.hasText && !classad.EqualFold(b.text, s) {
			return fmt.Sprintf("cannot be both %q and %q", b.text, s)
		}
		b.text, b.hasText = s, true
		return ""
	}
	f, ok := v.Number()
	if !ok {
		return ""
	}
	switch op {
	case classad.OpGe, classad.OpEq:
		b.atLeast(f, false)
	case classad.OpGt:
		b.atLeast(f, true)
	}
	switch op {
	case classad.OpLe, classad.OpEq:
		b.atMost(f, false)
	case classad.OpLt:
		b.atMost(f, true)
	}
	if b.low > b.high || b.low == b.high && (b.lowOpen || b.highOpen) {
		return fmt.Sprintf("cannot be above %s and below %s", formatNumber(b.low), formatNumber(b.high))
	}
	return ""
}

func (b *bounds) atLeast(f float64, open bool) {
	if f > b.low || f == b.low && open {
		b.low, b.lowOpen = f, open
	}
}

func (b *bounds) atMost(f float64, open bool) {
	if f < b.high || f == b.high && open {
		b.high, b.highOpen = f, open
	}
}
