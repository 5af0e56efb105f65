package jdl

import "strings"

// adBuilder makes a record of ours from a description in another language.
type adBuilder struct {
	ad       *Ad
	pos      Pos // where the next values stand
	sources  []Expr
	names    []string
	programs []string
	outputs  []string
	urls     []string
	sent     bool
	clauses  []string
}

func (b *adBuilder) set(name string, v Value) {
	b.ad.put(Attr{Name: name, Expr: &Literal{at: at{pos: b.pos}, Value: v}, NamePos: b.pos})
}

// str sets a string attribute that is not empty.
func (b *adBuilder) str(name, s string) {
	if s != "" {
		b.set(name, StringValue(s))
	}
}

// number sets an integer attribute that is not 0.
func (b *adBuilder) number(name string, n int64) {
	if n != 0 {
		b.set(name, IntValue(n))
	}
}

// add appends to a list of strings.
func (b *adBuilder) add(name, s string) {
	l := &ListExpr{at: at{pos: b.pos}}
	if e, ok := b.ad.Expr(name); ok {
		l = e.(*ListExpr)
	}
	l.Elems = append(l.Elems, &Literal{at: at{pos: b.pos}, Value: StringValue(s)})
	b.ad.put(Attr{Name: name, Expr: l, NamePos: b.pos})
}

func (b *adBuilder) hook(name string, programs []adlProgram) {
	if len(programs) > 0 {
		b.str(name, strings.TrimSpace(programs[0].Path))
		b.str(name+"Arguments", JoinArgs(programs[0].Args))
	}
}

// require adds a clause to Requirements.
func (b *adBuilder) require(clause string) { b.clauses = append(b.clauses, clause) }

// access reads a wish for network access of the node.
func (b *adBuilder) access(s string) {
	if s = fold(s); strings.Contains(s, "outbound") || s == "inoutbound" {
		b.require("other.GlueHostNetworkAdapterOutboundIP")
	}
	if strings.Contains(s, "inbound") || s == "inoutbound" {
		b.require("other.GlueHostNetworkAdapterInboundIP")
	}
}

// input adds an input file; an empty source means the local file of that name.
func (b *adBuilder) input(source, name string, program bool) {
	if source == "" {
		source = name
	}
	b.sources = append(b.sources, &Literal{at: at{pos: b.pos}, Value: StringValue(source)})
	b.names = append(b.names, name)
	if program {
		b.programs = append(b.programs, name)
	}
}

func (b *adBuilder) hasInput(name string) bool {
	for _, n := range b.names {
		if n == name {
			return true
		}
	}
	return false
}

// output adds an output file; "/" is everything.
func (b *adBuilder) output(name, url string) {
	if name == "/" {
		name = "*"
	}
	b.outputs = append(b.outputs, name)
	b.urls = append(b.urls, orElse(url, fetchedURL))
	b.sent = b.sent || url != ""
}

// finish writes the collected lists. The program, when it is a relative name
// that no input file has, is an input file too.
func (b *adBuilder) finish(program string) {
	if program != "" && !strings.HasPrefix(program, "/") && !strings.HasPrefix(program, "$") && !b.hasInput(program) {
		b.input("", program, false)
	}
	if len(b.sources) > 0 {
		b.ad.Set("InputSandbox", &ListExpr{at: at{pos: b.pos}, Elems: b.sources})
		b.ad.Set("InputSandboxDestFileName", stringList(b.names))
	}
	if len(b.outputs) > 0 {
		b.ad.Set("OutputSandbox", stringList(b.outputs))
	}
	if b.sent {
		b.ad.Set("OutputSandboxDestURI", stringList(b.urls))
	}
	b.lists()
}

func (b *adBuilder) lists() {
	if len(b.programs) > 0 {
		b.ad.Set("ExecutableFiles", stringList(b.programs))
	}
	var whole Expr
	for _, c := range b.clauses {
		e, err := ParseExpr("", []byte(c))
		if err == nil { // made here, so it parses
			whole = And(whole, e)
		}
	}
	if whole != nil {
		b.ad.Set("Requirements", whole)
	}
}
