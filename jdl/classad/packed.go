package classad

import "strings"

// packed is the body of a record as ParseAd leaves it: for each attribute
// whose value is a constant or a list of constants only its place in the
// text, from where the value is read again when it is asked for. A computing
// element's 37 attributes take 450 bytes that way; as a tree they would take
// 11 kB.
type packed struct {
	src   string
	slots []slot
	trees []Expr // the other values
}

// slot is one attribute of a packed record.
type slot struct {
	name  uint32 // where the name stands in the text; quoted if there is a quote
	value uint32 // where the value stands, or isTree and its place in trees
	hash  uint16 // of the name
	size  uint16 // length of the name in the text
}

const (
	isTree    = 1 << 31
	packLimit = 512 // more attributes are kept as trees, with a map
	maxName   = 1<<16 - 1
)

// nameHash is a hash of a name without case, good enough for names that
// differ in length, middle or end.
func nameHash(s string) uint16 {
	n := len(s)
	if n == 0 {
		return 0
	}
	h := uint32(n)
	for _, i := range [...]int{0, n / 4, n / 2, 3 * n / 4, max(n-2, 0), n - 1} {
		h = h*31 + uint32(lower(s[i]))
	}
	return uint16(h ^ h>>16)
}

func (p *packed) name(i int) string {
	s := &p.slots[i]
	text := p.src[s.name : s.name+uint32(s.size)]
	if text[0] != '\'' {
		return text
	}
	l := p.lexAt(s.name)
	return l.str
}

// find returns the place of a name in any case, or -1.
func (p *packed) find(key string) int {
	h := nameHash(key)
	for i := range p.slots {
		if p.slots[i].hash == h && EqualFold(p.name(i), key) {
			return i
		}
	}
	return -1
}

// lexAt reads the token at a place of the text.
func (p *packed) lexAt(off uint32) lexer {
	l := lexer{src: p.src, at: int(off), quiet: true}
	l.next()
	return l
}

// value reads a constant; ok is false for a tree.
func (p *packed) value(i int) (v Value, ok bool) {
	off := p.slots[i].value
	if off&isTree != 0 {
		return Value{}, false
	}
	l := p.lexAt(off)
	if l.tok != tokLBrace {
		return l.constant(), true
	}
	var vs []Value
	for l.next(); l.tok != tokRBrace; l.next() {
		if l.tok != tokComma {
			vs = append(vs, l.constant())
		}
	}
	return ListValue(vs), true
}

// expr is the value as an expression, with positions.
func (p *packed) expr(i int) Expr {
	off := p.slots[i].value
	if off&isTree != 0 {
		return p.trees[off&^isTree]
	}
	l := lexer{src: p.src, at: int(off), quiet: true}
	l.line, l.lineStart = p.lineAt(off)
	l.next()
	if l.tok != tokLBrace {
		return l.literal()
	}
	list := &ListExpr{at: at{pos: l.pos}}
	for l.next(); l.tok != tokRBrace; l.next() {
		if l.tok != tokComma {
			list.Elems = append(list.Elems, l.literal())
		}
	}
	return list
}

// literal is the token at hand as a node.
func (l *lexer) literal() *Literal {
	e := &Literal{at: at{pos: l.pos}, Value: l.constant()}
	switch l.tok {
	case tokNumber:
		e.Unit, e.real = l.unit, l.real && l.unit != 0
	case tokString:
		e.lost = l.lost
	}
	return e
}

func (p *packed) namePos(i int) Pos {
	off := p.slots[i].name
	line, start := p.lineAt(off)
	return Pos{Line: line + 1, Col: int(off) - start + 1}
}

// lineAt is the line of a place, from 0, and where that line starts.
func (p *packed) lineAt(off uint32) (line, start int) {
	before := p.src[:off]
	return strings.Count(before, "\n"), strings.LastIndexByte(before, '\n') + 1
}

// constant is the value of the token at hand.
func (l *lexer) constant() Value {
	switch l.tok {
	case tokNumber:
		return l.num
	case tokString:
		return StringValue(l.str)
	case tokTrue, tokFalse:
		return BoolValue(l.tok == tokTrue)
	case tokError:
		return ErrorValue()
	}
	return UndefinedValue()
}

func (t token) isConstant() bool {
	switch t {
	case tokNumber, tokString, tokTrue, tokFalse, tokUndefined, tokError:
		return true
	}
	return false
}

// skipConstant passes over a constant or a list of constants, if that is the
// whole value of the attribute and there is nothing to say about it. If not,
// nothing has happened.
func skipConstant(p *parser) bool {
	saved := p.lexer
	p.quiet, p.warned = true, false
	ok := p.tok.isConstant()
	if ok {
		p.next()
	} else if p.tok == tokLBrace {
		ok = skipConstants(p)
	}
	ok = ok && !p.warned && p.err == nil && (p.tok == tokSemicolon || p.tok == tokRBrack)
	if !ok {
		p.lexer = saved
	}
	p.quiet, p.warned = saved.quiet, saved.warned
	return ok
}

func skipConstants(p *parser) bool {
	p.next()
	for p.tok != tokRBrace {
		if !p.tok.isConstant() || p.tok == tokString && p.joined != (Pos{}) {
			return false
		}
		if p.next(); p.tok != tokComma {
			break
		}
		if p.next(); p.tok == tokRBrace {
			return false
		}
	}
	if p.tok != tokRBrace {
		return false
	}
	p.next()
	return true
}

// packedValue notes the value of an attribute whose name stands at off.
func packedValue(p *parser, ad *Ad, name string, pos Pos, off, size int) bool {
	if ad.pack.slots == nil {
		ad.pack.slots = make([]slot, 0, 64)
	}
	s := slot{name: uint32(off), value: uint32(p.off), hash: nameHash(name), size: uint16(size)}
	if !skipConstant(p) {
		e := p.expr()
		if e == nil || p.err != nil {
			return false
		}
		s.value = uint32(len(ad.pack.trees)) | isTree
		ad.pack.trees = append(ad.pack.trees, e)
	} else {
		p.height = 2
	}
	if i := ad.pack.find(name); i >= 0 {
		ad.pack.slots[i].value = s.value
		p.duplicate(pos, name)
		return true
	}
	ad.pack.slots = append(ad.pack.slots, s)
	return true
}
