package condor

import (
	"path"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// dagFields are words apart; what stands in quotes is one.
func dagFields(s string) (words []string) {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		word, rest := cutWord(s)
		if s[0] == '"' {
			if end := strings.IndexByte(s[1:], '"'); end >= 0 {
				word, rest = s[1:1+end], s[end+2:]
			}
		}
		words, s = append(words, word), rest
	}
	return words
}

// reserved are words that DAGMan takes for no name of a node.
var reserved = map[string]bool{"parent": true, "child": true, "all_nodes": true}

// fresh reports whether a name may be that of a new node or splice.
func (d *dagReader) fresh(name string, line int) bool {
	switch full := d.prefix + name; {
	case reserved[classad.Fold(name)]:
		d.fail(line, "", "a node cannot be called %s", name)
	case strings.Contains(name, "+"):
		d.fail(line, "", "%s: a + joins the name of a splice with that of a node in it", name)
	case d.byName[name] != nil || d.splices[name] != nil:
		d.fail(line, "", "two nodes are called %s", name)
	case d.folded[classad.Fold(full)]:
		d.fail(line, "give it another name", "%s differs from another node in capitals alone, and names in JDL do not", name)
	case len(d.all) >= maxProcs:
		d.fail(line, "", "more than %d nodes", maxProcs)
	}
	return d.err == nil
}

// job reads "JOB name file [DIR directory] [NOOP] [DONE]", where the file may be
// a description in braces, or another statement of that form.
func (d *dagReader) job(word, rest string, line int) {
	words := dagFields(rest)
	if len(words) < 2 {
		d.fail(line, word+" name file.sub", "%s is not understood", word)
		return
	}
	n := &dagNode{name: d.prefix + words[0], file: words[1], line: d.outerLine(line)}
	options := words[2:]
	switch tag, labelled := strings.CutPrefix(n.file, "@="); {
	case labelled && tag != "":
		n.text, options = inText(d, tag, options, line)
		n.file = ""
	case n.file == "{" && len(options) == 0:
		n.text, options = d.braces(line)
		n.file = ""
	}
	dir := d.options(n, word, options, line)
	if n.dir = dir; d.dir != "" && !path.IsAbs(dir) {
		n.dir = path.Join(d.dir, dir)
	}
	if d.err != nil || !d.fresh(words[0], line) {
		return
	}
	d.byName[words[0]], d.folded[classad.Fold(n.name)] = n, true
	d.nodes, d.all = append(d.nodes, n), append(d.all, n)
}

// options reads what may stand behind the file, in DAGMan's order.
func (d *dagReader) options(n *dagNode, word string, words []string, line int) (dir string) {
	if len(words) > 0 && classad.EqualFold(words[0], "dir") {
		if len(words) == 1 {
			d.fail(line, "DIR directory", "DIR without a directory")
			return ""
		}
		dir, words = words[1], words[2:]
	}
	if len(words) > 0 && classad.EqualFold(words[0], "noop") {
		n.noop, words = true, words[1:]
	}
	if len(words) > 0 && classad.EqualFold(words[0], "done") {
		n.done, words = true, words[1:]
	}
	if len(words) > 0 {
		d.fail(line, word+" name file [DIR directory] [NOOP] [DONE]", "%s: %s is not understood", word, words[0])
	}
	return dir
}

// inText is a description in the file itself: in braces, or up to @tag; options may stand before or behind it.
func inText(d *dagReader, tag string, options []string, line int) (text []byte, all []string) {
	if tag == "" {
		return d.braces(line)
	}
	from := d.in[len(d.in)-1]
	begin := from.n
	for ; from.n < len(from.lines); from.n++ {
		if words := dagFields(from.lines[from.n]); len(words) > 0 && words[0] == "@"+tag {
			text := strings.Join(from.lines[begin:from.n], "\n")
			from.n++
			return []byte(text), append(options, words[1:]...)
		}
	}
	d.fail(line, "", "the description is not closed by @%s in a line of its own", tag)
	return nil, nil
}

