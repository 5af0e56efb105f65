package jdl

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// handing finds what the nodes of a DAG take from each other.
type handing struct {
	*jobReader // of the DAG
	budget     *budget
	nodes      []node
	after      map[string][]string // names of the nodes before a node, by folded name
	index      map[string]int      // of nodes, by folded name; made when first needed
	left       map[string]*leaving // by folded name
	later      map[string]bool     // whose input files may come later, by folded name
}

// leaving is what a node leaves behind, as its description has it.
type leaving struct {
	files, urls []string // OutputSandbox, and where each is sent to; "": it is kept
	out, err    string   // StdOutput, StdError
}

// reference is root.nodes.NAME.description.ATTR[INDEX].
type reference struct {
	node, attr string
	element    int64 // -1: all
	pos        classad.Pos
}

// readReference reads a reference to another node's attribute.
func readReference(e classad.Expr) (ref reference, ok bool) {
	ref.element = -1
	if x, isIndex := e.(*classad.Index); isIndex {
		if ref.element, ok = intLiteral(x.Sub); !ok || ref.element < 0 {
			return ref, false
		}
		e = x.X
	}
	names, pos := selected(e)
	if ref.pos = pos; len(names) < 4 || !classad.EqualFold(names[0], "root") || !classad.EqualFold(names[1], "nodes") {
		return ref, false
	}
	ref.node, names = names[2], names[3:]
	if len(names) == 2 && classad.EqualFold(names[0], "description") {
		names = names[1:]
	}
	ref.attr = strings.Join(names, ".")
	return ref, true
}

// selected are the names of a chain of selections, root.nodes.a has three, and where it begins.
func selected(e classad.Expr) (names []string, pos classad.Pos) {
	switch e := e.(type) {
	case *classad.AttrRef:
		return []string{e.Name}, e.Pos()
	case *classad.Select:
		if names, pos = selected(e.X); names != nil {
			return append(names, e.Name), pos
		}
	}
	return nil, pos
}

// take replaces what a node's InputSandbox says of other nodes' output by NodeInputs,
// and checks what stands there.
func (h *handing) take(sub *jobReader, n node) {
	nowhereElse(sub)
	made := h.given(sub, n)
	e, ok := sub.ad.Expr("InputSandbox")
	if ok && slices.ContainsFunc(elements(e), func(x classad.Expr) bool { _, is := readReference(x); return is }) {
		made = append(made, h.references(sub, n, e)...)
	}
	if len(made) == 0 {
		sub.ad.Delete("NodeInputs")
		return
	}
	list := classad.Placed(classad.NewList(), made[0].pos)
	for _, m := range made {
		list.Elems = append(list.Elems, m.record())
	}
	sub.ad.Put(classad.Attr{Name: "NodeInputs", Expr: list, NamePos: made[0].pos})
}

// nowhereElse refuses references to other nodes that are no input files.
func nowhereElse(sub *jobReader) {
	for _, a := range sub.ad.Attrs() {
		if classad.EqualFold(a.Name, "InputSandbox") {
			continue
		}
		classad.Walk(a.Expr, func(e classad.Expr) bool {
			ref, is := readReference(e)
			if is {
				sub.failAttr(a.Name, "node-output", "name it in the InputSandbox", "%s: nothing is taken from node %s here, only its files in the InputSandbox", a.Name, ref.node)
			}
			return !is
		})
	}
}

// given are the elements of NodeInputs as they stand in the text.
func (h *handing) given(sub *jobReader, n node) (made []madeFile) {
	for _, m := range madeFiles(sub) {
		name, l := h.before(sub, n, "NodeInputs", m.Node, m.pos)
		if l == nil {
			continue
		}
		file, why := cleanName(m.File)
		switch {
		case why == "" && hasMeta(file):
			why = "has wildcards, and one file is meant"
		case why == "" && !l.keeps(file):
			why = "is not among the files that node " + name + " keeps for others: they are its OutputSandbox, StdOutput and StdError"
		}
		if why != "" {
			sub.fail(m.pos, "node-output", "", "NodeInputs: %q %s", m.File, why)
			continue
		}
		m.Made = Made{Node: name, File: file}
		made = append(made, m)
	}
	return made
}

