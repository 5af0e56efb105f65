package pcre

import "strings"

// textTests is a regular expression that needs no engine: any of several
// tests. It holds for texts without a line feed only, where "." stands for
// every byte.
type textTests []textTest

// textTest looks for pieces of text one after the other, with anything
// between them.
type textTest struct {
	pieces     []textPiece
	begin, end bool // the first piece is at the beginning, the last at the end
	fold       bool // the pieces are in lower case, and case does not matter
}

// textPiece is text in which some bytes may be any.
type textPiece struct {
	text string // with 0 where any byte will do
	run  string // the longest part of it that is fixed
	at   int    // where run stands in text
}

func (ts *textTests) match(s string) bool {
	for i := range *ts {
		if (*ts)[i].match(s) {
			return true
		}
	}
	return false
}

func (t *textTest) match(s string) bool {
	pieces := t.pieces
	if t.fold {
		s = fold(s)
	}
	if t.begin {
		if !pieces[0].isAt(s, 0) {
			return false
		}
		if t.end && len(pieces) == 1 {
			return len(s) == len(pieces[0].text)
		}
		s, pieces = s[len(pieces[0].text):], pieces[1:]
	}
	var last *textPiece
	if t.end {
		last, pieces = &pieces[len(pieces)-1], pieces[:len(pieces)-1]
	}
	for i := range pieces {
		n := pieces[i].index(s)
		if n < 0 {
			return false
		}
		s = s[n+len(pieces[i].text):]
	}
	return last == nil || len(s) >= len(last.text) && last.isAt(s, len(s)-len(last.text))
}

// index is the first place of the piece in s, -1 for none.
func (p *textPiece) index(s string) int {
	if len(p.run) == len(p.text) {
		return strings.Index(s, p.text)
	}
	for from := 0; ; from++ {
		if from+len(p.text) > len(s) {
			return -1
		}
		n := strings.Index(s[from+p.at:], p.run)
		if n < 0 {
			return -1
		}
		if from += n; p.isAt(s, from) {
			return from
		}
	}
}

// isAt reports whether the piece is at one place.
func (p *textPiece) isAt(s string, at int) bool {
	if at+len(p.text) > len(s) {
		return false
	}
	if len(p.run) == len(p.text) {
		return s[at:at+len(p.text)] == p.text
	}
	for i := 0; i < len(p.text); i++ {
		if c := p.text[i]; c != 0 && s[at+i] != c {
			return false
		}
	}
	return true
}

// reduce turns a pattern into tests for fixed text, nil if it is more than
// that.
func reduce(n *reNode) *textTests {
	budget := 64
	var tests textTests
	for _, seq := range spread(n, &budget) {
		t, ok := reduceSequence(seq)
		if !ok || budget < 0 {
			return nil
		}
		tests = append(tests, t)
	}
	return &tests
}

// spread lists the sequences a pattern is the alternatives of, taking the
// groups inside a sequence apart: ".*(a|b).*" is ".*a.*" or ".*b.*".
func spread(n *reNode, budget *int) (all [][]*reNode) {
	if *budget--; *budget < 0 {
		return nil
	}
	n = unwrap(n)
	if n.kind == reAlt {
		for _, s := range n.subs {
			all = append(all, spread(s, budget)...)
		}
		return all
	}
	if n.kind != reSeq {
		return [][]*reNode{{n}}
	}
	for i, s := range n.subs {
		if s = unwrap(s); s.kind != reAlt && s.kind != reSeq {
			continue
		}
		for _, alt := range alternativesOf(s) {
			seq := &reNode{kind: reSeq}
			seq.subs = append(append(append(seq.subs, n.subs[:i]...), flat(alt)...), n.subs[i+1:]...)
			all = append(all, spread(seq, budget)...)
		}
		return all
	}
	return [][]*reNode{n.subs}
}

// unwrap takes off groups; what they capture does not matter for a test.
func unwrap(n *reNode) *reNode {
	for n.kind == reGroup || n.kind == reSeq && len(n.subs) == 1 {
		n = n.subs[0]
	}
	return n
}

func flat(n *reNode) []*reNode {
	if n = unwrap(n); n.kind == reSeq {
		return n.subs
	}
	return []*reNode{n}
}

// reduceSequence reads bytes, dots and ".*", an anchor at either end.
func reduceSequence(seq []*reNode) (t textTest, ok bool) {
	if len(seq) > 0 && seq[0].kind == reBegin {
		t.begin, seq = true, seq[1:]
	}
	if n := len(seq) - 1; n >= 0 && (seq[n].kind == reEndLine || seq[n].kind == reEnd) {
		t.end, seq = true, seq[:n]
	}
	var text []byte
	exact := false
	for i, n := range seq {
		n = unwrap(n)
		switch c, both := bothCases(n); {
		case both:
			text, t.fold = append(text, c), true
		case n.kind == reByte && n.c != 0:
			text, exact = append(text, n.c), exact || lower(n.c) != upper(n.c)
		case isDot(n):
			text = append(text, 0)
		case isAnything(n):
			if len(text) > 0 {
				t.pieces, text = append(t.pieces, newPiece(text)), nil
			}
			t.begin = t.begin && i > 0
			t.end = t.end && i < len(seq)-1
		default:
			return t, false
		}
	}
	if len(text) > 0 || len(t.pieces) == 0 {
		t.pieces = append(t.pieces, newPiece(text))
	}
	return t, !t.fold || !exact
}

// bothCases recognises a letter that may be in either case.
func bothCases(n *reNode) (c byte, ok bool) {
	if n.kind != reSet {
		return 0, false
	}
	for c := byte('a'); c <= 'z'; c++ {
		var s byteSet
		s.add(c)
		s.add(upper(c))
		if *n.set == s {
			return c, true
		}
	}
	return 0, false
}

// isDot reports whether n is any byte but perhaps a line feed.
func isDot(n *reNode) bool {
	all := (&byteSet{}).complement()
	return n.kind == reSet && (*n.set == *notNewline() || *n.set == *all)
}

// isAnything reports whether n is ".*".
func isAnything(n *reNode) bool {
	return n.kind == reRepeat && n.min == 0 && n.max < 0 && n.mode != '+' && isDot(unwrap(n.subs[0]))
}

func newPiece(text []byte) textPiece {
	p := textPiece{text: string(text)}
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && text[j] != 0 {
			j++
		}
		if j-i > len(p.run) {
			p.run, p.at = p.text[i:j], i
		}
		i = j + 1
	}
	return p
}
