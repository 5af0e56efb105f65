package condor

import (
	"maps"
	"slices"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Scripts of what is several nodes here, a node that queues several jobs or a SUBDAG, are nodes without a job: NAME.pre comes
// before them, and NAME.post when they have ended, however they did (AfterAny). What comes after the node comes after that.

// scriptNodes are the nodes that a SCRIPT is about, of which a SUBDAG is one.
func scriptNodes(d *dagReader, name string, line int) []*dagNode {
	if f := d.splices[name]; f != nil && f.external {
		return []*dagNode{f.whole}
	}
	nodes := slices.Clone(d.meant(name, line))
	if !classad.EqualFold(name, "all_nodes") {
		return nodes
	}
	for _, name := range slices.Sorted(maps.Keys(d.splices)) {
		if f := d.splices[name]; f.external {
			nodes = append(nodes, f.whole)
		}
	}
	return nodes
}

// apart is a new node for a script of another one, which is known to the script by the other's name.
func apart(d *dagReader, n *dagNode, what string, s *jdl.Script) *dagNode {
	own := *s
	own.Args = slices.Clone(s.Args)
	for i, a := range own.Args {
		if a == "$JOB" || a == "$NODE" {
			own.Args[i] = n.name
		}
	}
	made := &dagNode{name: n.name + "." + what, line: n.line, dir: n.dir, noop: true, retries: n.retries, unless: n.unless, skip: n.skip}
	if made.pre = &own; what == "post" {
		made.pre, made.post, made.abort, made.skip = nil, &own, n.abort, 0
	}
	if d.folded[classad.Fold(made.name)] {
		d.fail(n.line, "give it another name", "two nodes are called %s", made.name)
	}
	d.folded[classad.Fold(made.name)] = true
	return made
}

// alone is the record of a node that has scripts and no job.
func alone(d *dagReader, n *dagNode) classad.Expr {
	at := classad.Pos{Line: n.line, Col: 1}
	b := jdl.Builder{Ad: classad.Placed(classad.NewAd(), at), Pos: at}
	b.Str("Executable", "/bin/true")
	b.Str("NodeName", n.name)
	b.Str("JobName", n.name)
	b.Set("NoJob", classad.BoolValue(true))
	tries(d, n, &b)
	if len(n.judges) > 0 {
		b.Set("AfterAny", classad.BoolValue(true))
	}
	putScripts(d, n, &b, leftBy(n.judges))
	n.parts = append(n.parts, n.name)
	return b.Ad
}

// leftBy are the files that the jobs of some nodes leave on this machine, as "JOB/FILE" by their paths.
func leftBy(nodes []*dagNode) map[string]string {
	all := map[string]string{}
	for _, n := range nodes {
		for _, j := range n.jobs {
			for at, file := range j.made {
				if file != "" {
					file = j.name + "/" + file
				}
				all[at] = file
			}
		}
	}
	return all
}

// severally has the scripts of a node that queues several jobs stand apart from these.
func severally(d *dagReader, n *dagNode) (before, behind *dagNode) {
	if n.pre != nil {
		before = apart(d, n, "pre", n.pre)
		before.along, n.along = n.along, n.along || n.skip > 0
		before.parents, n.parents, n.pre = n.parents, []*dagNode{before}, nil
	}
	if n.post != nil {
		behind = apart(d, n, "post", n.post)
		behind.judges, n.judge, behind.along = []*dagNode{n}, behind, n.along
	}
	return before, behind
}

// scriptDAGs has the scripts of SUBDAGs stand before and behind their nodes; inner ones come first.
func scriptDAGs(d *dagReader) {
	for _, f := range d.subdags {
		n := f.whole
		switch {
		case n.done || n.post == nil && n.retries == 0 && n.pre == nil:
			continue
		case n.post == nil && n.retries > 0:
			f.again(n.retries)
			d.tell(n.line, "RETRY of %s is that of its nodes", n.name)
		}
		within := map[*dagNode]bool{}
		for _, inner := range f.nodes {
			within[inner] = true
		}
		if n.pre != nil {
			skipAll(d, f)
			f.add(d, beforeAll(f, apart(d, n, "pre", n.pre), within))
		}
		if n.post != nil {
			behind := apart(d, n, "post", n.post)
			behind.along = n.pre != nil && n.skip > 0
			f.add(d, behindAll(d, f, behind, within))
		}
	}
	d.subdags = nil
}

// skipAll has the nodes of a SUBDAG be left out with that of its PRE script. One that a script of its own leaves out would
// take those after it along, which only the SUBDAG's script may.
func skipAll(d *dagReader, f *dagFile) {
	for _, n := range f.nodes {
		if f.whole.skip > 0 && n.pre != nil && n.skip > 0 {
			d.fail(f.whole.line, "let one of the scripts end with 0, and its jobs look", "SUBDAG %s has a PRE_SKIP, and so has node %s within", f.whole.name, n.name)
		}
		n.along = n.along || f.whole.skip > 0
	}
}

// add makes a node one of the DAGs that a SUBDAG stands in.
func (f *dagFile) add(d *dagReader, n *dagNode) {
	d.all = append(d.all, n)
	for outer := f.outer; outer != nil; outer = outer.outer {
		outer.nodes = append(outer.nodes, n)
	}
}

// beforeAll has a node come before those of a DAG, and after all that these came after.
func beforeAll(f *dagFile, before *dagNode, within map[*dagNode]bool) *dagNode {
	for _, n := range f.nodes {
		var inner []*dagNode
		waits := false
		for _, p := range n.parents {
			if within[p] {
				inner, waits = append(inner, p), waits || !p.done // nobody waits for what is done
			} else if !slices.Contains(before.parents, p) {
				before.parents = append(before.parents, p)
			}
		}
		if n.parents = inner; !waits {
			n.parents = append(inner, before)
		}
	}
	return before
}

// behindAll has a node come after those of a DAG, and before all that came after these.
func behindAll(d *dagReader, f *dagFile, behind *dagNode, within map[*dagNode]bool) *dagNode {
	for _, n := range f.nodes {
		if !n.done && (!n.noop || n.scripted()) {
			behind.judges = append(behind.judges, n)
		}
	}
	if behind.parents = behind.judges; len(behind.judges) == 0 {
		behind.parents = f.nodes
	}
	for _, n := range d.all {
		if within[n] || !slices.ContainsFunc(n.parents, func(p *dagNode) bool { return within[p] }) {
			continue
		}
		n.parents = append(slices.DeleteFunc(slices.Clone(n.parents), func(p *dagNode) bool { return within[p] }), behind)
	}
	return behind
}

// readAside reads "SERVICE name file ..." or "PROVISIONER name file ...": nodes that run beside the DAG or prepare machines
// for it. They are left out, and what else the file says of them with them.
func readAside(d *dagReader, word, rest string, line int) {
	before := len(d.all)
	if d.job(word, rest, line); d.err != nil || len(d.all) == before {
		return
	}
	n := d.all[before]
	d.all, d.nodes, n.aside = d.all[:before], d.nodes[:len(d.nodes)-1], true
	switch {
	case word == "SERVICE":
		d.tell(line, "SERVICE %s is left out: no job runs beside the DAG for as long as that does; run it on a machine of yours", n.name)
	case d.provisioned:
		d.fail(line, "", "there is a PROVISIONER already")
	default:
		d.provisioned = true
		d.tell(line, "PROVISIONER %s is left out: nobody waits until it has made machines ready; jobs go to sites that have them", n.name)
	}
}
