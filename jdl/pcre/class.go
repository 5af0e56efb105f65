package pcre

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// classOf is the set that \d, \w and their kin stand for, nil for no class.
func classOf(c byte) *byteSet {
	var s byteSet
	switch c | 0x20 {
	case 'd':
		s.addRange('0', '9')
	case 'w':
		s.union(posixClass("alnum"))
		s.add('_')
	case 's':
		s.addRange('\t', '\r')
		s.add(' ')
	case 'h':
		s.add('\t')
		s.add(' ')
		s.add(0xa0)
	case 'v':
		s.addRange('\n', '\r')
		s.add(0x85)
	case 'n':
		if c == 'n' {
			return nil // a line feed
		}
		return notNewline()
	default:
		return nil
	}
	if c&0x20 == 0 {
		return s.complement()
	}
	return &s
}

// posixClass is the set of [:name:], nil for an unknown name.
func posixClass(name string) *byteSet {
	var s byteSet
	switch name {
	case "alpha", "alnum":
		s.addRange('a', 'z')
		s.addRange('A', 'Z')
		if name == "alnum" {
			s.addRange('0', '9')
		}
	case "digit":
		s.addRange('0', '9')
	case "lower":
		s.addRange('a', 'z')
	case "upper":
		s.addRange('A', 'Z')
	case "space":
		s.addRange('\t', '\r')
		s.add(' ')
	case "blank":
		s.add('\t')
		s.add(' ')
	case "cntrl":
		s.addRange(0, 31)
		s.add(127)
	case "print":
		s.addRange(' ', '~')
	case "graph":
		s.addRange('!', '~')
	case "punct":
		s.addRange('!', '/')
		s.addRange(':', '@')
		s.addRange('[', '`')
		s.addRange('{', '~')
	case "word":
		return classOf('w')
	case "xdigit":
		s.addRange('0', '9')
		s.addRange('a', 'f')
		s.addRange('A', 'F')
	case "ascii":
		s.addRange(0, 127)
	default:
		return nil
	}
	return &s
}

// class parses what follows "[".
func (p *reParser) class() (*reNode, error) {
	var s byteSet
	neg := p.accept("^")
	for first := true; ; first = false {
		if !p.more() {
			return nil, errors.New("missing ] of a class")
		}
		if p.s[p.at] == ']' && !first {
			p.at++
			break
		}
		if err := p.classItem(&s); err != nil {
			return nil, err
		}
	}
	if p.flags.fold {
		s.foldCase()
	}
	if neg {
		return &reNode{kind: reSet, set: s.complement()}, nil
	}
	return &reNode{kind: reSet, set: &s}, nil
}

// foldCase adds the other case of every letter.
func (s *byteSet) foldCase() {
	for c := byte('a'); c <= 'z'; c++ {
		if s.has(c) || s.has(upper(c)) {
			s.add(c)
			s.add(upper(c))
		}
	}
}

// classItem parses a class within the class, a byte or a range.
func (p *reParser) classItem(s *byteSet) error {
	if p.accept(`\Q`) || p.accept(`\E`) {
		return nil
	}
	if set, ok, err := p.namedClass(); ok || err != nil {
		if err == nil {
			s.union(set)
		}
		return err
	}
	lo, set, err := p.classByte()
	if err != nil {
		return err
	}
	if set != nil {
		s.union(set)
		return nil
	}
	if !strings.HasPrefix(p.s[p.at:], "-") || strings.HasPrefix(p.s[p.at:], "-]") || p.at+1 == len(p.s) {
		s.add(lo)
		return nil
	}
	p.at++
	hi, set, err := p.classByte()
	switch {
	case err != nil:
		return err
	case set != nil: // [a-\d]: the hyphen is itself
		s.add(lo)
		s.add('-')
		s.union(set)
		return nil
	case hi < lo:
		return errors.New("range of a class is out of order")
	}
	s.addRange(lo, hi)
	return nil
}

// namedClass parses [:alpha:] and [:^alpha:].
func (p *reParser) namedClass() (set *byteSet, ok bool, err error) {
	rest := p.s[p.at:]
	if !strings.HasPrefix(rest, "[:") {
		return nil, false, nil
	}
	name, _, closed := strings.Cut(rest[2:], ":]")
	if !closed || strings.ContainsAny(name, `[]\`) {
		return nil, false, nil
	}
	p.at += len("[:") + len(name) + len(":]")
	set = posixClass(strings.TrimPrefix(name, "^"))
	if set == nil {
		return nil, false, fmt.Errorf("unknown class [:%s:]", name)
	}
	if strings.HasPrefix(name, "^") {
		set = set.complement()
	}
	return set, true, nil
}

// classByte parses a byte of a class, or an escape that is a set.
func (p *reParser) classByte() (c byte, set *byteSet, err error) {
	if !p.more() {
		return 0, nil, errors.New("missing ] of a class")
	}
	if p.s[p.at] != '\\' {
		p.at++
		return p.s[p.at-1], nil, nil
	}
	p.at++
	if !p.more() {
		return 0, nil, errors.New(`\ at the end`)
	}
	if p.s[p.at] == 'b' {
		p.at++
		return '\b', nil, nil
	}
	if set := classOf(p.s[p.at]); set != nil && p.s[p.at] != 'N' {
		p.at++
		return 0, set, nil
	}
	c, err = p.escapedByte()
	return c, nil, err
}

// escapedByte parses an escape that stands for one byte; p.at is after the
// backslash.
func (p *reParser) escapedByte() (byte, error) {
	c := p.s[p.at]
	p.at++
	switch c {
	case 'a':
		return 7, nil
	case 'e':
		return 27, nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'x':
		return p.hexByte()
	case 'c':
		if !p.more() {
			return 0, errors.New(`\c at the end`)
		}
		p.at++
		return upper(p.s[p.at-1]) ^ 0x40, nil
	}
	if isOctal(c) {
		n := int(c - '0')
		for i := 0; i < 2 && p.more() && isOctal(p.s[p.at]) && n*8 < 256; i++ {
			n = n*8 + int(p.s[p.at]-'0')
			p.at++
		}
		return byte(n), nil
	}
	if isLetter(c) && c != '_' {
		return 0, fmt.Errorf(`\%c is not supported`, c)
	}
	return c, nil
}

// hexByte parses \xhh and \x{hh}; p.at is after the x.
func (p *reParser) hexByte() (byte, error) {
	digits := ""
	if p.accept("{") {
		text, rest, ok := strings.Cut(p.s[p.at:], "}")
		if !ok {
			return 0, errors.New(`\x{ is not closed`)
		}
		digits, p.at = text, len(p.s)-len(rest)
	} else {
		for len(digits) < 2 && p.more() && isHex(p.s[p.at]) {
			digits += string(p.s[p.at])
			p.at++
		}
	}
	if digits == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(digits, 16, 8)
	if err != nil {
		return 0, fmt.Errorf(`bad character \x{%s}`, digits)
	}
	return byte(n), nil
}
