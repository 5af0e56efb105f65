package jdl

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// node is one node of a collection or DAG as it stands in the file.
type node struct {
	name string
	ad   *classad.Ad
}

// nodeSet is nodes in their order, each name once.
type nodeSet struct {
	list  []node
	names map[string]bool // folded
}

// nodes makes the jobs of a collection or DAG.
func (s *JobSet) nodes(r *jobReader) error {
	s.Name = jobName(r)
	nodes, deps := nodeList(r, s.Kind)
	after := dependencies(r, nodes.list, deps)
	s.MaxRunning = r.integer("Max_Nodes_Running", 0)
	s.Collocated = r.boolean("NodesCollocation")
	if len(nodes.list) == 0 && len(r.errs) == 0 {
		r.fail(r.pos("Nodes"), "missing", "", "the %s has no nodes", s.Kind)
	}
	if len(r.errs) > 0 {
		return r.err()
	}
	if fixSandbox(r); len(r.errs) > 0 {
		return r.err()
	}
	if r.has("NodeInputs") {
		r.failAttr("NodeInputs", "node-output", "", "NodeInputs stands in a node, not beside the Nodes")
	}
	left := newBudget(r.src)
	hand := &handing{jobReader: r, budget: left, nodes: nodes.list, after: after, left: map[string]*leaving{}, later: broughtLater(nodes.list, after)}
	for i, n := range nodes.list {
		if len(r.errs) >= maxFindings {
			break
		}
		left.job()
		job := s.node(hand, n, i > 0)
		if left.left < 0 || job != nil && !left.spend(weight(job)) {
			r.fail(n.ad.Pos(), "limit", "", "node %s: the jobs take more than %d MB", n.name, left.all>>20)
			break
		}
		if job == nil {
			continue
		}
		job.setNode(n.name, after[classad.Fold(n.name)])
		s.Jobs = append(s.Jobs, job)
	}
	if len(r.errs) == 0 {
		s.last(r, nodes.list)
	}
	s.Warnings = append(s.Warnings, r.job.Warnings...)
	return r.err()
}

// last has the job that comes last wait for all others.
func (s *JobSet) last(r *jobReader, nodes []node) {
	var final *Job
	others := make([]string, 0, len(s.Jobs))
	for i, j := range s.Jobs {
		fail := func(format string, args ...any) {
			r.fail(nodes[i].ad.Pos(), "final-node", "", "node %s: "+format, append([]any{j.Node}, args...)...)
		}
		switch {
		case j.AfterAny && s.Kind != DAG:
			fail("AfterAny is of a DAG alone")
		case j.SkipAlong && (s.Kind != DAG || len(j.After) == 0):
			fail("SkipAlong is of a node of a DAG that comes after others by Dependencies")
		case j.AfterAny && (j.Final || len(j.After) == 0):
			fail("AfterAny is of a node that comes after others by Dependencies")
		case !j.Final:
			others = append(others, j.Node)
			continue
		case s.Kind != DAG:
			fail("FinalNode is of a DAG alone")
		case final != nil:
			fail("%s is the FinalNode already", final.Node)
		case len(j.After) > 0:
			fail("as the FinalNode it comes after all others by itself: no Dependencies name it")
		case len(j.AbortOn) > 0:
			fail("when the FinalNode ends nothing is left for AbortDAGOn")
		}
		final = j
	}
	s.aborted()
	if final == nil {
		return
	}
	for i, j := range s.Jobs {
		if slices.ContainsFunc(j.After, func(name string) bool { return classad.EqualFold(name, final.Node) }) {
			r.fail(nodes[i].ad.Pos(), "final-node", "", "node %s: nothing comes after the FinalNode", j.Node)
			return
		}
	}
	final.setAfter(others)
}

// abortersTold is how many of the jobs that may end a DAG each of the others names: all of them in each would be their square.
const abortersTold = 10

