package condor

import (
	"maps"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// LooksDAG reports whether a text is a file for DAGMan: its first statement is
// one of DAGMan's, and no assignment.
func LooksDAG(src []byte) bool {
	for line := range strings.Lines(string(src[:min(len(src), 1<<20)])) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		word, rest := cutWord(line)
		word = classad.Fold(word)
		switch known := dagFirst[word] || dagWords[word] != nil || dagIgnored[word] != "" || dagRefused[word] != ""; {
		case !known || rest != "" && (rest[0] == '=' || rest[0] == ':'):
			return false
		case rest != "":
			return true
		}
	}
	return false
}

// dagNode is a JOB statement and what others say of it.
type dagNode struct {
	name, file, dir string
	text            []byte // the description, where it stands in the file itself
	line            int
	done, noop      bool
	early, late     []command // macros set before and behind the description
	retries         int64
	unless          int64 // the exit code after which there is no other try, where it is not 0
	abort           *int  // the exit code with which the whole DAG ends; nil: none
	parents         []*dagNode
	parts           []string // names of the jobs that it becomes
	jobs            []dagJob // these; none of a node without a job
	passing         bool     // its parts are being found, of a node without a job
	pre, post       *jdl.Script
	skip            int        // the exit code of pre with which the job is left out; 0: none
	along           bool       // it is left out with the node of pre, which stands apart
	judge           *dagNode   // that runs its POST script, where it becomes several jobs
	judges          []*dagNode // whose POST script it runs
	aside           bool       // it is left out: what is said of it has no effect
	category        string
}

// dagFile is one file for DAGMan, with what it includes: names are its own.
type dagFile struct {
	dir, prefix string // of a SPLICE
	place       *jdl.Nearby
	nodes       []*dagNode
	first, last []*dagNode // of a SPLICE or SUBDAG: what waits for none of it, and for what none of it waits
	byName      map[string]*dagNode
	splices     map[string]*dagFile
	entries     pins
	exits       pins
	shared      map[string][]byte // SUBMIT-DESCRIPTION by name
	later       []dagStatement
	external    bool     // of a SUBDAG
	whole       *dagNode // what is said of a SUBDAG as of one node
	outer       *dagFile // that it stands in
}

// dagStatement is one that is about nodes, which may stand behind it.
type dagStatement struct {
	word, rest string
	line       int
	in         []*source
}

// dagReader reads a file for DAGMan.
type dagReader struct {
	*parser
	*dagFile
	all    []*dagNode      // those of splices, too
	last   *dagNode        // the FINAL one
	folded map[string]bool // their names, as JDL tells them apart
	edges  int
	said   map[string]bool // submit files whose warnings were told
	budget *budget
	env    []jdl.EnvVar   // of the scripts
	most   map[string]int // MAXJOBS by category
	extra  []*dagNode     // nodes that are made of scripts alone

	subdags     []*dagFile // inner ones first
	provisioned bool       // there is a PROVISIONER
}

// dagFirst are the statements that make nodes, which DAGMan reads first of all.
var dagFirst = map[string]bool{"job": true, "node": true, "submit-description": true, "include": true, "splice": true, "subdag": true, "final": true,
	"service": true, "provisioner": true}

// dagWords are those about nodes that have an effect here.
var dagWords = map[string]func(d *dagReader, rest string, line int){
	"parent": (*dagReader).parent, "vars": (*dagReader).vars, "retry": (*dagReader).retry, "done": (*dagReader).doneNode,
	"abort-dag-on": abortOn, "pin_in": pinIn, "pin_out": pinOut, "connect": connect, "script": readScript, "pre_skip": preSkip,
	"env": readEnv, "category": readCategory, "maxjobs": maxJobs,
}

// dagIgnored are those without one, with what stands in them: how DAGMan itself is
// run and what it writes.
var dagIgnored = map[string]string{"config": "file", "dot": "file ...", "jobstate_log": "file", "node_status_file": "file ...", "save_point_file": "node ...",
	"priority": "node number", "set_job_attr": "name ..."}

// dagRefused are those without which the DAG would be another one, and the way out.
var dagRefused = map[string]string{
	"reject": "the file says itself that it must not be run",
}

// ReadDAG reads a file for DAGMan as the record of a DAG, whose nodes are the
// jobs of the submit files that it names. A node whose submit file queues
// several jobs becomes several nodes; the nodes of splices and inner DAGs are
// among its own. The error is a *classad.Diagnostic.
func ReadDAG(file string, src []byte, near *jdl.Nearby, warn func(*classad.Diagnostic)) ([]*classad.Ad, error) {
	text := newSource(file, src)
	d := &dagReader{parser: newParser(near, warn, text),
		folded: map[string]bool{}, said: map[string]bool{}, budget: &budget{left: maxText}, most: map[string]int{}}
	d.file(newDAGFile(near))
	if d.err == nil {
		scriptDAGs(d)
	}
	nodes := classad.Placed(classad.NewList(), classad.Pos{Line: 1, Col: 1})
	for _, n := range d.all {
		switch {
		case d.err != nil || n.done || n.noop && !n.scripted():
		case n.noop:
			nodes.Elems = append(nodes.Elems, alone(d, n))
		default:
			nodes.Elems = append(nodes.Elems, d.read(n)...)
		}
	}
	if d.err == nil && len(nodes.Elems) == 0 {
		d.fail(d.all[0].line, "", "no node is left to run: all are marked DONE or NOOP")
	}
	d.all = append(d.all, d.extra...)
	edges := d.dependencies()
	if d.err == nil {
		handOver(d)
	}
	if d.err != nil {
		return nil, d.err
	}
	ad := classad.NewAd()
	ad.Set("Type", classad.NewLiteral(classad.StringValue("dag")))
	if name := path.Base(file); name != "-" {
		ad.Set("JobName", classad.NewLiteral(classad.StringValue(name))) // as DAGMan's own job is called
	}
	ad.Set("Nodes", nodes)
	ad.Set("Dependencies", edges)
	return []*classad.Ad{ad}, nil
}

