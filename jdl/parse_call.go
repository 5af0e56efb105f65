package jdl

import (
	"fmt"
	"time"
)

// checkCall looks up the function, warns of what can only be ERROR, and turns
// absTime and relTime of a text into a constant.
func (p *parser) checkCall(c *Call) Expr {
	if p.err != nil {
		return nil
	}
	if p.tolerant && equalFold(c.Name, "isMember") {
		p.warning(c.pos, "is-member", c.Name+" is not a function and is read as Member", "write Member")
		c.Name = "Member"
	}
	f := functions[fold(c.Name)]
	if f == nil {
		p.warning(c.pos, "unknown-function", "unknown function "+c.Name, didYouMean(c.Name, Functions()))
		return c
	}
	c.fn = f
	if n := len(c.Args); n < f.min || n > f.max {
		p.warning(c.pos, "arguments", fmt.Sprintf("%s takes %s, not %d", f.name, f.arity(), n), "the call is always ERROR")
		return c
	}
	p.checkPattern(c)
	if len(c.Args) == 1 && (f.name == "absTime" || f.name == "relTime") {
		return p.timeLiteral(c)
	}
	return c
}

func (f *function) arity() string {
	switch {
	case f.max == many:
		return fmt.Sprintf("at least %d arguments", f.min)
	case f.min != f.max:
		return fmt.Sprintf("%d to %d arguments", f.min, f.max)
	case f.min == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", f.min)
}

// timeLiteral makes a constant of absTime("...") and relTime("..."); a bad
// text is a syntax error.
func (p *parser) timeLiteral(c *Call) Expr {
	l, ok := c.Args[0].(*Literal)
	if !ok || l.Value.kind != String {
		return c
	}
	v, ok := parseRelTime(l.Value.str)
	if c.fn.name == "absTime" {
		v, ok = parseAbsTime(l.Value.str, time.Local)
	}
	if !ok {
		p.fail(l.pos, fmt.Sprintf("bad time %q", l.Value.str), `write absTime("2009-01-02T03:04:05Z") or relTime("1+02:03:04")`)
		return nil
	}
	return &Literal{at: at{pos: c.pos}, Value: v}
}

// didYouMean suggests the known name nearest to a wrong one, "" when none is
// near.
func didYouMean(name string, known []string) string {
	best, at := "", 3
	if len(name) < 6 {
		at = 2
	}
	for _, k := range known {
		if d := distance(fold(name), fold(k), at); d < at {
			best, at = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between two words (optimal string alignment), or limit if it is
// not below.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 80 {
		return limit
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range b {
		rows[0][j+1] = j + 1
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return min(limit, rows[len(a)][len(b)])
}
