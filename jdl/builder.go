package jdl

import (
	"cmp"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// Builder makes the record of a job that is described in another language. Ad
// is the record so far.
type Builder struct {
	Ad       *classad.Ad
	Pos      classad.Pos // where the next values stand
	Programs []string    // Input files to be made executable

	sources []classad.Expr
	names   []string
	named   map[string]bool // of names
	outputs []string
	urls    []string
	backs   []string
	backAt  classad.Pos
	sent    bool
	renamed bool
	clauses []string
}

// Together is the records of jobs as one of a collection of that name, which may be empty, of which most at once are sent,
// 0: all; pos is where that is said. The jobs are called by their numbers, as they are where they are not together.
func Together(name string, ads []*classad.Ad, most int64, pos classad.Pos) *classad.Ad {
	b := Builder{Ad: classad.Placed(classad.NewAd(), pos), Pos: pos}
	nodes := classad.Placed(classad.NewList(), pos)
	for i, ad := range ads {
		ad.Set("NodeName", classad.NewLiteral(classad.StringValue(strconv.Itoa(i))))
		nodes.Elems = append(nodes.Elems, ad)
	}
	b.Str("Type", "collection")
	b.Str("JobName", name)
	b.Ad.Put(classad.Attr{Name: "Nodes", Expr: nodes, NamePos: pos})
	b.Number("Max_Nodes_Running", most)
	return b.Ad
}

// Set gives an attribute a value at the present place.
func (b *Builder) Set(name string, v classad.Value) {
	b.Ad.Put(classad.Attr{Name: name, Expr: classad.Placed(classad.NewLiteral(v), b.Pos), NamePos: b.Pos})
}

// Str sets a string attribute that is not empty.
func (b *Builder) Str(name, s string) {
	if s != "" {
		b.Set(name, classad.StringValue(s))
	}
}

// Number sets an integer attribute that is not 0.
func (b *Builder) Number(name string, n int64) {
	if n != 0 {
		b.Set(name, classad.IntValue(n))
	}
}

// Add appends to a list of strings.
func (b *Builder) Add(name, s string) {
	l := classad.Placed(classad.NewList(), b.Pos)
	if e, ok := b.Ad.Expr(name); ok {
		l = e.(*classad.ListExpr)
	}
	l.Elems = append(l.Elems, classad.Placed(classad.NewLiteral(classad.StringValue(s)), b.Pos))
	b.Ad.Put(classad.Attr{Name: name, Expr: l, NamePos: b.Pos})
}

// Require adds a clause to Requirements.
func (b *Builder) Require(clause string) { b.clauses = append(b.clauses, clause) }

// Access reads a wish for network access of the node.
func (b *Builder) Access(s string) {
	if s = classad.Fold(s); strings.Contains(s, "outbound") || s == "inoutbound" {
		b.Require("other.GlueHostNetworkAdapterOutboundIP")
	}
	if strings.Contains(s, "inbound") || s == "inoutbound" {
		b.Require("other.GlueHostNetworkAdapterInboundIP")
	}
}

// Input adds an input file; an empty source means the local file of that name.
func (b *Builder) Input(source, name string, program bool) {
	if source == "" {
		source = name
	}
	b.sources = append(b.sources, classad.Placed(classad.NewLiteral(classad.StringValue(source)), b.Pos))
	b.names = append(b.names, name)
	if b.named == nil {
		b.named = map[string]bool{}
	}
	b.named[name] = true
	if program {
		b.Programs = append(b.Programs, name)
	}
}

// HasInput reports whether an input file has the name.
func (b *Builder) HasInput(name string) bool { return b.named[name] }

// Output adds an output file; "/" is everything.
func (b *Builder) Output(name, url string) { b.OutputAs(name, url, "") }

// OutputAs adds an output file that is brought under another name; "": its own.
func (b *Builder) OutputAs(name, url, back string) {
	if name == "/" {
		name = "*"
	}
	b.outputs, b.backs = append(b.outputs, name), append(b.backs, back)
	if back != "" {
		b.renamed, b.backAt = true, b.Pos
	}
	b.urls = append(b.urls, cmp.Or(url, fetchedURL))
	b.sent = b.sent || url != ""
}

// Finish writes the collected lists. The program, when it is a relative name
// that no input file has, is an input file too.
func (b *Builder) Finish(program string) {
	if program != "" && !strings.HasPrefix(program, "/") && !strings.HasPrefix(program, "$") && !b.HasInput(program) {
		b.Input("", program, false)
	}
	if len(b.sources) > 0 {
		b.Ad.Set("InputSandbox", classad.Placed(classad.NewList(b.sources...), b.Pos))
		b.Ad.Set("InputSandboxDestFileName", stringList(b.names))
	}
	if len(b.outputs) > 0 {
		b.Ad.Set("OutputSandbox", stringList(b.outputs))
	}
	if b.sent {
		b.Ad.Set("OutputSandboxDestURI", stringList(b.urls))
	}
	if b.renamed {
		b.Ad.Put(classad.Attr{Name: "OutputSandboxDestFileName", Expr: classad.Placed(stringList(b.backs), b.backAt), NamePos: b.backAt})
	}
	b.lists()
}

func (b *Builder) lists() {
	if len(b.Programs) > 0 {
		b.Ad.Set("ExecutableFiles", stringList(b.Programs))
	}
	var whole classad.Expr
	for _, c := range b.clauses {
		e, err := classad.ParseExpr("", []byte(c))
		if err == nil { // made here, so it parses
			whole = classad.And(whole, e)
		}
	}
	if whole != nil {
		b.Ad.Put(classad.Attr{Name: "Requirements", Expr: whole, NamePos: b.Pos})
	}
}