// keeps reports whether a file is left for whoever fetches it.
func (l *leaving) keeps(file string) bool {
	for i, name := range l.files {
		if clean, why := cleanName(name); why == "" && l.urls[i] == "" && (OutputFile{Name: clean}).Match(file) {
			return true
		}
	}
	return file == l.out || file == l.err
}

// references takes those of the InputSandbox out of it.
func (h *handing) references(sub *jobReader, n node, sandbox classad.Expr) (made []madeFile) {
	elems := elements(sandbox)
	var names []classad.Expr
	if e, ok := sub.ad.Expr("InputSandboxDestFileName"); ok {
		if names = elements(e); len(names) != len(elems) {
			sub.failAttr("InputSandboxDestFileName", "count", "", "InputSandboxDestFileName has %d names for %d files of the InputSandbox", len(names), len(elems))
			return nil
		}
	}
	kept, keptNames := classad.Placed(classad.NewList(), sandbox.Pos()), classad.Placed(classad.NewList(), sandbox.Pos())
	for i, x := range elems {
		ref, is := readReference(x)
		if !is {
			kept.Elems = append(kept.Elems, x)
			if names != nil {
				keptNames.Elems = append(keptNames.Elems, names[i])
			}
			continue
		}
		more := h.files(sub, n, ref)
		if names != nil && len(more) == 1 {
			more[0].name, _ = literalText(names[i])
		} else if names != nil && len(more) > 1 {
			sub.fail(ref.pos, "node-output", "take them one by one: OutputSandbox[0]", "InputSandbox: %d files, and InputSandboxDestFileName has one name for them", len(more))
		}
		made = append(made, more...)
	}
	sub.ad.Set("InputSandbox", kept)
	if names != nil {
		sub.ad.Set("InputSandboxDestFileName", keptNames)
	}
	return made
}

// files are those that a reference means.
func (h *handing) files(sub *jobReader, n node, ref reference) (made []madeFile) {
	name, l := h.before(sub, n, "InputSandbox", ref.node, ref.pos)
	if l == nil {
		return nil
	}
	fail := func(hint, format string, args ...any) {
		sub.fail(ref.pos, "node-output", hint, "InputSandbox: "+format, args...)
	}
	files, urls := l.files, l.urls
	switch classad.Fold(ref.attr) {
	case "outputsandbox":
	case "stdoutput":
		files, urls = []string{l.out}, []string{""}
	case "stderror":
		files, urls = []string{l.err}, []string{""}
	default:
		fail("", "of another node its OutputSandbox, StdOutput and StdError can be taken, not its %s", ref.attr)
		return nil
	}
	switch {
	case len(files) == 0 || files[0] == "" && len(files) == 1:
		fail("", "node %s has no %s", name, ref.attr)
		return nil
	case ref.element >= int64(len(files)):
		fail("the first is [0]", "node %s has %d in its %s, and no [%d]", name, len(files), ref.attr, ref.element)
		return nil
	case ref.element >= 0:
		files, urls = files[ref.element:ref.element+1], urls[ref.element:ref.element+1]
	}
	for i, file := range files {
		clean, why := cleanName(file)
		switch {
		case why != "":
			fail("", "%q of node %s %s", file, name, why)
		case urls[i] != "":
			fail("name that URL in the InputSandbox", "node %s sends %s to %s and keeps none", name, file, urls[i])
		case hasMeta(clean):
			fail("name the files one by one in its OutputSandbox", "%s of node %s means any number of files", file, name)
		default:
			made = append(made, madeFile{Made: Made{Node: name, File: clean}, pos: ref.pos})
		}
	}
	return made
}

