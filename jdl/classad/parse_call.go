package classad

import (
	"fmt"
	"time"
)

// checkCall looks up the function, warns of what can only be ERROR, and turns
// absTime and relTime of a text into a constant.
func checkCall(p *parser, c *Call) Expr {
	if p.err != nil {
		return nil
	}
	if p.tolerant && EqualFold(c.Name, "isMember") {
		p.warning(c.pos, "is-member", c.Name+" is not a function and is read as Member", "write Member")
		c.Name = "Member"
	}
	f := functions[Fold(c.Name)]
	if f == nil {
		p.warning(c.pos, "unknown-function", "unknown function "+c.Name, DidYouMean(c.Name, functionNames()))
		return c
	}
	c.fn = f
	if n := len(c.Args); n < f.min || n > f.max {
		p.warning(c.pos, "arguments", fmt.Sprintf("%s takes %s, not %d", f.name, f.arity(), n), "the call is always ERROR")
		return c
	}
	p.checkPattern(c)
	if len(c.Args) == 1 && (f.name == "absTime" || f.name == "relTime") {
		return timeLiteral(p, c)
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
func timeLiteral(p *parser, c *Call) Expr {
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
