package xrsl

import (
	"fmt"
	"strings"

	"gridbroker/jdl/classad"
)

// The syntax is that of the Globus Resource Specification Language 1.0 as the
// ARC "Extended Resource Specification Language" manual (NORDUGRID-MANUAL-4)
// narrows it.

// xrslRelation is "(name op value...)".
type xrslRelation struct {
	pos    classad.Pos
	name   string // lower case, without underscores
	op     string
	values []xrslValue
	or     []xrslRelation // of orRelation, which has nothing else
}

// orRelation is the name that (|(a=b)(c=d)) gets.
const orRelation = "|"

// xrslValue is a text, or a list in parentheses.
type xrslValue struct {
	pos    classad.Pos
	text   string
	list   []xrslValue
	isList bool
}

// xrslDepth bounds the nesting of parentheses.
const xrslDepth = 100

type xrslParser struct {
	file  string
	src   string
	at    int
	vars  map[string]string
	err   error
	depth int
	noted bool // a comment of # is told
	made  int  // bytes of text produced, for variables can grow without bound
	place classad.Places
	warn  func(*classad.Diagnostic)

	inText, inRequest int // values
	named             int // attributes of the request
}

// Bounds of what is read.
const (
	xrslText       = 64 << 20  // bytes of text produced
	mostRelations  = 10_000    // of a request
	mostValues     = 300_000   // of a request: a hundred thousand files have two each, and a list about them
	mostValuesEver = 2_000_000 // of a text
)

// parseXRSL parses one request "&(...)(...)" or several "+(&...)(&...)", of which one may be several itself.
func parseXRSL(file, src string, warn func(*classad.Diagnostic)) ([][]xrslRelation, error) {
	p := &xrslParser{file: file, src: src, place: classad.Places{Src: src}, warn: warn}
	if i := strings.IndexByte(src, 0); i >= 0 {
		p.fail(i, "", "NUL byte in the text")
		return nil, p.err
	}
	jobs := p.requests(nil)
	skipNotes(p)
	if p.err == nil && p.at < len(p.src) {
		p.fail(p.at, "", "unexpected %s", p.found())
	}
	if p.err == nil && len(jobs) == 0 {
		p.fail(p.at, "", "no request")
	}
	return jobs, p.err
}

// requests adds one request, or those of a list.
func (p *xrslParser) requests(jobs [][]xrslRelation) [][]xrslRelation {
	if skipNotes(p); !p.take('+') {
		return append(jobs, p.request())
	}
	if p.depth++; p.depth > xrslDepth {
		p.fail(p.at, "", "parentheses are nested too deeply")
	}
	for p.skip(); p.err == nil && p.take('('); skipNotes(p) {
		jobs = p.requests(jobs)
		p.skip()
		p.expect(')', "at the end of a request")
	}
	p.depth--
	return jobs
}

// request parses "&" and relations; the "&" may be missing.
func (p *xrslParser) request() []xrslRelation {
	if p.peek('|') {
		p.fail(p.at, "", "alternatives (|) are not supported")
		return nil
	}
	p.take('&')
	p.vars, p.inRequest, p.named = map[string]string{}, 0, 0
	var out []xrslRelation
	out = p.relations(out)
	if p.err == nil && len(out) == 0 {
		p.fail(p.at, "", "a request is &(name=value)(name=value)...")
	}
	return out
}

// relations reads (name=value)(name=value)...; one that is itself &(...)(...)
// adds its own.
func (p *xrslParser) relations(out []xrslRelation) []xrslRelation {
	p.depth++
	defer func() { p.depth-- }()
	for skipNotes(p); p.err == nil && p.take('('); skipNotes(p) {
		if p.skip(); p.peek('&') && p.depth <= xrslDepth {
			p.take('&')
			out = p.relations(out)
			p.expect(')', "after the nested request")
			continue
		}
		r := p.relation()
		p.expect(')', "after the values of "+r.name)
		if r.name == "rslsubstitution" {
			p.substitution(r)
			continue
		}
		out = append(out, r)
	}
	return out
}

func (p *xrslParser) relation() xrslRelation {
	p.skip()
	if p.named++; p.named > mostRelations {
		p.fail(p.at, "", "more than %d attributes", mostRelations)
	}
	if p.peek('|') {
		return p.alternatives()
	}
	if p.peek('&') || p.peek('(') {
		p.fail(p.at, "", "nested requests are not supported")
		return xrslRelation{}
	}
	start := p.at
	name := ""
	if p.peek('"') || p.peek('\'') {
		name = p.text()
	} else {
		name = p.word()
	}
	r := xrslRelation{pos: p.posAt(start), name: strings.ReplaceAll(classad.Fold(name), "_", "")}
	if r.name == "" {
		p.fail(start, "", "expected the name of an attribute, found %s", p.found())
		return r
	}
	p.skip()
	r.op = p.operator()
	r.values = p.values()
	return r
}

