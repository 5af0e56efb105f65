package condor

import (
	"cmp"
	"fmt"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// read makes the jobs of a node's submit description, each a node.
func (d *dagReader) read(n *dagNode) []classad.Expr {
	near := d.parser.near
	if n.dir != "" {
		near = near.In(n.dir)
	}
	src, ok := nodeText(d, n, near)
	if !ok {
		return nil
	}
	if d.budget.left -= len(src); d.budget.left < 0 {
		d.fail(n.line, "", "the nodes' descriptions are longer than %d MB", maxText>>20)
		return nil
	}
	from := newSource(cmp.Or(n.file, d.text.name), src)
	from.at = n.line
	warn := d.warn
	if key := n.dir + "\x00" + n.file; n.file != "" {
		if d.said[key] {
			warn = nil // the same was said of another node
		}
		d.said[key] = true
	}
	p := newParser(near, warn, d.text, from)
	at := classad.Pos{Line: n.line, Col: 1}
	for name, value := range macrosOf(n) {
		p.put(command{name, value, at})
	}
	for _, c := range n.early {
		p.put(c)
	}
	p.late = n.late
	p.read()
	if n.file == "" && p.err == nil {
		if len(p.procs) > 0 || p.empty {
			p.fail(n.line, "leave it out, or write a submit file", "a description in the DAG must have no queue statement")
		}
		p.queue("", n.line)
	}
	if p.err == nil && len(p.procs) == 0 {
		p.fail(max(1, len(from.lines)), "queue", "the submit description queues no job")
	}
	if d.err = p.err; d.err != nil {
		return nil
	}
	return d.jobs(n, p, warn)
}

// nodeText is a node's description, as it is written.
func nodeText(d *dagReader, n *dagNode, near *jdl.Nearby) (src []byte, ok bool) {
	src = n.text
	if n.file != "" {
		var err error
		if src, err = nearby(d.parser, near, n.file, n.line); err != nil {
			d.fail(n.line, "", "node %s: %s: %v", n.name, n.file, err)
			return nil, false
		}
	}
	if n.retries > 0 && strings.Contains(classad.Fold(string(src)), "$(retry)") {
		d.tell(n.line, "node %s: $(RETRY) is 0 at every try", n.name)
	}
	return src, finalText(d, n, src)
}

// macrosOf are the macros that DAGMan sets for a node's description, which is that of all its tries here.
func macrosOf(n *dagNode) map[string]string {
	names := make([]string, len(n.parents))
	for i, parent := range n.parents {
		names[i] = parent.name
	}
	return map[string]string{"dag_node_name": n.name, "job": n.name, "retry": "0", "dag_parent_names": strings.Join(names, ","), "dagmanjobid": "0"}
}

// jobs are the records of what a node's description queues.
func (d *dagReader) jobs(n *dagNode, p *parser, warn func(*classad.Diagnostic)) []classad.Expr {
	if n == d.last && len(p.procs) > 1 {
		d.fail(n.line, "queue 1", "the FINAL node %s queues %d jobs: it must be one", n.name, len(p.procs))
		return nil
	}
	if warn != nil {
		warn = classad.Warnings(d.text.src, warn)
	}
	var made []map[string]string
	ads, err := records(reader{file: d.text.name, src: d.text.src, dir: n.dir, left: d.budget, warn: warn, all: &made}, p.procs)
	if err != nil {
		d.err = fmt.Errorf("node %s: %w", n.name, err)
		return nil
	}
	var before, behind *dagNode
	scripted := n.post != nil
	if len(ads) > 1 && n.scripted() {
		before, behind = severally(d, n)
	}
	out := make([]classad.Expr, len(ads))
	for i, ad := range ads {
		b := jdl.Builder{Ad: ad, Pos: classad.Pos{Line: n.line, Col: 1}}
		name := n.name
		if len(ads) > 1 {
			name = fmt.Sprintf("%s.%d", n.name, i)
		}
		b.Str("NodeName", name)
		tries(d, n, &b)
		n.parts = append(n.parts, name)
		j := dagJob{name, ad, scripted, map[string]string{}}
		for at, file := range made[i] {
			j.made[d.near.Path(at)] = file
		}
		if len(ads) == 1 {
			putScripts(d, n, &b, j.made)
		}
		n.jobs = append(n.jobs, j)
		out[i] = ad
	}
	if before != nil {
		out = append([]classad.Expr{alone(d, before)}, out...)
		d.extra = append(d.extra, before)
	}
	if behind != nil {
		out = append(out, alone(d, behind))
		d.extra = append(d.extra, behind)
	}
	return out
}

// tries writes how often a node is tried, whether it is left out with others, and what its end means for these. Of a node that becomes several jobs and
// has a POST script, that tells.
func tries(d *dagReader, n *dagNode, b *jdl.Builder) {
	if n.along {
		b.Set("SkipAlong", classad.BoolValue(true))
	}
	if most := d.most[n.category]; n.category != "" && most > 0 {
		b.Str("NodeCategory", n.category)
		b.Number("MaxCategoryRunning", int64(most))
	}
	if n.judge != nil {
		return
	}
	if n.retries > 0 {
		b.Number("RetryCount", n.retries)
		b.Set("RetryOnExit", classad.BoolValue(true))
	}
	if n.retries > 0 && n.unless > 0 {
		b.Ad.Set("RetryOnExit", exitsBut(n.unless, b.Pos))
	}
	if n.abort != nil {
		b.Set("AbortDAGOn", classad.IntValue(int64(*n.abort)))
	}
	if n == d.last {
		b.Set("FinalNode", classad.BoolValue(true))
	}
}

// exitsBut is the list of all exit codes of failure but one.
func exitsBut(code int64, at classad.Pos) *classad.ListExpr {
	l := classad.Placed(classad.NewList(), at)
	for i := int64(1); i <= maxExit; i++ {
		if i != code {
			l.Elems = append(l.Elems, classad.Placed(classad.NewLiteral(classad.IntValue(i)), at))
		}
	}
	return l
}

// dependencies are pairs of lists: the jobs of a parent, those of a child. What
// is done is waited for by nobody, and behind a node without a job everything
// waits for what that waits for.
func (d *dagReader) dependencies() classad.Expr {
	if d.err != nil {
		return nil
	}
	pairs := classad.Placed(classad.NewList(), classad.Pos{Line: d.all[0].line, Col: 1})
	for _, n := range d.all {
		var before []string
		for _, parent := range n.parents {
			before = append(before, d.jobsOf(parent)...)
		}
		if len(n.judges) == 1 && n.judges[0].judge == n {
			before = n.judges[0].parts
		}
		if d.err != nil {
			return nil
		}
		if len(before) > 0 && len(n.parts) > 0 && (!n.noop || n.scripted()) {
			at := classad.Pos{Line: n.line, Col: 1}
			pair := classad.Placed(classad.NewList(), at)
			pair.Elems = []classad.Expr{names(before, at), names(n.parts, at)}
			pairs.Elems = append(pairs.Elems, pair)
		}
	}
	return pairs
}

// jobsOf are the jobs that whatever comes after a node waits for.
func (d *dagReader) jobsOf(n *dagNode) []string {
	if n.judge != nil {
		return n.judge.parts
	}
	if !n.noop || n.done || n.parts != nil || d.err != nil {
		return n.parts
	}
	if n.passing {
		d.fail(n.line, "", "Dependencies go in a circle: through %s", n.name)
		return nil
	}
	n.passing = true
	parts := []string{}
	known := map[string]bool{}
	for _, parent := range n.parents {
		for _, name := range d.jobsOf(parent) {
			if !known[name] {
				known[name] = true
				parts = append(parts, name)
			}
		}
	}
	n.passing = false
	if d.edges += len(parts); d.edges > maxEdges {
		d.fail(n.line, "", "more than %d dependencies", maxEdges)
	}
	n.parts = parts
	return parts
}

func names(list []string, at classad.Pos) *classad.ListExpr {
	l := classad.Placed(classad.NewList(), at)
	for _, name := range list {
		l.Elems = append(l.Elems, classad.Placed(classad.NewLiteral(classad.StringValue(name)), at))
	}
	return l
}