// braces is the text up to the line that begins with "}", and what stands behind that.
func (d *dagReader) braces(line int) (text []byte, behind []string) {
	from := d.in[len(d.in)-1]
	begin := from.n
	for ; from.n < len(from.lines); from.n++ {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(from.lines[from.n]), "}"); ok {
			text := strings.Join(from.lines[begin:from.n], "\n")
			from.n++
			return []byte(text), dagFields(rest)
		}
	}
	d.fail(line, "", "the description is not closed by } in a line of its own")
	return nil, nil
}

func (d *dagReader) description(rest string, line int) {
	words := strings.Fields(rest)
	tag := ""
	if len(words) == 2 && strings.HasPrefix(words[1], "@=") {
		tag = words[1][2:]
	}
	if len(words) != 2 || words[1] != "{" && tag == "" {
		d.fail(line, "SUBMIT-DESCRIPTION name {", "SUBMIT-DESCRIPTION is not understood")
		return
	}
	text, behind := inText(d, tag, nil, line)
	if len(behind) > 0 {
		d.fail(line, "", "SUBMIT-DESCRIPTION: %s behind the } is not understood", behind[0])
	}
	if _, ok := d.shared[words[0]]; ok {
		d.tell(line, "there is a description %s already, which holds", words[0])
		return
	}
	d.shared[words[0]] = text
}

// subdag reads "SUBDAG EXTERNAL name file [DIR directory] [NOOP] [DONE]".
// DAGMan reads that file when the node's turn comes, and runs it as a job; here
// it is there from the beginning, and its nodes are sent like others.
func (d *dagReader) subdag(rest string, line int) {
	words := dagFields(rest)
	if len(words) == 0 || !classad.EqualFold(words[0], "external") {
		d.fail(line, "SUBDAG EXTERNAL name file.dag", "SUBDAG is not understood")
		return
	}
	d.inner("SUBDAG", words[1:], line)
}

// inner reads "SPLICE name file [DIR directory]" behind its first word: the nodes
// of another file are those of this one, each called NAME+NODE. SUBDAG is the same.
func (d *dagReader) inner(word string, words []string, line int) {
	if len(words) < 2 {
		d.fail(line, word+" name file.dag", "%s is not understood", word)
		return
	}
	var all dagNode // what is said of all its nodes
	dir := d.options(&all, word, words[2:], line)
	if word == "SPLICE" && (all.noop || all.done) {
		d.fail(line, "SPLICE name file.dag [DIR directory]", "SPLICE: NOOP and DONE are not understood")
	}
	if d.err != nil || !d.fresh(words[0], line) {
		return
	}
	f := newDAGFile(d.place)
	f.dir, f.prefix, f.external, f.outer = d.dir, d.prefix+words[0]+"+", word == "SUBDAG", d.dagFile
	if dir != "" {
		f.place = f.place.In(dir)
		if f.dir = dir; !path.IsAbs(dir) {
			f.dir = path.Join(d.dir, dir)
		}
	}
	src, err := nearby(d.parser, f.place, words[1], line)
	if err != nil {
		d.fail(line, "", "%s %s: %v", word, words[1], err)
		return
	}
	before := len(d.all)
	d.within(words[1], src, line, func() { d.file(f) })
	d.splices[words[0]] = f
	for _, n := range d.all[before:] {
		n.noop, n.done = n.noop || all.noop, n.done || all.done
	}
	f.nodes = slices.Clone(d.all[before:])
	f.settle(all.done)
	if word == "SUBDAG" && d.err == nil {
		f.whole = &dagNode{name: d.prefix + words[0], line: d.outerLine(line), dir: f.dir, done: all.done}
		d.subdags = append(d.subdags, f)
		d.tell(line, "the nodes of SUBDAG %s are read now and are nodes of this DAG", words[0])
	}
}