// alternatives parses "|(a=b)(c=d)" inside a request.
func (p *xrslParser) alternatives() xrslRelation {
	r := xrslRelation{pos: p.posAt(p.at), name: orRelation, op: "="}
	if p.depth++; p.depth > xrslDepth {
		p.fail(p.at, "", "parentheses are nested too deeply")
	}
	p.take('|')
	for p.skip(); p.err == nil && p.take('('); p.skip() {
		r.or = append(r.or, p.relation())
		p.expect(')', "after an alternative")
	}
	p.depth--
	if p.err == nil && len(r.or) == 0 {
		p.fail(p.at, "", "| stands before alternatives: (|(queue=a)(queue=b))")
	}
	return r
}

func (p *xrslParser) operator() string {
	for _, op := range []string{"<=", ">=", "!=", "=", "<", ">"} {
		if strings.HasPrefix(p.src[p.at:], op) {
			p.at += len(op)
			return op
		}
	}
	p.fail(p.at, "", "expected =, found %s", p.found())
	return ""
}

// values parses values up to a closing parenthesis.
func (p *xrslParser) values() []xrslValue {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > xrslDepth {
		p.fail(p.at, "", "parentheses are nested too deeply")
	}
	var out []xrslValue
	for p.skip(); p.err == nil && p.at < len(p.src) && !p.peek(')'); p.skip() {
		out = append(out, p.value())
	}
	return out
}

// value is a list, or texts joined by # or by nothing: $(TOP)/file is one text,
// and so is "a"b.
func (p *xrslParser) value() xrslValue {
	p.count()
	v := xrslValue{pos: p.posAt(p.at)}
	if p.take('(') {
		v.isList, v.list = true, p.values()
		p.expect(')', "at the end of a list")
		return v
	}
	var b strings.Builder
	for p.part(&b); p.err == nil; p.part(&b) {
		end := p.at
		p.skip()
		switch {
		case p.take('#'):
			p.skip()
			continue
		case p.at == end && p.begins():
			continue
		}
		break
	}
	v.text = b.String()
	return v
}

// count counts one more value.
func (p *xrslParser) count() {
	switch p.inRequest, p.inText = p.inRequest+1, p.inText+1; {
	case p.inRequest > mostValues:
		p.fail(p.at, "", "more than %d values in a request", mostValues)
	case p.inText > mostValuesEver:
		p.fail(p.at, "", "more than %d values", mostValuesEver)
	}
}

// begins reports whether another text stands here.
func (p *xrslParser) begins() bool {
	return p.at < len(p.src) && (strings.IndexByte("\"'^", p.src[p.at]) >= 0 ||
		strings.HasPrefix(p.src[p.at:], "$(") || strings.IndexByte(notInWords, p.src[p.at]) < 0)
}

// part appends one text to a value.
func (p *xrslParser) part(b *strings.Builder) {
	s := p.text()
	if p.made += len(s); p.made > xrslText {
		p.fail(p.at, "", "the texts are longer than %d MB", xrslText>>20)
		return
	}
	b.WriteString(s)
}

// text is a quoted text, a variable or a word.
func (p *xrslParser) text() string {
	switch {
	case p.peek('"') || p.peek('\''):
		quote := p.src[p.at]
		p.at++
		return p.quoted(quote)
	case p.peek('^') && p.at+1 < len(p.src):
		quote := p.src[p.at+1]
		p.at += 2
		return p.quoted(quote)
	case strings.HasPrefix(p.src[p.at:], "$("):
		return p.variable()
	}
	start := p.at
	if w := p.word(); w != "" {
		return w
	}
	p.fail(start, "quote it", "unexpected %s", p.found())
	return ""
}

// quoted reads to the closing quote; a doubled quote is one of the text.
func (p *xrslParser) quoted(quote byte) string {
	start := p.at - 1
	var b strings.Builder
	for {
		i := strings.IndexByte(p.src[p.at:], quote)
		if i < 0 {
			p.fail(start, "", "the quote is not closed")
			return ""
		}
		b.WriteString(p.src[p.at : p.at+i])
		p.at += i + 1
		if p.at >= len(p.src) || p.src[p.at] != quote {
			p.inQuotes(start, b.String())
			return b.String()
		}
		b.WriteByte(quote)
		p.at++
	}
}