// aborted has each job say that others may end it with their DAG, and which come first: who follows some of
// them looks there.
func (s *JobSet) aborted() {
	var names []string
	for _, j := range s.Jobs {
		if len(j.AbortOn) > 0 && len(names) < abortersTold {
			names = append(names, j.Node)
		}
	}
	list := stringList(names)
	for _, j := range s.Jobs {
		if len(names) > 0 && !j.Final {
			j.Ad.Set("AbortedBy", list)
		}
	}
}

// setNode names the job among those of its file. A job without a name of its
// own gets one that tells it from the others.
func (j *Job) setNode(name string, after []string) {
	j.Node = name
	if j.autoName {
		j.Name = fmt.Sprintf("%s-%.60s", j.Name, strings.ToValidUTF8(name, "?"))
		j.Ad.Set("JobName", classad.NewLiteral(classad.StringValue(j.Name)))
	}
	j.Ad.Set("NodeName", classad.NewLiteral(classad.StringValue(name)))
	j.setAfter(after)
}

// setAfter names the jobs that come before this one.
func (j *Job) setAfter(names []string) {
	if j.After = names; len(names) > 0 {
		j.Ad.Set("DependsOn", stringList(names))
	}
}

// node reads one node's job; nil after an error, which the reader of the DAG has then, and where the budget is spent.
func (s *JobSet) node(hand *handing, n node, quiet bool) *Job {
	r := hand.jobReader
	sub, err := nodeReader(r, n)
	if err != nil {
		r.errs = append(r.errs, err)
		return nil
	}
	if s.Collocated && (hasAttr(n.ad, "Rank") || hasAttr(n.ad, "Requirements")) {
		r.fail(n.ad.Pos(), "collocation", "", "node %s: with NodesCollocation a node has no Rank or Requirements of its own", n.name)
		return nil
	}
	inherit(sub, r)
	if !hand.roomFor(sub, n) {
		return nil
	}
	sub.cfg.later = hand.later[classad.Fold(n.name)]
	hand.take(sub, n)
	if s.Kind == DAG {
		sub.cfg.left = func(name string) string { return hand.leftBy(n, name) }
	}
	job, err := sub.read()
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("node %s: %w", n.name, err))
		return nil
	}
	if said := len(job.Warnings); quiet {
		job.Warnings = slices.DeleteFunc(job.Warnings, func(d *classad.Diagnostic) bool { return d.File == r.file && standsAt(r.ad.Attrs(), d.Pos) }) // the first node has said it
		r.cfg.tally.warnings -= said - len(job.Warnings)
	}
	return job
}

// roomFor counts what a node has of the set, or of a file that others may have too; its own words are as much as the text.
func (h *handing) roomFor(sub *jobReader, n node) bool {
	if sub.parent != nil {
		return h.budget.spend(len(sub.src) + shared(parts(sub.ad)))
	}
	return h.budget.spend(shared(parts(sub.ad) - parts(n.ad)))
}

// standsAt tells whether one of some attributes, or its value, stands at a place of their text.
func standsAt(attrs []classad.Attr, pos classad.Pos) bool {
	return slices.ContainsFunc(attrs, func(a classad.Attr) bool { return a.NamePos == pos || a.Expr.Pos() == pos })
}

// nodeReader finds the node's own record: in place, under Description, or in
// a file.
func nodeReader(r *jobReader, n node) (*jobReader, error) {
	if e, ok := n.ad.Expr("File"); ok {
		name, _ := n.ad.Eval(e, nil).Str()
		return nodeFile(r, n, name, e.Pos())
	}
	ad := n.ad
	if e, ok := n.ad.Expr("Description"); ok {
		d, isAd := e.(*classad.Ad)
		if !isAd {
			return nil, r.diagnostic(classad.Fatal, e.Pos(), "type", "Description must be a record", "")
		}
		ad = d
	}
	sub := child(r, r.file, r.src, r.dir, ad)
	if kind, err := sub.setKind(); err != nil {
		return nil, err
	} else if kind != SingleJob {
		msg := fmt.Sprintf("node %s must be one job, and it is a %s", n.name, kind)
		return nil, r.diagnostic(classad.Fatal, ad.Pos(), "node-kind", msg, "")
	}
	return sub, nil
}

