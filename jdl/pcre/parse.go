package pcre

import (
	"errors"
	"fmt"
	"strings"
)

// The regular expressions of the language are those of PCRE, on bytes. This
// is the parser: text to tree.

// reNode is a node of a regular expression.
type reNode struct {
	kind     reKind
	c        byte      // reByte
	set      *byteSet  // reSet
	subs     []*reNode // reSeq, reAlt; one for the others
	min, max int       // reRepeat; max -1: no limit
	mode     byte      // reRepeat: 0 greedy, '?' lazy, '+' possessive
	n        int       // reGroup, reBackref: number of the group
	behind   bool      // reLook
	neg      bool      // reLook
}

type reKind uint8

const (
	reEmpty reKind = iota
	reByte
	reSet
	reSeq
	reAlt
	reRepeat
	reGroup   // capturing
	reAtomic  // (?>...)
	reLook    // (?=...) and kin
	reBackref // \1
	reBegin   // \A, ^
	reEnd     // \z
	reEndLine // $ and \Z: at the end or before a newline at the end
	reLineBeg // ^ with option m
	reLineEnd // $ with option m
	reWord    // \b
	reNotWord // \B
)

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *byteSet) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

func (s *byteSet) addRange(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s.add(byte(c))
	}
}

func (s *byteSet) union(t *byteSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

func (s *byteSet) complement() *byteSet {
	var t byteSet
	for i := range s {
		t[i] = ^s[i]
	}
	return &t
}

// reParser reads a pattern.
type reParser struct {
	s      string
	at     int
	flags  reFlags
	groups int
	names  map[string]int
	depth  int
	maxRef int // the highest group referred to by number
}

type reFlags struct{ fold, lines, dotAll, blanks bool }

// maxGroupDepth bounds the nesting of groups.
const maxGroupDepth = 200

func parsePattern(text string, f reFlags) (*reNode, *reParser, error) {
	p := &reParser{s: text, flags: f, names: map[string]int{}}
	n, err := p.alternatives()
	switch {
	case err != nil:
		return nil, nil, err
	case p.at < len(p.s):
		return nil, nil, errors.New("unmatched )")
	case p.maxRef > p.groups:
		return nil, nil, fmt.Errorf("reference to group %d, and there are %d", p.maxRef, p.groups)
	}
	return n, p, nil
}

func (p *reParser) more() bool { return p.at < len(p.s) }

// accept takes a prefix of the rest.
func (p *reParser) accept(prefix string) bool {
	if strings.HasPrefix(p.s[p.at:], prefix) {
		p.at += len(prefix)
		return true
	}
	return false
}

// alternatives parses a|b|c. Options set inside end with the group.
func (p *reParser) alternatives() (*reNode, error) {
	if p.depth++; p.depth > maxGroupDepth {
		return nil, errors.New("groups are nested too deeply")
	}
	saved := p.flags
	defer func() { p.flags = saved; p.depth-- }()
	var alts []*reNode
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		alts = append(alts, n)
		if !p.accept("|") {
			break
		}
	}
	if len(alts) == 1 {
		return alts[0], nil
	}
	return &reNode{kind: reAlt, subs: alts}, nil
}

func (p *reParser) sequence() (*reNode, error) {
	seq := &reNode{kind: reSeq}
	for p.more() && p.s[p.at] != '|' && p.s[p.at] != ')' {
		if p.flags.blanks && p.skipBlanks() {
			continue
		}
		if p.accept(`\Q`) {
			if err := p.quoted(seq); err != nil {
				return nil, err
			}
			continue
		}
		n, err := atom(p)
		if err != nil {
			return nil, err
		}
		if n == nil { // options or a comment
			continue
		}
		if n, err = p.repeats(n); err != nil {
			return nil, err
		}
		seq.subs = append(seq.subs, n)
	}
	return seq, nil
}

// skipBlanks skips what option x makes meaningless.
func (p *reParser) skipBlanks() bool {
	switch c := p.s[p.at]; {
	case isSpace(c):
		p.at++
	case c == '#':
		for p.more() && p.s[p.at] != '\n' {
			p.at++
		}
	default:
		return false
	}
	return true
}

