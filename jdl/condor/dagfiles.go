package condor

import (
	"path"
	"strings"

	"gridbroker/jdl/classad"
)

// dagJob is one job of a node.
type dagJob struct {
	name string
	ad   *classad.Ad
	post bool              // what it leaves lies on this machine before its PostScript runs, which may change it
	made map[string]string // its names of the files that it leaves on this machine, by their paths here
}

// makes notes that a file of the job's directory comes to a place on this machine.
func (r *reader) makes(at, name string) {
	if r.all == nil {
		return
	}
	if r.made == nil {
		r.made = map[string]string{}
	}
	r.made[r.local(at)] = name
}

// remap is a place that a file comes to which is another than the file's own name.
type remap struct{ name, at string }

// remaps are those of transfer_output_remaps: NAME=PLACE, parted by semicolons; a backslash keeps = and ; from doing so.
func (r *reader) remaps() (out []remap) {
	var part, name strings.Builder
	named := false
	end := func() {
		if named && strings.TrimSpace(name.String()) != "" {
			out = append(out, remap{strings.TrimSpace(name.String()), strings.TrimSpace(part.String())})
		}
		part.Reset()
		name.Reset()
		named = false
	}
	text := unquoted(r.get("transfer_output_remaps"))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '=' || text[i+1] == ';' || text[i+1] == '\\'):
			i++
			part.WriteByte(text[i])
		case c == ';':
			end()
		case c == '=' && !named:
			name.WriteString(part.String())
			part.Reset()
			named = true
		default:
			part.WriteByte(c)
		}
	}
	end()
	return out
}

// handOver has the input files that are not on this machine come from the nearest node before that makes them.
func handOver(d *dagReader) {
	made := map[string]bool{}
	for _, n := range d.all {
		for _, j := range n.jobs {
			for at := range j.made {
				made[at] = true
			}
		}
	}
	for _, n := range d.all {
		for _, j := range n.jobs {
			if len(made) > 0 && d.err == nil {
				takeOver(d, n, j, made)
			}
		}
	}
}

// takeOver moves the input files of a job that other nodes make from its InputSandbox to its NodeInputs.
func takeOver(d *dagReader, n *dagNode, j dagJob, made map[string]bool) {
	sources, names := texts(j.ad, "InputSandbox"), texts(j.ad, "InputSandboxDestFileName")
	kept, keptNames, taken := classad.NewList(), classad.NewList(), classad.NewList()
	for i, x := range sources {
		source := text(x)
		from, file, ok := makerOf(d, n, source, made)
		if !ok && !isProgram(j.ad, text(names[i])) {
			from, file, ok = perhaps(d, n, source)
		}
		if !ok {
			kept.Elems, keptNames.Elems = append(kept.Elems, x), append(keptNames.Elems, names[i])
			continue
		}
		name := text(names[i])
		ad := classad.Placed(classad.NewAd(), x.Pos())
		for _, set := range [][2]string{{"Node", from}, {"File", file}, {"Name", name}} {
			ad.Set(set[0], classad.Placed(classad.NewLiteral(classad.StringValue(set[1])), x.Pos()))
		}
		taken.Elems = append(taken.Elems, ad)
	}
	if len(taken.Elems) == 0 {
		return
	}
	at := taken.Elems[0].Pos()
	j.ad.Set("InputSandbox", classad.Placed(kept, at))
	j.ad.Set("InputSandboxDestFileName", classad.Placed(keptNames, at))
	j.ad.Put(classad.Attr{Name: "NodeInputs", Expr: classad.Placed(taken, at), NamePos: at})
}

// texts are the elements of a list that the reader has made.
func texts(ad *classad.Ad, name string) []classad.Expr {
	if e, ok := ad.Expr(name); ok {
		return e.(*classad.ListExpr).Elems
	}
	return nil
}

func text(e classad.Expr) string {
	s, _ := e.(*classad.Literal).Value.Str()
	return s
}

// makerOf is the job that a node takes a file from, which is not on this machine, and its name there.
func makerOf(d *dagReader, n *dagNode, source string, made map[string]bool) (name, file string, ok bool) {
	at := d.near.Path(source)
	if strings.Contains(source, "://") || !made[at] {
		return "", "", false
	}
	switch found := makers(n, at); {
	case len(found) == 0 || n.pre != nil || len(found) == 1 && found[0].post:
	case d.near.Has(source):
		d.tell(n.line, "node %s: %s is here and is taken, and not what node %s makes", n.name, source, found[0].name)
	case len(found) > 1:
		d.fail(n.line, "give these other names", "node %s: %s is made by %s and by %s", n.name, source, found[0].name, found[1].name)
	default:
		return found[0].name, found[0].made[at], true
	}
	return "", "", false
}

// isProgram tells whether an input file is what the job runs: a node that makes a program says so.
func isProgram(ad *classad.Ad, name string) bool {
	e, ok := ad.Expr("Executable")
	return ok && text(e) == name
}

// anyOf stands for the files of a path's directory of which nobody says what they are.
func anyOf(at string) string { return path.Join(path.Dir(at), "*") }

// perhaps is the nearest job before a node that does not say what it leaves, for a file that is not here and that nobody is
// known to make.
func perhaps(d *dagReader, n *dagNode, source string) (name, file string, ok bool) {
	at := d.near.Path(source)
	if strings.Contains(source, "://") || d.err != nil || d.near.Has(source) || n.pre != nil || len(makers(n, at)) > 0 { // which has a PostScript
		return "", "", false
	}
	switch found := makers(n, anyOf(at)); len(found) {
	case 0:
		return "", "", false
	case 1:
		if found[0].post {
			return "", "", false
		}
		hint := ""
		if near := d.near.Nearest(source); near != "" {
			hint = "; " + near + " is here: was that meant?"
		}
		d.tell(n.line, "node %s: %s is not here; it is taken of node %s, which does not say what it leaves (transfer_output_files)%s", n.name, source, found[0].name, hint)
		return found[0].name, path.Base(at), true
	default:
		d.fail(n.line, "say in transfer_output_files which", "node %s: %s is not here, and %s or %s may make it", n.name, source, found[0].name, found[1].name)
		return "", "", false
	}
}

// makers are the nearest jobs before a node that make a file.
func makers(n *dagNode, at string) (found []dagJob) {
	seen := map[*dagNode]bool{n: true} // which may come after itself: that is told elsewhere
	for near := n.parents; len(near) > 0 && len(found) == 0; {
		var far []*dagNode
		for _, p := range near {
			if seen[p] || p.done { // nobody waits for what is done
				continue
			}
			seen[p] = true
			for _, j := range p.jobs {
				if _, makes := j.made[at]; makes {
					found = append(found, j)
				}
			}
			far = append(far, p.parents...)
		}
		near = far
	}
	return found
}