// before is the node that another takes something of, which must come after it; nil: an error.
func (h *handing) before(sub *jobReader, n node, attr, name string, pos classad.Pos) (string, *leaving) {
	if h.index == nil {
		h.index = make(map[string]int, len(h.nodes))
		for i, n := range h.nodes {
			h.index[classad.Fold(n.name)] = i
		}
	}
	fail := func(hint, format string, args ...any) {
		sub.fail(pos, "node-output", hint, attr+": "+format, args...)
	}
	i, known := h.index[classad.Fold(name)]
	switch {
	case !known:
		names := make([]string, len(h.nodes))
		for i, n := range h.nodes {
			names[i] = n.name
		}
		fail(classad.DidYouMean(name, names), "no node is called %s", name)
	case classad.EqualFold(name, n.name):
		fail("", "node %s cannot take its own output", n.name)
	case sub.boolean("AfterAny"):
		fail("", "node %s runs however those before it have ended (AfterAny): it takes no files of them", n.name)
	case sub.boolean("FinalNode"):
		fail("", "node %s is the FinalNode, which runs however the others have ended: it takes no files of them", n.name)
	case !h.comesAfter(n.name, name):
		fail("Dependencies = { {"+quoteName(h.nodes[i].name)+", "+quoteName(n.name)+"} };", "node %s takes output of node %s and does not come after it", n.name, h.nodes[i].name)
	default:
		return h.nodes[i].name, h.leaves(i)
	}
	return "", nil
}

// comesAfter reports whether a node waits for another, or for one that does.
func (h *handing) comesAfter(name, before string) bool {
	before = classad.Fold(before)
	open, seen := []string{classad.Fold(name)}, map[string]bool{}
	for len(open) > 0 {
		next := h.after[open[0]]
		open = open[1:]
		for _, p := range next {
			if p = classad.Fold(p); p == before {
				return true
			}
			if !seen[p] {
				seen[p] = true
				open = append(open, p)
			}
		}
	}
	return false
}

// leaves is what a node leaves. What is wrong with its description is said when it is read itself.
func (h *handing) leaves(i int) *leaving {
	key := classad.Fold(h.nodes[i].name)
	if l := h.left[key]; l != nil {
		return l
	}
	l := &leaving{}
	h.left[key] = l
	other, err := nodeReader(h.jobReader, h.nodes[i])
	if err != nil {
		return l
	}
	inherit(other, h.jobReader)
	l.files, l.out, l.err = other.strs("OutputSandbox"), outputName(other, "StdOutput"), outputName(other, "StdError")
	dest, base := other.strs("OutputSandboxDestURI"), other.str("OutputSandboxBaseDestURI")
	for i, name := range l.files {
		l.urls = append(l.urls, destination(dest, base, i, name))
	}
	return l
}

// leftBy says how a node takes a file that another one leaves and that is not here; "": none leaves one of that name.
func (h *handing) leftBy(n node, name string) string {
	clean, why := cleanName(name)
	if why != "" {
		return ""
	}
	for i, other := range h.nodes {
		if classad.EqualFold(other.name, n.name) {
			continue
		}
		l := h.leaves(i)
		for k, file := range l.files {
			if left, why := cleanName(file); why == "" && left == clean && l.urls[k] == "" {
				return fmt.Sprintf("node %s leaves one: root.nodes.%s.description.OutputSandbox[%d], without quotes", other.name, quoteName(other.name), k)
			}
		}
	}
	return ""
}

// destination is where the i-th file of an OutputSandbox is sent to; "": it is kept.
func destination(dest []string, base string, i int, name string) string {
	url := ""
	switch {
	case i < len(dest):
		url = dest[i]
		if isURL(url) && strings.HasSuffix(url, "/") && !strings.HasSuffix(name, "/") {
			url += path.Base(name) // the file goes into that directory; transfers take no URL without a name
		}
	case base != "":
		url = strings.TrimSuffix(base, "/") + "/" + path.Base(name)
	}
	if isCEServer(url) {
		return ""
	}
	return url
}
