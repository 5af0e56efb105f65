package classad

import (
	"fmt"
	"slices"
)

// primary parses a constant, a name, a call, a list, a record or an
// expression in parentheses.
func primary(p *parser) Expr {
	pos := p.pos
	p.height = 1
	switch p.tok {
	case tokNumber, tokString, tokTrue, tokFalse, tokUndefined, tokError:
		e := p.literal()
		p.next()
		return e
	case tokName, tokQuotedName:
		name := p.str
		if p.next(); p.tok == tokLParen {
			return p.call(pos, name)
		}
		return &AttrRef{at: at{pos: pos}, Name: name, key: Fold(name)}
	case tokDot:
		p.next()
		name, _ := p.name("after the dot")
		return &AttrRef{at: at{pos: pos}, Name: name, key: Fold(name), Absolute: true}
	case tokLParen:
		return parenthesis(p)
	case tokLBrace:
		return list(p)
	case tokLBrack:
		return exprOrNil(p.record())
	}
	if e := p.unquoted(pos); e != nil {
		return e
	}
	p.unexpected("where a value should be")
	return nil
}

func parenthesis(p *parser) Expr {
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
func list(p *parser) Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	l := &ListExpr{at: at{pos: p.pos}}
	p.next()
	height := 0
	for p.tok != tokRBrace && p.err == nil {
		p.warnJoined()
		if len(l.Elems) == mostListed {
			p.err = p.diagnostic(Fatal, p.pos, "limit", fmt.Sprintf("more than %d elements in a list", mostListed), "")
			return nil
		}
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
	return checkCall(p, c)
}

// record parses "[ name = expr; ... ]".
func (p *parser) record() *Ad {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	ad := &Ad{at: at{pos: p.pos}}
	if p.pack {
		ad.pack, p.pack = &packed{src: p.src}, false
	}
	p.next()
	height := 0
	if p.tok != tokRBrack && !p.attributes(ad, &height) {
		return nil
	}
	p.grew(height)
	if !p.expect(tokRBrack, "at the end of a record") {
		return nil
	}
	if ad.pack != nil {
		ad.pack.slots = slices.Clone(ad.pack.slots) // without the slack of growing
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
		if p.tok == tokEOF && p.err == nil {
			p.fail(ad.pos, "[ is not closed", "] is missing at the end")
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
	pos, off, size := p.pos, p.off, p.end-p.off
	name, ok := p.name("of an attribute")
	if !ok {
		return false
	}
	if name, ok = p.longName(pos, name); !ok {
		return false
	}
	if p.tok != tokAssign {
		return p.expect(tokAssign, "after attribute name "+name)
	}
	if ad.Len() == mostNames {
		p.err = p.diagnostic(Fatal, pos, "limit", fmt.Sprintf("more than %d attributes in a record", mostNames), "")
		return false
	}
	p.next()
	p.attr = name
	if ad.pack != nil && (len(ad.pack.slots) == packLimit || size > maxName) {
		ad.unpack()
	}
	if ad.pack != nil {
		return packedValue(p, ad, name, pos, off, size)
	}
	e := p.expr()
	if e == nil || p.err != nil {
		return false
	}
	if ad.Put(Attr{Name: name, Expr: e, NamePos: pos}) {
		p.duplicate(pos, name)
	}
	return true
}

func (p *parser) duplicate(pos Pos, name string) {
	p.warning(pos, "duplicate", fmt.Sprintf("attribute %s is given twice; this one counts", name), "")
}

// missingSemicolon reports that neither ; nor ] follows an attribute.
func (p *parser) missingSemicolon() {
	hint := p.hint()
	if hint == "" && p.inQuotes() {
		hint = `a quote inside a string is written \"`
	}
	if word := measure(p.src, p.off); hint == "" && word != "" {
		hint = `a value with a unit is a string, "` + word + `"`
	}
	if hint == "" && p.tok == tokComma {
		hint = "a list is written in braces: " + p.attr + " = {..};"
	}
	if hint == "" {
		hint = "is a ; missing at the end of " + p.attr + "?"
	}
	p.fail(p.pos, fmt.Sprintf("unexpected %s after the value of %s", p.found(), p.attr), hint)
}

// measure is a number with a unit, or with colons, that what stands at off is part of: 24h, 2GB, 24:00:00; "" where it is none.
func measure(src string, off int) string {
	inWord := func(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' || c == ':' }
	from, to := off, off
	for from > 0 && inWord(src[from-1]) {
		from--
	}
	for to < len(src) && inWord(src[to]) {
		to++
	}
	if from == off || to == off || !isDigit(src[from]) {
		return ""
	}
	return src[from:to]
}

// exprOrNil keeps a nil *Ad from becoming an Expr that is not nil.
func exprOrNil(ad *Ad) Expr {
	if ad == nil {
		return nil
	}
	return ad
}
