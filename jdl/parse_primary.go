package jdl

import "fmt"

// primary parses a constant, a name, a call, a list, a record or an
// expression in parentheses.
func (p *parser) primary() Expr {
	pos := p.pos
	p.height = 1
	switch p.tok {
	case tokNumber:
		return p.literal(p.num, p.unit)
	case tokString:
		return p.literal(StringValue(p.str), 0)
	case tokTrue, tokFalse:
		return p.literal(BoolValue(p.tok == tokTrue), 0)
	case tokUndefined:
		return p.literal(UndefinedValue(), 0)
	case tokError:
		return p.literal(ErrorValue(), 0)
	case tokName, tokQuotedName:
		name := p.str
		if p.next(); p.tok == tokLParen {
			return p.call(pos, name)
		}
		return &AttrRef{at: at{pos: pos}, Name: name, key: fold(name)}
	case tokDot:
		p.next()
		name, _ := p.name("after the dot")
		return &AttrRef{at: at{pos: pos}, Name: name, key: fold(name), Absolute: true}
	case tokLParen:
		return p.parenthesis()
	case tokLBrace:
		return p.list()
	case tokLBrack:
		return exprOrNil(p.record())
	}
	p.unexpected("where a value should be")
	return nil
}

func (p *parser) literal(v Value, unit byte) Expr {
	e := &Literal{at: at{pos: p.pos}, Value: v, unit: unit, lost: p.tok == tokString && p.lost}
	p.next()
	return e
}

func (p *parser) parenthesis() Expr {
	p.next()
	e := p.expr()
	if p.tok == tokComma {
		p.fail(p.pos, "unexpected \",\" in parentheses", "a list is written { a, b }")
	}
	if e == nil || !p.expect(tokRParen, "after the expression") {
		return nil
	}
	if c := e.common(); c.parens < 255 {
		c.parens++
	}
	return e
}

// list parses "{ a, b }".
func (p *parser) list() Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	l := &ListExpr{at: at{pos: p.pos}}
	p.next()
	height := 0
	for p.tok != tokRBrace && p.err == nil {
		p.warnJoined()
		l.Elems = append(l.Elems, p.expr())
		height = max(height, p.height)
		if p.tok != tokComma {
			break
		}
		if !p.afterComma() {
			break
		}
	}
	p.grew(height)
	if p.tok == tokSemicolon {
		p.fail(p.pos, "unexpected \";\" in a list", "the elements of a list are separated by commas")
	}
	if !p.expect(tokRBrace, "at the end of a list") {
		return nil
	}
	return l
}

// call parses the arguments of a function; the name is taken already.
func (p *parser) call(pos Pos, name string) Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	c := &Call{at: at{pos: pos}, Name: name}
	p.next()
	height := 0
	for p.tok != tokRParen && p.err == nil {
		c.Args = append(c.Args, p.expr())
		height = max(height, p.height)
		if p.tok != tokComma {
			break
		}
		if p.next(); p.tok == tokRParen {
			p.unexpected("after the last comma of a call")
		}
	}
	p.grew(height)
	if !p.expect(tokRParen, "after the arguments of "+name) {
		return nil
	}
	return p.checkCall(c)
}

// record parses "[ name = expr; ... ]".
func (p *parser) record() *Ad {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	ad := &Ad{at: at{pos: p.pos}}
	p.next()
	height := 0
	if p.tok != tokRBrack && !p.attributes(ad, &height) {
		return nil
	}
	p.grew(height)
	if !p.expect(tokRBrack, "at the end of a record") {
		return nil
	}
	return ad
}

// attributes parses attributes up to the closing bracket.
func (p *parser) attributes(ad *Ad, height *int) bool {
	for p.err == nil {
		for p.tok == tokSemicolon {
			p.next()
		}
		if p.tok == tokRBrack && ad.Len() > 0 {
			return true
		}
		if !p.attribute(ad) {
			return false
		}
		*height = max(*height, p.height)
		if p.tok == tokRBrack {
			return true
		}
		if p.tok != tokSemicolon {
			p.missingSemicolon()
			return false
		}
	}
	return false
}

// attribute parses "name = expr".
func (p *parser) attribute(ad *Ad) bool {
	pos := p.pos
	name, ok := p.name("of an attribute")
	if !ok {
		return false
	}
	if name, ok = p.longName(pos, name); !ok {
		return false
	}
	if !p.expect(tokAssign, "after attribute name "+name) {
		return false
	}
	p.attr = name
	e := p.expr()
	if e == nil || p.err != nil {
		return false
	}
	if ad.put(Attr{Name: name, Expr: e, NamePos: pos}) {
		p.warning(pos, "duplicate", fmt.Sprintf("attribute %s is given twice; this one counts", name), "")
	}
	return true
}

// missingSemicolon reports that neither ; nor ] follows an attribute.
func (p *parser) missingSemicolon() {
	hint := p.hint()
	if hint == "" {
		hint = "is a ; missing at the end of " + p.attr + "?"
	}
	p.fail(p.pos, fmt.Sprintf("unexpected %s after the value of %s", p.found(), p.attr), hint)
}

// exprOrNil keeps a nil *Ad from becoming an Expr that is not nil.
func exprOrNil(ad *Ad) Expr {
	if ad == nil {
		return nil
	}
	return ad
}
