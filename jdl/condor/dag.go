package condor

import (
	"maps"
	"slices"
	"strconv"
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
		return (dagWords[word] != nil || dagIgnored[word] || dagRefused[word] != "") && rest != "" && rest[0] != '='
	}
	return false
}

// dagNode is a JOB statement and what others say of it.
type dagNode struct {
	name, file, dir string
	text            []byte // the description, where it stands in the file itself
	line            int
	done            bool
	early, late     []command // macros set before and behind the description
	retries         int64
	parents         []*dagNode
	parts           []string // names of the jobs that it becomes
}

// dagReader reads a file for DAGMan.
type dagReader struct {
	*parser
	nodes  []*dagNode
	byName map[string]*dagNode
	shared map[string][]byte // SUBMIT-DESCRIPTION by name
	edges  int
	said   map[string]bool // submit files whose warnings were told
	budget *budget
}

// dagWords are the statements that have an effect here.
var dagWords = map[string]func(d *dagReader, words []string, rest string, line int){
	"job": (*dagReader).job, "node": (*dagReader).job, "parent": (*dagReader).parent, "vars": (*dagReader).vars, "retry": (*dagReader).retry,
	"done": (*dagReader).doneNode, "submit-description": (*dagReader).description,
}

// dagIgnored are those without one: how DAGMan itself is run and what it writes.
var dagIgnored = map[string]bool{"config": true, "dot": true, "jobstate_log": true, "node_status_file": true, "save_point_file": true,
	"priority": true, "category": true, "maxjobs": true, "set_job_attr": true}

// dagRefused are those without which the DAG would be another one, and the way out.
var dagRefused = map[string]string{
	"script":       "DAGMan runs it where it runs itself; for what belongs to the job, Prologue and Epilogue of JDL run on the node",
	"subdag":       "submit the inner file by itself, or write its nodes into this one",
	"splice":       "write its nodes into this file",
	"connect":      "write the nodes of the splices into this file",
	"pin_in":       "write the nodes of the splices into this file",
	"pin_out":      "write the nodes of the splices into this file",
	"final":        "make it a node behind all others: it runs only if these went well",
	"provisioner":  "make it a node before all others",
	"service":      "run it beside the DAG",
	"pre_skip":     "there are no PRE scripts here",
	"abort-dag-on": "what comes after a node that failed is not run; cancel the rest by grid cancel --group",
	"env":          "set variables by environment in the submit files",
	"reject":       "",
}

// ReadDAG reads a file for DAGMan as the record of a DAG, whose nodes are the
// jobs of the submit files that it names. A node whose submit file queues
// several jobs becomes several nodes. The error is a *classad.Diagnostic.
func ReadDAG(file string, src []byte, near *jdl.Nearby, warn func(*classad.Diagnostic)) ([]*classad.Ad, error) {
	text := newSource(file, src)
	d := &dagReader{parser: &parser{text: text, in: []*source{text}, near: near, left: budget{maxText}, warn: warn},
		byName: map[string]*dagNode{}, shared: map[string][]byte{}, said: map[string]bool{}, budget: &budget{maxText}}
	d.statements()
	if d.err == nil && len(d.nodes) == 0 {
		d.fail(max(1, len(text.lines)), "JOB name file.sub", "the DAG has no JOB")
	}
	nodes := classad.Placed(classad.NewList(), classad.Pos{Line: 1, Col: 1})
	for _, n := range d.nodes {
		if d.err == nil && !n.done {
			nodes.Elems = append(nodes.Elems, d.read(n)...)
		}
	}
	if d.err == nil && len(nodes.Elems) == 0 {
		d.fail(d.nodes[0].line, "", "all nodes are marked DONE")
	}
	if d.err != nil {
		return nil, d.err
	}
	ad := classad.NewAd()
	ad.Set("Type", classad.NewLiteral(classad.StringValue("dag")))
	ad.Set("Nodes", nodes)
	ad.Set("Dependencies", d.dependencies())
	return []*classad.Ad{ad}, nil
}

