package pcre

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// atom parses one element: a character, a class, a group or an anchor. It is
// nil for what matches nothing by itself: options and comments.
func atom(p *reParser) (*reNode, error) {
	c := p.s[p.at]
	p.at++
	switch c {
	case '.':
		if p.flags.dotAll {
			return &reNode{kind: reSet, set: (&byteSet{}).complement()}, nil
		}
		return &reNode{kind: reSet, set: notNewline()}, nil
	case '^':
		if p.flags.lines {
			return &reNode{kind: reLineBeg}, nil
		}
		return &reNode{kind: reBegin}, nil
	case '$':
		if p.flags.lines {
			return &reNode{kind: reLineEnd}, nil
		}
		return &reNode{kind: reEndLine}, nil
	case '(':
		return group(p)
	case '[':
		return p.class()
	case '\\':
		return escape(p)
	case '*', '+', '?', '{':
		p.at--
		if _, _, ok, err := p.quantifier(); ok || err != nil {
			return nil, errNothingToRepeat
		}
		p.at++
	}
	return p.literal(c), nil
}

func notNewline() *byteSet {
	var s byteSet
	s.add('\n')
	return s.complement()
}

// group parses what follows "(".
func group(p *reParser) (*reNode, error) {
	if !p.accept("?") {
		return p.capture("")
	}
	switch {
	case p.accept("#"):
		_, rest, ok := strings.Cut(p.s[p.at:], ")")
		if !ok {
			return nil, errors.New("comment is not closed")
		}
		p.at = len(p.s) - len(rest)
		return nil, nil
	case p.accept(":"):
		return p.wrapped(reNode{kind: reSeq})
	case p.accept(">"):
		return p.wrapped(reNode{kind: reAtomic})
	case p.accept("="):
		return p.wrapped(reNode{kind: reLook})
	case p.accept("!"):
		return p.wrapped(reNode{kind: reLook, neg: true})
	case p.accept("<="):
		return p.lookBehind(false)
	case p.accept("<!"):
		return p.lookBehind(true)
	case p.accept("P="):
		return p.namedReference(")")
	case p.accept("P<"), p.accept("<"):
		return p.namedCapture(">")
	case p.accept("'"):
		return p.namedCapture("'")
	}
	return options(p)
}

// capture parses a numbered group.
func (p *reParser) capture(name string) (*reNode, error) {
	p.groups++
	if name != "" {
		p.names[name] = p.groups
	}
	return p.wrapped(reNode{kind: reGroup, n: p.groups})
}

// wrapped parses alternatives up to ")" into a node.
func (p *reParser) wrapped(n reNode) (*reNode, error) {
	sub, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.accept(")") {
		return nil, errors.New("missing )")
	}
	n.subs = []*reNode{sub}
	return &n, nil
}

func (p *reParser) lookBehind(neg bool) (*reNode, error) {
	n, err := p.wrapped(reNode{kind: reLook, behind: true, neg: neg})
	if err != nil {
		return nil, err
	}
	for _, alt := range alternativesOf(n.subs[0]) {
		if _, ok := alt.width(); !ok {
			return nil, errors.New("lookbehind has no fixed length")
		}
	}
	return n, nil
}

func alternativesOf(n *reNode) []*reNode {
	if n.kind == reAlt {
		return n.subs
	}
	return []*reNode{n}
}

// width is the length of every match of a node, if there is only one.
func (n *reNode) width() (w int, fixed bool) {
	switch n.kind {
	case reByte, reSet:
		return 1, true
	case reBackref:
		return 0, false
	case reSeq:
		for _, s := range n.subs {
			ws, ok := s.width()
			if !ok {
				return 0, false
			}
			w += ws
		}
		return w, true
	case reAlt:
		w, fixed = n.subs[0].width()
		for _, s := range n.subs[1:] {
			ws, ok := s.width()
			fixed = fixed && ok && ws == w
		}
		return w, fixed
	case reRepeat:
		ws, ok := n.subs[0].width()
		return ws * n.min, ok && n.min == n.max
	case reGroup, reAtomic:
		return n.subs[0].width()
	}
	return 0, true // assertions
}

func (p *reParser) groupName(end string) (string, error) {
	name, rest, ok := strings.Cut(p.s[p.at:], end)
	if !ok || !isName(name) {
		return "", errors.New("bad name of a group")
	}
	p.at = len(p.s) - len(rest)
	return name, nil
}