func child(r *jobReader, file, src, dir string, ad *classad.Ad) *jobReader {
	sub := newJobReader(file, src, r.cfg, ad)
	sub.dir = dir
	sub.cfg.dialect, sub.cfg.node = GLite, true
	for _, a := range sub.ad.Attrs() {
		sub.ad.Put(classad.Attr{Name: a.Name, Expr: replaceRoot(a.Expr, r.ad), NamePos: a.NamePos})
	}
	return sub
}

// maxNodeFile bounds the file of a node, in bytes.
const maxNodeFile = 16 << 20

func nodeFile(r *jobReader, n node, name string, pos classad.Pos) (*jobReader, error) {
	fail := func(format string, args ...any) error {
		return r.diagnostic(classad.Fatal, pos, "node-file", fmt.Sprintf("node %s: ", n.name)+fmt.Sprintf(format, args...), "")
	}
	if name == "" {
		return nil, fail("File is no string")
	}
	abs := name
	if !strings.HasPrefix(abs, "/") {
		abs = path.Join(r.dir, name)
	}
	rel := strings.TrimPrefix(path.Clean(abs), "/")
	info, err := fs.Stat(r.cfg.root, rel)
	if err != nil {
		return nil, fail("%s: %v", name, cause(err))
	}
	if info.Size() > maxNodeFile || !info.Mode().IsRegular() {
		return nil, fail("%s is not a description", name)
	}
	src, err := readFile(fileOf(r.cfg.root, rel))
	if err != nil {
		return nil, fail("%s: %v", name, err)
	}
	ad, err := classad.ReadAd(name, src)
	if err != nil {
		return nil, err
	}
	sub := child(r, name, string(src), path.Dir(path.Clean(abs)), ad)
	if kind, err := sub.setKind(); err != nil || kind != SingleJob {
		return nil, fail("%s must describe one job", name)
	}
	return sub, nil
}

// nodeList reads Nodes: a list of records (collection), or a record of named
// records (DAG), in which Dependencies may stand too.
func nodeList(r *jobReader, kind SetKind) (nodes nodeSet, deps classad.Expr) {
	nodes.names = map[string]bool{}
	deps, _ = r.ad.Expr("Dependencies")
	e, _ := r.ad.Expr("Nodes")
	switch e := e.(type) {
	case *classad.ListExpr:
		for i, x := range e.Elems {
			addNode(r, &nodes, fmt.Sprintf("Node_%d", i), x)
		}
	case *classad.Ad:
		for _, a := range e.Attrs() {
			if classad.EqualFold(a.Name, "Dependencies") {
				deps = a.Expr
			} else {
				addNode(r, &nodes, a.Name, a.Expr)
			}
		}
	case nil:
		r.fail(r.ad.Pos(), "missing", "", "a %s without Nodes", kind)
	default:
		r.wrongType("Nodes", tNodes)
	}
	return nodes, deps
}

func addNode(r *jobReader, nodes *nodeSet, name string, e classad.Expr) {
	ad, ok := e.(*classad.Ad)
	if !ok {
		r.fail(e.Pos(), "type", "", "node %s is not a record", name)
		return
	}
	if x, ok := ad.Expr("NodeName"); ok {
		if s, isText := literalText(x); isText && s != "" {
			name = s
		}
	}
	if nodes.names[classad.Fold(name)] {
		r.fail(e.Pos(), "same-name", "", "two nodes are called %s", name)
		return
	}
	if len(nodes.list) >= maxJobs {
		r.failAttr("Nodes", "limit", "", "more than %d jobs", maxJobs)
		return
	}
	nodes.names[classad.Fold(name)] = true
	nodes.list = append(nodes.list, node{name, ad})
}

