package classad

import (
	"bytes"
	"fmt"
	"strings"
)

// ParseExpr parses one expression of the ClassAd language. The error is a
// *Diagnostic that names file, line and column.
func ParseExpr(file string, src []byte, opts ...Option) (Expr, error) {
	p, err := newParser(file, src, opts)
	if err != nil {
		return nil, err
	}
	e := p.expr()
	if p.err == nil && p.tok != tokEOF {
		p.unexpected("after the expression")
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// ParseAd parses one record, "[ name = expression; ... ]", by the exact
// rules of the ClassAd language. The error is a *Diagnostic that names file,
// line and column. For what users write in files see ReadAd.
func ParseAd(file string, src []byte, opts ...Option) (*Ad, error) {
	p, err := newParser(file, src, opts)
	if err != nil {
		return nil, err
	}
	if p.tok != tokLBrack && p.err == nil {
		p.fail(p.pos, "a record starts with [, not "+p.found(), "")
	}
	p.pack = true
	ad := p.record()
	if p.err == nil && p.tok != tokEOF {
		p.unexpected("after the closing ]")
	}
	if p.err != nil {
		return nil, p.err
	}
	return ad, nil
}

// parser is a recursive-descent parser over a lexer, one token ahead.
type parser struct {
	lexer
	depth  int    // of the recursion
	height int    // of the tree parsed last
	attr   string // the attribute being parsed, or parsed last
	pack   bool   // pack the record that comes next
}

func newParser(file string, src []byte, opts []Option) (*parser, error) {
	p := &parser{lexer: lexer{file: file, config: newConfig(opts)}}
	if len(src) > mostText {
		return nil, &Diagnostic{Severity: Fatal, File: file, Pos: Pos{1, 1}, Code: "limit",
			Msg: fmt.Sprintf("text of %d bytes is longer than the limit of %d", len(src), mostText)}
	}
	if what, hint := otherFile(src); what != "" {
		return nil, &Diagnostic{Severity: Fatal, File: file, Pos: Pos{1, 1}, Code: "format", Msg: what, Hint: hint}
	}
	p.src = string(src)
	p.next()
	return p, nil
}

// otherFile recognises files that are taken for text now and then.
func otherFile(src []byte) (what, hint string) {
	has := func(prefix string) bool { return bytes.HasPrefix(src, []byte(prefix)) }
	switch {
	case has("\xff\xfe"), has("\xfe\xff"), len(src) > 3 && (src[0] == 0) != (src[1] == 0) && (src[0] == 0) == (src[2] == 0) && (src[1] == 0) == (src[3] == 0):
		return "the text is in UTF-16", "save it as UTF-8"
	case has("\x1f\x8b"):
		return "the file is compressed", "unpack it with gunzip"
	case has("\x7fELF"):
		return "this is a program, not a description of a job", ""
	}
	return "", ""
}

// enter guards the recursion; leave undoes it.
func (p *parser) enter() bool {
	if p.depth++; p.depth > mostNested && p.err == nil {
		p.err = p.diagnostic(Fatal, p.pos, "limit", fmt.Sprintf("nesting deeper than %d", mostNested), "")
		p.fail(p.pos, "", "")
	}
	return p.err == nil
}

func (p *parser) leave() { p.depth-- }

// grew notes that a node stands over trees of the given heights.
func (p *parser) grew(heights ...int) {
	h := 0
	for _, n := range heights {
		h = max(h, n)
	}
	if p.height = h + 1; p.height > mostChained && p.err == nil {
		p.err = p.diagnostic(Fatal, p.pos, "limit", fmt.Sprintf("more than %d operators in a row", mostChained), "")
		p.fail(p.pos, "", "")
	}
}

// expr parses a conditional, the loosest of all expressions.
func (p *parser) expr() Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	x, pos := p.binary(lowest), p.pos
	if p.tok != tokQuestion {
		return x
	}
	p.next()
	hx := p.height
	then := p.expr()
	ht := p.height
	if !p.expect(tokColon, "in a conditional") {
		return nil
	}
	els := p.expr()
	p.grew(hx, ht, p.height)
	return &Cond{at: at{pos: pos}, If: x, Then: then, Else: els}
}

// precedence of the infix operators; more binds tighter. "?:" is postfix.
var precedence = [OpMinus + 1]uint8{
	OpOr: 1, OpAnd: 2, OpBitOr: 3, OpBitXor: 4, OpBitAnd: 5,
	OpEq: 6, OpNe: 6, OpIs: 6, OpIsnt: 6,
	OpLt: 7, OpLe: 7, OpGt: 7, OpGe: 7,
	OpShl: 8, OpShr: 8, OpUshr: 8,
	OpAdd: 9, OpSub: 9, OpMul: 10, OpDiv: 10, OpMod: 10,
	OpNot: tightest, OpBitNot: tightest, OpPlus: tightest, OpMinus: tightest, OpDefault: tightest + 1,
}

const (
	lowest   = 1
	tightest = 11
)

// infix returns the operator of the token and its precedence, 0 for none.
func (t token) infix() (Op, uint8) {
	if t <= tokOp {
		return 0, 0
	}
	op := Op(t - tokOp)
	if p := precedence[op]; p < tightest {
		return op, p
	}
	return 0, 0
}

// binary parses infix operators of at least precedence least, all of them
// left associative.
func (p *parser) binary(least uint8) Expr {
	x := p.unary()
	for {
		op, prec := p.tok.infix()
		if prec == 0 || prec < least {
			return x
		}
		pos, hx := p.pos, p.height
		p.next()
		y := p.binary(prec + 1)
		p.grew(hx, p.height)
		if p.err != nil {
			return nil
		}
		x = &Binary{at: at{pos: pos}, Op: op, X: x, Y: y}
	}
}

// prefix maps a token to the prefix operator it is at the start of an operand.
func (t token) prefix() Op {
	switch t {
	case opToken(OpSub):
		return OpMinus
	case opToken(OpAdd):
		return OpPlus
	case opToken(OpNot):
		return OpNot
	case opToken(OpBitNot):
		return OpBitNot
	}
	return 0
}

func (p *parser) unary() Expr {
	op := p.tok.prefix()
	if op == 0 {
		return postfix(p)
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	pos := p.pos
	p.next()
	x := p.unary()
	p.grew(p.height)
	return &Unary{at: at{pos: pos}, Op: op, X: x}
}

// postfix parses an operand and any "?: other" after it.
func postfix(p *parser) Expr {
	x := p.operand()
	for p.err == nil && p.tok == tokQuestion && isDefault(p) {
		pos, hx := p.pos, p.height
		p.next()
		p.next()
		var y Expr
		if p.tok.prefix() != 0 {
			y = p.unary()
		} else {
			y = p.operand()
		}
		p.grew(hx, p.height)
		x = &Binary{at: at{pos: pos}, Op: OpDefault, X: x, Y: y}
	}
	if p.err != nil {
		return nil
	}
	return x
}

// operand parses a primary with ".name" and "[subscript]" after it.
func (p *parser) operand() Expr {
	x := primary(p)
	for p.err == nil {
		pos, hx := p.pos, p.height
		switch p.tok {
		case tokDot:
			p.next()
			name, ok := p.name("after the dot")
			if !ok {
				return nil
			}
			p.grew(hx)
			x = &Select{at: at{pos: pos}, X: x, Name: name}
		case tokLBrack:
			p.next()
			sub := p.expr()
			p.grew(hx, p.height)
			if !p.expect(tokRBrack, "after the subscript") {
				return nil
			}
			x = &Index{at: at{pos: pos}, X: x, Sub: sub}
		default:
			return x
		}
	}
	return nil
}

// isDefault reports whether the "?" is followed by ":".
func isDefault(p *parser) bool {
	ahead := p.lexer // a copy: what it warns about is met again
	ahead.quiet = true
	ahead.next()
	return ahead.tok == tokColon
}

// name takes a plain or quoted name.
func (p *parser) name(where string) (string, bool) {
	if p.tok == tokName || p.tok == tokQuotedName {
		s := p.str
		p.next()
		return s, true
	}
	if word := p.src[p.off:p.end]; p.tok != tokEOF && isLetter(word[0]) {
		p.fail(p.pos, fmt.Sprintf("%s is a keyword", word), fmt.Sprintf("a name of that spelling is written '%s'", word))
		return "", false
	}
	hint := ""
	if p.tok == tokString && where == "of an attribute" {
		hint = "a list is written { a, b }; a name has no quotes, or single ones"
	}
	p.fail(p.pos, "expected a name "+where+", found "+p.found(), hint)
	return "", false
}

// expect takes a token of punctuation.
func (p *parser) expect(t token, where string) bool {
	if p.tok == t {
		p.next()
		return p.err == nil
	}
	p.fail(p.pos, fmt.Sprintf("expected %s %s, found %s", punctuation[t], where, p.found()), p.hint())
	return false
}

var punctuation = map[token]string{
	tokColon: ":", tokRParen: ")", tokRBrack: "]", tokRBrace: "}", tokAssign: "=",
}

func (p *parser) unexpected(where string) {
	p.fail(p.pos, strings.TrimSpace("unexpected "+p.found()+" "+where), p.hint())
}

// found names the token at hand.
func (p *parser) found() string {
	if p.tok == tokEOF {
		return "the end of the text"
	}
	text := p.src[p.off:p.end]
	if len(text) > 40 {
		text = text[:40] + "..."
	}
	return fmt.Sprintf("%q", text)
}

// hint guesses what was meant by the token at hand.
func (p *parser) hint() string {
	rest := p.src[min(p.off, len(p.src)):]
	switch {
	case strings.HasPrefix(rest, "=>"):
		return "write >="
	case p.tok == tokAssign && p.off > 0 && p.src[p.off-1] == '=':
		return "write =="
	case p.tok == tokAssign:
		return "equality is =="
	case p.tok == opToken(OpGt) && p.off > 0 && p.src[p.off-1] == '<':
		return "write !="
	case p.tok == tokName && EqualFold(p.str, "and"):
		return "write &&"
	case p.tok == tokName && EqualFold(p.str, "or"):
		return "write ||"
	case p.tok == tokName && EqualFold(p.str, "not"):
		return "write !"
	case p.tok == opToken(OpMul) && p.off > 0 && p.src[p.off-1] == '*':
		return "write pow(x, y)"
	}
	return ""
}