// quoted takes \Q...\E, each byte for itself; what repeats after it repeats
// the last byte.
func (p *reParser) quoted(seq *reNode) error {
	text, _, ended := strings.Cut(p.s[p.at:], `\E`)
	p.at += len(text)
	if ended {
		p.at += len(`\E`)
	}
	if text == "" {
		return nil
	}
	for _, c := range []byte(text) {
		seq.subs = append(seq.subs, p.literal(c))
	}
	last := len(seq.subs) - 1
	n, err := p.repeats(seq.subs[last])
	seq.subs[last] = n
	return err
}

// literal is a byte, or both its cases.
func (p *reParser) literal(c byte) *reNode {
	if p.flags.fold && lower(c) != upper(c) {
		var s byteSet
		s.add(lower(c))
		s.add(upper(c))
		return &reNode{kind: reSet, set: &s}
	}
	return &reNode{kind: reByte, c: c}
}

// repeats takes the quantifier after an atom. There may be one only, and none
// after an anchor.
func (p *reParser) repeats(n *reNode) (*reNode, error) {
	lo, hi, ok, err := p.nextQuantifier()
	if err != nil || !ok {
		return n, err
	}
	switch n.kind {
	case reBegin, reEnd, reEndLine, reLineBeg, reLineEnd, reWord, reNotWord:
		return nil, errNothingToRepeat
	}
	n = &reNode{kind: reRepeat, subs: []*reNode{n}, min: lo, max: hi}
	if p.more() && (p.s[p.at] == '?' || p.s[p.at] == '+') {
		n.mode = p.s[p.at]
		p.at++
	}
	if _, _, ok, err := p.nextQuantifier(); ok || err != nil {
		return nil, errNothingToRepeat
	}
	return n, nil
}

var errNothingToRepeat = errors.New("nothing to repeat before a quantifier")

// nextQuantifier reads a quantifier, over blanks and comments where they have
// no meaning.
func (p *reParser) nextQuantifier() (lo, hi int, ok bool, err error) {
	for p.more() {
		if p.flags.blanks && p.skipBlanks() {
			continue
		}
		return p.quantifier()
	}
	return 0, 0, false, nil
}

// quantifier reads * + ? {n} {n,} {n,m}; a brace that is none of these is a
// literal.
func (p *reParser) quantifier() (lo, hi int, ok bool, err error) {
	switch p.s[p.at] {
	case '*':
		p.at++
		return 0, -1, true, nil
	case '+':
		p.at++
		return 1, -1, true, nil
	case '?':
		p.at++
		return 0, 1, true, nil
	case '{':
		return p.braces()
	}
	return 0, 0, false, nil
}

// maxRepeat bounds the numbers in braces.
const maxRepeat = 1000

func (p *reParser) braces() (lo, hi int, ok bool, err error) {
	i := p.at + 1
	lo, i, ok = p.decimal(i)
	hi = lo
	if !ok {
		return 0, 0, false, nil
	}
	if i < len(p.s) && p.s[i] == ',' {
		hi = -1
		if n, j, ok := p.decimal(i + 1); ok {
			hi, i = n, j
		} else {
			i++
		}
	}
	if i >= len(p.s) || p.s[i] != '}' {
		return 0, 0, false, nil
	}
	p.at = i + 1
	switch {
	case lo > maxRepeat || hi > maxRepeat:
		return 0, 0, false, fmt.Errorf("repeat count above %d", maxRepeat)
	case hi >= 0 && hi < lo:
		return 0, 0, false, errors.New("numbers in braces are out of order")
	}
	return lo, hi, true, nil
}

// decimal reads digits at i.
func (p *reParser) decimal(i int) (n, end int, ok bool) {
	for end = i; end < len(p.s) && isDigit(p.s[end]); end++ {
		n = min(n*10+int(p.s[end]-'0'), maxRepeat*10)
	}
	return n, end, end > i
}