// statements reads those of the innermost text, to its end. As for DAGMan, a
// node's JOB stands before what else is said of it.
func (d *dagReader) statements() {
	from := d.in[len(d.in)-1]
	if i := strings.IndexByte(from.src, 0); i >= 0 {
		d.fail(1+strings.Count(from.src[:i], "\n"), "", "NUL byte in the text")
	}
	for d.err == nil {
		text, number, ok := from.line()
		if !ok {
			return
		}
		if text == "" || text[0] == '#' {
			continue
		}
		word, rest := cutWord(text)
		key := classad.Fold(word)
		hint, refused := dagRefused[key]
		switch read := dagWords[key]; {
		case read != nil:
			read(d, strings.Fields(rest), rest, number)
		case key == "include":
			d.includeDAG(rest, number)
		case refused:
			d.fail(number, hint, "%s is not supported", word)
		case dagIgnored[key]:
			d.tell(number, "%s is not used", word)
		default:
			d.fail(number, classad.DidYouMean(word, slices.Sorted(maps.Keys(dagWords))), "%s is no statement of DAGMan", word)
		}
	}
}

// job reads "JOB name file [DIR directory] [NOOP] [DONE]", where the file may be
// a description in braces.
func (d *dagReader) job(words []string, _ string, line int) {
	if len(words) < 2 {
		d.fail(line, "JOB name file.sub", "JOB is not understood")
		return
	}
	n := &dagNode{name: words[0], file: words[1], line: d.outerLine(line)}
	if n.file == "{" {
		n.text, n.file = d.braces(line), ""
	} else if text, ok := d.shared[n.file]; ok {
		n.text, n.file = text, ""
	}
	for i := 2; i < len(words); i++ {
		switch classad.Fold(words[i]) {
		case "dir":
			if i++; i < len(words) {
				n.dir = words[i]
				continue
			}
			d.fail(line, "DIR directory", "DIR without a directory")
		case "done":
			n.done = true
		case "noop":
			d.fail(line, "let the nodes before it be parents of those behind it", "NOOP is not supported")
		default:
			d.fail(line, "", "JOB: %s is not understood", words[i])
		}
	}
	if d.byName[n.name] != nil {
		d.fail(line, "", "two nodes are called %s", n.name)
	}
	d.byName[n.name] = n
	d.nodes = append(d.nodes, n)
}

// braces is the text up to the line "}".
func (d *dagReader) braces(line int) []byte {
	from := d.in[len(d.in)-1]
	begin := from.n
	for ; from.n < len(from.lines); from.n++ {
		if strings.TrimSpace(from.lines[from.n]) == "}" {
			text := strings.Join(from.lines[begin:from.n], "\n")
			from.n++
			return []byte(text)
		}
	}
	d.fail(line, "", "the description is not closed by } in a line of its own")
	return nil
}

func (d *dagReader) description(words []string, _ string, line int) {
	if len(words) != 2 || words[1] != "{" {
		d.fail(line, "SUBMIT-DESCRIPTION name {", "SUBMIT-DESCRIPTION is not understood")
		return
	}
	d.shared[words[0]] = d.braces(line)
}

// named are the nodes of these names.
func (d *dagReader) named(names []string, line int) (list []*dagNode) {
	for _, name := range names {
		n := d.byName[name]
		if n == nil {
			d.fail(line, classad.DidYouMean(name, slices.Sorted(maps.Keys(d.byName))), "no JOB is called %s", name)
			return nil
		}
		list = append(list, n)
	}
	return list
}

// meant are the nodes that a statement about some of them is about: ALL_NODES is all.
func (d *dagReader) meant(name string, line int) []*dagNode {
	if classad.EqualFold(name, "all_nodes") {
		return d.nodes
	}
	return d.named([]string{name}, line)
}