func newDAGFile(near *jdl.Nearby) *dagFile {
	return &dagFile{place: near, byName: map[string]*dagNode{}, splices: map[string]*dagFile{}, shared: map[string][]byte{}}
}

// file reads the innermost text as a file of its own: first what makes nodes,
// then, as DAGMan does, what is said of them, wherever it stands.
func (d *dagReader) file(f *dagFile) {
	outer, in, before := d.dagFile, d.in, len(d.all)
	d.dagFile = f
	d.statements()
	for _, n := range f.nodes {
		if text, ok := f.shared[n.file]; ok {
			n.text, n.file = text, ""
		}
	}
	if d.err == nil && len(d.all) == before {
		d.fail(max(1, len(d.in[len(d.in)-1].lines)), "JOB name file.sub", "the DAG has no JOB")
	}
	for _, s := range f.later {
		if d.err == nil {
			d.in = s.in
			d.about(s)
		}
	}
	f.later, d.in = nil, in
	if outer != nil {
		d.dagFile = outer
	}
}

// statements reads those of the innermost text, to its end.
func (d *dagReader) statements() {
	from := d.in[len(d.in)-1]
	if i := strings.IndexByte(from.src, 0); i >= 0 {
		d.fail(1+strings.Count(from.src[:i], "\n"), "", "NUL byte in the text")
	}
	in := slices.Clone(d.in)
	for d.err == nil {
		text, number, ok := d.next()
		if !ok {
			return
		}
		if text == "" || text[0] == '#' {
			continue
		}
		word, rest := cutWord(text)
		if s := (dagStatement{word, rest, number, in}); !d.first(s) {
			d.later = append(d.later, s)
		}
	}
}

// first reads a statement that makes nodes; false: it is another one.
func (d *dagReader) first(s dagStatement) bool {
	switch classad.Fold(s.word) {
	case "job", "node":
		d.job("JOB", s.rest, s.line)
	case "final":
		readFinal(d, s.rest, s.line)
	case "service", "provisioner":
		readAside(d, strings.ToUpper(s.word), s.rest, s.line)
	case "submit-description":
		d.description(s.rest, s.line)
	case "include":
		d.includeDAG(s.rest, s.line)
	case "splice":
		d.inner("SPLICE", dagFields(s.rest), s.line)
	case "subdag":
		d.subdag(s.rest, s.line)
	default:
		return false
	}
	return true
}

// about reads a statement that makes no node.
func (d *dagReader) about(s dagStatement) {
	key := classad.Fold(s.word)
	hint, refused := dagRefused[key]
	switch read := dagWords[key]; {
	case read != nil:
		read(d, s.rest, s.line)
	case refused:
		d.fail(s.line, hint, "%s is not supported", s.word)
	case dagIgnored[key] != "":
		d.ignored(s, dagIgnored[key])
	default:
		known := append(slices.Collect(maps.Keys(dagWords)), slices.Collect(maps.Keys(dagFirst))...)
		slices.Sort(known)
		d.fail(s.line, classad.DidYouMean(s.word, known), "%s is no statement of DAGMan", s.word)
	}
}

// ignored warns of a statement that has no effect here, and refuses one that
// DAGMan itself would not take.
func (d *dagReader) ignored(s dagStatement, form string) {
	words, want := strings.Fields(s.rest), strings.Fields(form)
	open := want[len(want)-1] == "..."
	if open {
		want = want[:len(want)-1]
	}
	if len(words) < len(want) || len(words) > len(want) && !open {
		d.fail(s.line, strings.ToUpper(s.word)+" "+form, "%s is not understood", s.word)
		return
	}
	for i, what := range want {
		number := strings.TrimLeft(words[i], "+")
		if what == "number" {
			number = strings.TrimLeft(number, "-")
		}
		switch {
		case what == "node" && (d.splices[words[i]] == nil || !d.splices[words[i]].external):
			d.meant(words[i], s.line)
		case (what == "number" || what == "count") && strings.Trim(number, ".0123456789") != "":
			d.fail(s.line, "", "%s: %s is no %s", s.word, words[i], what)
		}
	}
	if d.err == nil {
		d.tell(s.line, "%s is not used", s.word)
	}
}

// includeDAG reads on in another file, as if it stood here.
func (d *dagReader) includeDAG(rest string, line int) {
	words := dagFields(rest)
	if len(words) != 1 {
		d.fail(line, "INCLUDE file.dag", "INCLUDE is not understood")
		return
	}
	src, err := nearby(d.parser, d.place, words[0], line)
	if err != nil {
		d.fail(line, "", "INCLUDE %s: %v", words[0], err)
		return
	}
	d.within(words[0], src, line, d.statements)
}
