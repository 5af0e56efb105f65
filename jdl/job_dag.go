package jdl

import (
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// dagReader reads Dependencies.
type dagReader struct {
	*jobReader
	nodes []node
	names map[string]string   // node names as written, by folded name
	after map[string][]string // names of the nodes before a node, by folded name
	seen  map[[2]string]bool  // pairs already in after
}

// dependencies reads { {a, b}, {{a, b}, c} }: each pair says that the nodes on
// the left come before those on the right. It returns, by folded name of a
// node, the names of those before it.
func dependencies(r *jobReader, nodes []node, e classad.Expr) map[string][]string {
	if e == nil {
		return nil
	}
	d := dagReader{r, nodes, map[string]string{}, map[string][]string{}, map[[2]string]bool{}}
	for _, n := range nodes {
		d.names[classad.Fold(n.name)] = n.name
	}
	pairs, ok := e.(*classad.ListExpr)
	if !ok {
		r.fail(e.Pos(), "dependencies", "Dependencies = { {a, b} };", "Dependencies must be a list of pairs")
		return nil
	}
	elems := pairs.Elems
	if isPair(pairs) { // a single pair without the outer braces
		elems = []classad.Expr{pairs}
	}
	for _, x := range elems {
		d.pair(x)
	}
	d.checkCycle()
	return d.after
}

// maxEdges bounds the dependencies of a DAG.
const maxEdges = 1_000_000

func (d *dagReader) pair(e classad.Expr) {
	pair, ok := e.(*classad.ListExpr)
	if !ok || len(pair.Elems) != 2 {
		d.fail(e.Pos(), "dependencies", "{before, after}", "a dependency must be a pair")
		return
	}
	before, after := d.nodeNames(pair.Elems[0]), d.nodeNames(pair.Elems[1])
	if len(d.seen)+len(before)*len(after) > maxEdges {
		d.failAttr("Dependencies", "limit", "", "more than %d dependencies", maxEdges)
		return
	}
	for _, to := range after {
		for _, from := range before {
			if edge := [2]string{from, to}; !d.seen[edge] {
				d.seen[edge] = true
				d.after[classad.Fold(to)] = append(d.after[classad.Fold(to)], from)
			}
		}
	}
}

// isPair reports whether a list is {name, name}.
func isPair(l *classad.ListExpr) bool {
	if len(l.Elems) != 2 {
		return false
	}
	_, left := nodeName(l.Elems[0])
	_, right := nodeName(l.Elems[1])
	return left && right
}

func nodeName(e classad.Expr) (string, bool) {
	if s, ok := bareText(e); ok {
		return s, true
	}
	return literalText(e)
}

// nodeNames are the nodes an element means: a name or a list of names.
func (d *dagReader) nodeNames(e classad.Expr) []string {
	if l, ok := e.(*classad.ListExpr); ok {
		var out []string
		for _, x := range l.Elems {
			out = append(out, d.nodeNames(x)...)
		}
		return out
	}
	name, ok := nodeName(e)
	if known, is := d.names[classad.Fold(name)]; ok && is {
		return []string{known}
	}
	if !ok {
		name = classad.Unparse(e)
	}
	if len(d.errs) < maxFindings {
		d.fail(e.Pos(), "dependencies", d.nearNode(name), "Dependencies: no node is called %s", name)
	}
	return nil
}

func (d *dagReader) nearNode(name string) string {
	var known []string
	for _, n := range d.nodes {
		known = append(known, n.name)
	}
	return classad.DidYouMean(name, known)
}

// checkCycle refuses a node that would wait for itself.
func (d *dagReader) checkCycle() {
	const open, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(name string) bool
	visit = func(name string) bool {
		key := classad.Fold(name)
		path = append(path, name)
		if state[key] == open {
			return false
		}
		if state[key] == 0 {
			state[key] = open
			for _, before := range d.after[key] {
				if !visit(before) {
					return false
				}
			}
			state[key] = done
		}
		path = path[:len(path)-1]
		return true
	}
	for _, n := range d.nodes {
		if !visit(n.name) {
			from := slices.IndexFunc(path, func(s string) bool { return classad.EqualFold(s, path[len(path)-1]) })
			slices.Reverse(path[from:])
			d.fail(d.pos("Dependencies"), "dependencies", "", "Dependencies go in a circle: %s", strings.Join(path[from:], " before "))
			return
		}
	}
}