func (d *dagReader) parent(words []string, _ string, line int) {
	at := slices.IndexFunc(words, func(w string) bool { return classad.EqualFold(w, "child") })
	if at < 1 || at == len(words)-1 {
		d.fail(line, "PARENT a b CHILD c d", "PARENT is not understood")
		return
	}
	parents, children := d.named(words[:at], line), d.named(words[at+1:], line)
	if d.edges += len(parents) * len(children); d.edges > maxEdges {
		d.fail(line, "", "more than %d dependencies", maxEdges)
		return
	}
	for _, n := range children {
		n.parents = append(n.parents, parents...)
	}
}

// maxEdges bounds the dependencies of a DAG.
const maxEdges = 1_000_000

// vars reads `VARS node [PREPEND|APPEND] name="value" ...`.
func (d *dagReader) vars(words []string, rest string, line int) {
	if len(words) < 2 {
		d.fail(line, `VARS node name="value"`, "VARS is not understood")
		return
	}
	_, rest = cutWord(rest)
	late := classad.EqualFold(words[1], "append")
	if late || classad.EqualFold(words[1], "prepend") {
		_, rest = cutWord(rest)
	}
	nodes := d.meant(words[0], line)
	for rest != "" && d.err == nil {
		var name, value string
		if name, value, rest = d.assignment(rest, line); d.err != nil {
			return
		}
		for _, n := range nodes {
			c := command{name, strings.ReplaceAll(value, "$(JOB)", n.name), classad.Pos{Line: d.outerLine(line), Col: 1}}
			if d.budget.left -= len(c.value) + 1; d.budget.left < 0 {
				d.fail(line, "", "variables of more than %d MB", maxText>>20)
				return
			}
			if late {
				n.late = append(n.late, c)
			} else {
				n.early = append(n.early, c)
			}
		}
	}
}

// assignment takes name="value" off the front; in the value a backslash guards
// a quote and itself.
func (d *dagReader) assignment(s string, line int) (name, value, rest string) {
	name, rest, ok := strings.Cut(s, "=")
	name, rest = classad.Fold(strings.TrimSpace(name)), strings.TrimSpace(rest)
	if own, isOwn := strings.CutPrefix(name, "my."); isOwn {
		name = "+" + own
	}
	if !ok || name == "" || strings.ContainsAny(name, " \t\"") || !strings.HasPrefix(rest, `"`) {
		d.fail(line, `VARS node name="value"`, "VARS: %.40s is not understood", s)
		return "", "", ""
	}
	var out strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\' && i+1 < len(rest) && (rest[i+1] == '"' || rest[i+1] == '\\'):
			i++
			out.WriteByte(rest[i])
		case c == '"':
			return name, out.String(), strings.TrimLeft(rest[i+1:], " \t,")
		default:
			out.WriteByte(c)
		}
	}
	d.fail(line, "", "VARS: the quote of %s is not closed", name)
	return "", "", ""
}

func (d *dagReader) retry(words []string, _ string, line int) {
	if len(words) < 2 {
		d.fail(line, "RETRY node 3", "RETRY is not understood")
		return
	}
	n, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil || n < 0 {
		d.fail(line, "RETRY node 3", "RETRY: %s is no number of times", words[1])
		return
	}
	if len(words) > 2 {
		d.fail(line, "RetryOnExit of JDL lists exit codes", "RETRY: %s is not supported", words[2])
		return
	}
	for _, node := range d.meant(words[0], line) {
		node.retries = n
	}
}

func (d *dagReader) doneNode(_ []string, rest string, line int) {
	for _, n := range d.meant(rest, line) {
		n.done = true
	}
}

// includeDAG reads on in another file.
func (d *dagReader) includeDAG(rest string, line int) {
	name := strings.Trim(rest, `"`)
	src, err := d.near.Read(name)
	if err != nil {
		d.fail(line, "", "INCLUDE %s: %v", name, err)
		return
	}
	d.within(name, src, line, d.statements)
}