// notInherited are the parent's attributes that describe the set, or that a
// node gets in another way.
var notInherited = map[string]bool{
	"type": true, "jobtype": true, "nodes": true, "dependencies": true, "max_nodes_running": true, "nodescollocation": true,
	"nodename": true, "inputsandbox": true, "inputsandboxbaseuri": true, "jobname": true, "nodeinputs": true, "description": true, "file": true,
	"defaultnoderetrycount": true, "defaultnodeshallowretrycount": true, "prescript": true, "postscript": true, "nojob": true,
}

// forced are the parent's attributes that win over a node's.
var forced = map[string]bool{"hlrlocation": true, "myproxyserver": true, "jobprovenance": true}

// inherit gives a node what its parent says and it does not.
func inherit(sub, parent *jobReader) {
	elsewhere := sub.file != parent.file
	if elsewhere {
		sub.parent, sub.own = parent, slices.Clone(sub.ad.Attrs())
	}
	for _, name := range []string{"RetryCount", "ShallowRetryCount"} {
		if e, ok := parent.ad.Expr("DefaultNode" + name); ok && !sub.has(name) {
			sub.ad.Set(name, e)
		}
	}
	for _, a := range parent.ad.Attrs() {
		if key := classad.Fold(a.Name); !notInherited[key] && (forced[key] || !sub.has(a.Name)) {
			if sub.ad.Put(a); elsewhere {
				sub.inherited = append(sub.inherited, a)
			}
		}
	}
	shareSandbox(sub, parent.ad, parent.file)
}

// fixSandbox makes the parent's input files absolute, from where the parent's
// file lies, and says what is wrong with them there: the nodes may lie
// elsewhere.
func fixSandbox(r *jobReader) {
	if !r.has("InputSandbox") {
		return
	}
	base := r.str("InputSandboxBaseURI")
	fixed := classad.Placed(classad.NewList(), r.pos("InputSandbox"))
	for _, e := range r.entries("InputSandbox") {
		name := e.text
		switch found := sources(r, e, base); {
		case len(found) == 1:
			name = found[0]
		case !strings.HasPrefix(name, "/") && !isURL(name):
			name = path.Join(r.dir, name) // a pattern, which each node expands
		}
		fixed.Elems = append(fixed.Elems, classad.Placed(classad.NewLiteral(classad.StringValue(name)), e.pos))
	}
	r.ad.Set("InputSandbox", fixed)
}

// shareSandbox adds the parent's input files to the node's. A file of the
// node's own with the same name wins.
func shareSandbox(sub *jobReader, parent *classad.Ad, file string) {
	e, ok := parent.Expr("InputSandbox")
	if !ok {
		return
	}
	shared := []classad.Expr{e}
	if l, isList := e.(*classad.ListExpr); isList {
		shared = l.Elems
	}
	own, ownNames := []classad.Expr{}, map[string]bool{}
	if x, has := sub.ad.Expr("InputSandbox"); has {
		own = []classad.Expr{x}
		if l, isList := x.(*classad.ListExpr); isList {
			own = l.Elems
		}
	}
	for _, x := range own {
		if s, isText := literalText(x); isText {
			ownNames[sourceName(s)] = true
		}
	}
	place := e.Pos()
	if sub.file != file {
		place = sub.ad.Pos() // the parent's places are of another text
	}
	for _, x := range shared {
		if s, isText := literalText(x); !isText || !ownNames[sourceName(s)] {
			if isText && sub.file != file {
				x = classad.Placed(classad.NewLiteral(classad.StringValue(s)), place)
			}
			own = append(own[:len(own):len(own)], x)
		}
	}
	sub.ad.Set("InputSandbox", classad.Placed(classad.NewList(own...), place))
	if base, ok := parent.Expr("InputSandboxBaseURI"); ok && !sub.has("InputSandboxBaseURI") {
		sub.ad.Set("InputSandboxBaseURI", base)
	}
}