func (p *reParser) namedCapture(end string) (*reNode, error) {
	name, err := p.groupName(end)
	if err != nil {
		return nil, err
	}
	if p.names[name] != 0 {
		return nil, fmt.Errorf("two groups are named %s", name)
	}
	return p.capture(name)
}

func (p *reParser) namedReference(end string) (*reNode, error) {
	name, err := p.groupName(end)
	if err != nil {
		return nil, err
	}
	if p.names[name] == 0 {
		return nil, fmt.Errorf("no group is named %s", name)
	}
	return &reNode{kind: reBackref, n: p.names[name], neg: p.flags.fold}, nil
}

// options parses (?i), (?i-s:...) and the like.
func options(p *reParser) (*reNode, error) {
	f, on := p.flags, true
	for p.more() {
		c := p.s[p.at]
		p.at++
		switch c {
		case 'i':
			f.fold = on
		case 'm':
			f.lines = on
		case 's':
			f.dotAll = on
		case 'x':
			f.blanks = on
		case '-':
			on = false
		case ')':
			p.flags = f
			return nil, nil
		case ':':
			saved := p.flags
			p.flags = f
			n, err := p.wrapped(reNode{kind: reSeq})
			p.flags = saved
			return n, err
		default:
			return nil, fmt.Errorf("(?%c is not supported", c)
		}
	}
	return nil, errors.New("missing )")
}

// escape parses what follows a backslash outside a class.
func escape(p *reParser) (*reNode, error) {
	if !p.more() {
		return nil, errors.New(`\ at the end`)
	}
	c := p.s[p.at]
	switch c {
	case 'A', 'G':
		p.at++
		return &reNode{kind: reBegin}, nil
	case 'z':
		p.at++
		return &reNode{kind: reEnd}, nil
	case 'Z':
		p.at++
		return &reNode{kind: reEndLine}, nil
	case 'b':
		p.at++
		return &reNode{kind: reWord}, nil
	case 'B':
		p.at++
		return &reNode{kind: reNotWord}, nil
	case 'E':
		p.at++
		return nil, nil
	case 'R':
		p.at++
		return newlineSequence(), nil
	case 'g', 'k':
		p.at++
		return reference(p, c)
	}
	if c >= '1' && c <= '9' {
		if n, end, _ := p.decimal(p.at); n < 10 || n <= p.groups {
			p.at = end
			return p.numberedReference(n), nil
		}
	}
	if s := classOf(c); s != nil {
		p.at++
		return &reNode{kind: reSet, set: s}, nil
	}
	b, err := p.escapedByte()
	if err != nil {
		return nil, err
	}
	return p.literal(b), nil
}

func (p *reParser) numberedReference(n int) *reNode {
	p.maxRef = max(p.maxRef, n)
	return &reNode{kind: reBackref, n: n, neg: p.flags.fold}
}

// reference parses \g1 \g{1} \g{-1} \g{name} \k<name> \k'name' \k{name}.
func reference(p *reParser, c byte) (*reNode, error) {
	switch {
	case c == 'k' && p.accept("<"):
		return p.namedReference(">")
	case c == 'k' && p.accept("'"):
		return p.namedReference("'")
	case c == 'g' && p.more() && isDigit(p.s[p.at]):
		n, end, _ := p.decimal(p.at)
		p.at = end
		return p.numberedReference(n), nil
	case !p.accept("{"):
		return nil, fmt.Errorf(`bad reference \%c`, c)
	}
	text, rest, ok := strings.Cut(p.s[p.at:], "}")
	if n, err := strconv.Atoi(text); ok && err == nil {
		p.at = len(p.s) - len(rest)
		if n < 0 {
			n += p.groups + 1
		}
		if n <= 0 || n > maxRepeat {
			return nil, fmt.Errorf("no group %s", text)
		}
		return p.numberedReference(n), nil
	}
	return p.namedReference("}")
}

// newlineSequence is \R: CR LF, or any one line break.
func newlineSequence() *reNode {
	var one byteSet
	one.addRange('\n', '\r')
	one.add(0x85)
	crlf := &reNode{kind: reSeq, subs: []*reNode{{kind: reByte, c: '\r'}, {kind: reByte, c: '\n'}}}
	alt := &reNode{kind: reAlt, subs: []*reNode{crlf, {kind: reSet, set: &one}}}
	return &reNode{kind: reAtomic, subs: []*reNode{alt}}
}
