package condor

import "slices"

// settle finds the nodes with which a SPLICE or SUBDAG begins and ends, before what is outside waits for them or they for it. A
// SUBDAG begins when its turn has come, whatever of it is DONE: what waits for such nodes alone is where it begins, and that for
// which such nodes alone wait where it ends. A SPLICE is a part of the DAG around it, where nobody waits for what is done.
func (f *dagFile) settle(whole bool) {
	if f.external && !whole && !slices.ContainsFunc(f.nodes, func(n *dagNode) bool { return !n.done }) {
		for _, n := range f.nodes { // it still stands between others
			n.done, n.noop, n.pre, n.post = false, true, nil, nil
		}
	}
	counts := func(n *dagNode) bool { return !f.external || !n.done }
	awaited := map[*dagNode]bool{}
	for _, n := range f.nodes {
		for _, p := range n.parents {
			awaited[p] = awaited[p] || counts(n)
		}
	}
	for _, n := range f.nodes {
		if !slices.ContainsFunc(n.parents, counts) {
			f.first = append(f.first, n)
		}
		if !awaited[n] {
			f.last = append(f.last, n)
		}
	}
}

// ends are the nodes with which a splice ends, or begins.
func (f *dagFile) ends(last bool) []*dagNode {
	if last {
		return f.last
	}
	return f.first
}
