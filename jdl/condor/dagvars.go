package condor

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// node is that of a name.
func (d *dagReader) node(name string, line int) *dagNode {
	n := d.byName[name]
	switch {
	case n != nil:
	case d.splices[name] != nil && d.splices[name].external:
		d.fail(line, "say it of its nodes, in its file", "%s is a DAG of its own, whose nodes are nodes of this one", name)
	case d.splices[name] != nil:
		d.fail(line, "say it of its nodes, in its file", "%s is a DAG of its own, of which only PARENT and CHILD can tell", name)
	default:
		d.fail(line, classad.DidYouMean(name, slices.Sorted(maps.Keys(d.byName))), "no JOB is called %s", name)
	}
	return n
}

// meant are the nodes that a statement about some of them is about: ALL_NODES is all
// but those of splices.
func (d *dagReader) meant(name string, line int) []*dagNode {
	if classad.EqualFold(name, "all_nodes") {
		return d.nodes
	}
	if n := d.node(name, line); n != nil {
		return []*dagNode{n}
	}
	return nil
}

func (d *dagReader) parent(rest string, line int) {
	words := strings.Fields(rest)
	at := slices.IndexFunc(words, func(w string) bool { return classad.EqualFold(w, "child") })
	if at < 1 || at == len(words)-1 {
		d.fail(line, "PARENT a b CHILD c d", "PARENT is not understood")
		return
	}
	parents, children := d.ends(words[:at], true, line), d.ends(words[at+1:], false, line)
	if d.last != nil && (slices.Contains(parents, d.last) || slices.Contains(children, d.last)) {
		d.fail(line, "", "the FINAL node %s comes after all others by itself: PARENT and CHILD do not name it", d.last.name)
	}
	for _, n := range slices.Concat(parents, children) {
		if n.aside {
			d.fail(line, "", "%s is a SERVICE or PROVISIONER: PARENT and CHILD do not name it", n.name)
		}
	}
	comesBefore(d, parents, children, line)
}

// comesBefore has some nodes come before others.
func comesBefore(d *dagReader, parents, children []*dagNode, line int) {
	if d.edges += len(parents) * len(children); d.edges > maxEdges {
		d.fail(line, "", "more than %d dependencies", maxEdges)
		return
	}
	for _, n := range children {
		n.parents = append(n.parents, parents...)
	}
}

// ends are the nodes of these names, for a splice its last or its first ones.
func (d *dagReader) ends(names []string, last bool, line int) (list []*dagNode) {
	for _, name := range names {
		if f := d.splices[name]; f != nil {
			list = append(list, f.ends(last)...)
		} else if n := d.node(name, line); n != nil {
			list = append(list, n)
		}
	}
	return list
}

// maxEdges bounds the dependencies of a DAG.
const maxEdges = 1_000_000

// vars reads `VARS node [PREPEND|APPEND] name="value" ...`.
func (d *dagReader) vars(rest string, line int) {
	name, rest := cutWord(rest)
	where, behind := cutWord(rest)
	late := classad.EqualFold(where, "append")
	if late || classad.EqualFold(where, "prepend") {
		rest = behind
	}
	if rest == "" {
		d.fail(line, `VARS node name="value"`, "VARS is not understood")
		return
	}
	var nodes []*dagNode
	if f := d.splices[name]; f != nil && f.external {
		d.tell(line, "VARS of %s are not used: they are for DAGMan's own job", name)
	} else {
		nodes = d.meant(name, line)
	}
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

// inVarName is what a variable's name is made of.
func inVarName(r rune) bool {
	return r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z'
}

// assignment takes name="value" off the front; in the value a backslash guards
// a quote and itself, and nothing else.
func (d *dagReader) assignment(s string, line int) (name, value, rest string) {
	name, rest, ok := strings.Cut(s, "=")
	name, rest = classad.Fold(strings.TrimSpace(name)), strings.TrimSpace(rest)
	if own, isOwn := strings.CutPrefix(name, "my."); isOwn {
		name = "+" + own
	}
	if !ok || name == "" || strings.TrimLeftFunc(strings.TrimPrefix(name, "+"), inVarName) != "" || !strings.HasPrefix(rest, `"`) {
		d.fail(line, `VARS node name="value"`, "VARS: %.40s is not understood", s)
		return "", "", ""
	}
	if strings.HasPrefix(name, "queue") {
		d.fail(line, "give it another name", "VARS: a variable whose name begins with queue is not possible: %s", name)
	}
	var out strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\' && i+1 < len(rest):
			if i++; rest[i] != '"' && rest[i] != '\\' {
				d.fail(line, `a backslash itself is written \\`, `VARS: \%c in the value of %s is not understood`, rest[i], name)
				return "", "", ""
			}
			out.WriteByte(rest[i])
		case c == '"':
			return name, out.String(), strings.TrimLeft(rest[i+1:], " \t")
		default:
			out.WriteByte(c)
		}
	}
	d.fail(line, "", "VARS: the quote of %s is not closed", name)
	return "", "", ""
}

// retry reads "RETRY node times [UNLESS-EXIT code]".
func (d *dagReader) retry(rest string, line int) {
	words := strings.Fields(rest)
	if len(words) < 2 {
		d.fail(line, "RETRY node 3", "RETRY is not understood")
		return
	}
	n, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil || n < 0 {
		d.fail(line, "RETRY node 3", "RETRY: %s is no number of times", words[1])
		return
	}
	var unless int64
	name, words := words[0], words[2:]
	if len(words) > 0 {
		if len(words) == 2 && classad.EqualFold(words[0], "unless-exit") {
			unless, err = strconv.ParseInt(words[1], 10, 32)
		}
		if len(words) != 2 || err != nil || unless < 1 || unless > maxExit {
			d.fail(line, "RETRY node 3 UNLESS-EXIT code", "RETRY: %s is not understood", strings.Join(words, " "))
			return
		}
	}
	if f := d.splices[name]; f != nil && f.external {
		f.whole.retries, f.whole.unless = n, unless
		return
	}
	for _, node := range d.meant(name, line) {
		switch {
		case node != d.last:
			node.retries, node.unless = n, unless
		case !classad.EqualFold(name, "all_nodes"):
			d.fail(line, "", "RETRY: the FINAL node %s is tried once", name)
		}
	}
}

// maxExit is the highest exit code of a program.
const maxExit = 255

func (d *dagReader) doneNode(rest string, line int) {
	if words := strings.Fields(rest); len(words) != 1 {
		d.fail(line, "DONE node", "DONE is not understood")
	} else if f := d.splices[words[0]]; f != nil && f.external {
		f.whole.done = true
		for _, n := range f.nodes {
			n.done = true
		}
	} else if n := d.node(words[0], line); n != nil && n == d.last {
		d.fail(line, "", "the FINAL node %s cannot be DONE", n.name)
	} else if n != nil {
		n.done = true
	}
}