// inQuotes warns of a variable that stands in quotes, where ARC's reader does not replace it. What no rsl_substitution defines
// is a shell's.
func (p *xrslParser) inQuotes(start int, text string) {
	for _, after := range strings.Split(text, "$(")[1:] {
		name, _, closed := strings.Cut(after, ")")
		if _, known := p.vars[name]; !closed || !known {
			continue
		}
		p.warn(&classad.Diagnostic{Severity: classad.Warning, File: p.file, Pos: p.posAt(start), Code: "quoted-variable",
			Msg: "$(" + name + ") is not replaced inside quotes", Hint: `outside of them it is: $(` + name + `)".dat"`})
		return
	}
}

// variable reads $(NAME) or $(NAME default).
func (p *xrslParser) variable() string {
	start := p.at
	if p.depth++; p.depth > xrslDepth {
		p.fail(start, "", "parentheses are nested too deeply")
		return ""
	}
	defer func() { p.depth-- }()
	p.at += len("$(")
	p.skip()
	name := p.word()
	p.skip()
	value, known := p.vars[name]
	if !p.peek(')') {
		if def := p.value(); !known {
			value, known = def.text, true
		}
		p.skip()
	}
	p.expect(')', "after $("+name)
	if !known {
		p.fail(start, "define it: (rsl_substitution=("+name+" value))", "the variable %s is not defined", name)
	}
	return value
}

// substitution defines variables: (rsl_substitution=(NAME value)...).
func (p *xrslParser) substitution(r xrslRelation) {
	for _, v := range r.values {
		if len(v.list) != 2 || v.list[0].isList || v.list[1].isList {
			p.failAt(v.pos, "", "rsl_substitution wants (NAME value)")
			return
		}
		p.vars[v.list[0].text] = v.list[1].text
	}
}

// notInWords are the characters that end a text without quotes.
const notInWords = " \t\r\n\v\f+&|()=<>!\"'^#$\x00"

// word reads characters that need no quotes.
func (p *xrslParser) word() string {
	n := strings.IndexAny(p.src[p.at:], notInWords)
	if n < 0 {
		n = len(p.src) - p.at
	}
	w := p.src[p.at : p.at+n]
	p.at += n
	return w
}

// skip skips blanks and comments "(* ... *)".
func (p *xrslParser) skip() {
	for p.err == nil {
		rest := strings.TrimLeft(p.src[p.at:], " \t\r\n\v\f")
		p.at = len(p.src) - len(rest)
		if !strings.HasPrefix(rest, "(*") {
			return
		}
		end := strings.Index(rest[2:], "*)")
		if end < 0 {
			p.fail(p.at, "", "the comment is not closed")
			return
		}
		p.at += end + len("(**)")
	}
}

// skipNotes skips lines of # where a relation may begin or end, too, which no reader of xRSL does but many write.
func skipNotes(p *xrslParser) {
	for p.skip(); p.err == nil && p.peek('#'); p.skip() {
		if !p.noted {
			p.noted = true
			p.warn(&classad.Diagnostic{Severity: classad.Warning, File: p.file, Pos: p.posAt(p.at), Code: "comment",
				Msg: "a comment with # is skipped here, and ARC refuses it", Hint: "comments are (* like this *)"})
		}
		end := strings.IndexByte(p.src[p.at:], '\n')
		if end < 0 {
			end = len(p.src) - p.at - 1
		}
		p.at += end + 1
	}
}

func (p *xrslParser) peek(c byte) bool { return p.at < len(p.src) && p.src[p.at] == c }

func (p *xrslParser) take(c byte) bool {
	if p.err != nil || !p.peek(c) {
		return false
	}
	p.at++
	return true
}

func (p *xrslParser) expect(c byte, where string) {
	if p.err == nil && !p.take(c) {
		p.fail(p.at, "", "expected %c %s, found %s", c, where, p.found())
	}
}

func (p *xrslParser) found() string {
	if p.at >= len(p.src) {
		return "the end"
	}
	return fmt.Sprintf("%q", p.src[p.at:p.at+1])
}

func (p *xrslParser) posAt(offset int) classad.Pos { return p.place.At(offset) }

func (p *xrslParser) fail(offset int, hint, format string, args ...any) {
	p.failAt(p.posAt(offset), hint, format, args...)
}

func (p *xrslParser) failAt(pos classad.Pos, hint, format string, args ...any) {
	if p.err == nil {
		d := &classad.Diagnostic{Severity: classad.Fatal, File: p.file, Pos: pos, Code: "xrsl", Msg: fmt.Sprintf(format, args...), Hint: hint}
		d.ShowLine(p.src)
		p.err = d
	}
	p.at = len(p.src)
}
