package jdl

import (
	"slices"
	"strings"
)

// dependencies reads { {a, b}, {{a, b}, c} }: each pair says that the nodes on
// the left come before those on the right. It returns, by folded name of a
// node, the names of those before it.
func (r *jobReader) dependencies(nodes []node, e Expr) map[string][]string {
	if e == nil {
		return nil
	}
	after := map[string][]string{}
	pairs, ok := e.(*ListExpr)
	if !ok {
		r.fail(e.Pos(), "dependencies", "Dependencies = { {a, b} };", "Dependencies must be a list of pairs")
		return nil
	}
	elems := pairs.Elems
	if isPair(pairs) { // a single pair without the outer braces
		elems = []Expr{pairs}
	}
	for _, x := range elems {
		pair, ok := x.(*ListExpr)
		if !ok || len(pair.Elems) != 2 {
			r.fail(x.Pos(), "dependencies", "{before, after}", "a dependency must be a pair")
			continue
		}
		before := r.nodeNames(nodes, pair.Elems[0])
		for _, to := range r.nodeNames(nodes, pair.Elems[1]) {
			for _, from := range before {
				after[fold(to)] = addOnce(after[fold(to)], from)
			}
		}
	}
	r.checkCycle(nodes, after)
	return after
}

// isPair reports whether a list is {name, name}.
func isPair(l *ListExpr) bool {
	if len(l.Elems) != 2 {
		return false
	}
	_, left := nodeName(l.Elems[0])
	_, right := nodeName(l.Elems[1])
	return left && right
}

func nodeName(e Expr) (string, bool) {
	if s, ok := bareText(e); ok {
		return s, true
	}
	return literalText(e)
}

// nodeNames are the nodes an element means: a name or a list of names.
func (r *jobReader) nodeNames(nodes []node, e Expr) []string {
	if l, ok := e.(*ListExpr); ok {
		var out []string
		for _, x := range l.Elems {
			out = append(out, r.nodeNames(nodes, x)...)
		}
		return out
	}
	name, ok := nodeName(e)
	for _, n := range nodes {
		if ok && equalFold(n.name, name) {
			return []string{n.name}
		}
	}
	known := make([]string, len(nodes))
	for i, n := range nodes {
		known[i] = n.name
	}
	hint := ""
	if near := nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	if !ok {
		name = Unparse(e)
	}
	r.fail(e.Pos(), "dependencies", hint, "Dependencies: no node is called %s", name)
	return nil
}

// checkCycle refuses a node that would wait for itself.
func (r *jobReader) checkCycle(nodes []node, after map[string][]string) {
	const open, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(name string) bool
	visit = func(name string) bool {
		key := fold(name)
		path = append(path, name)
		if state[key] == open {
			return false
		}
		if state[key] == 0 {
			state[key] = open
			for _, before := range after[key] {
				if !visit(before) {
					return false
				}
			}
			state[key] = done
		}
		path = path[:len(path)-1]
		return true
	}
	for _, n := range nodes {
		if !visit(n.name) {
			from := slices.IndexFunc(path, func(s string) bool { return equalFold(s, path[len(path)-1]) })
			slices.Reverse(path[from:])
			r.fail(r.pos("Dependencies"), "dependencies", "", "Dependencies go in a circle: %s", strings.Join(path[from:], " before "))
			return
		}
	}
}
