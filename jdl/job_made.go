package jdl

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// Made names a file that another node of the DAG makes.
type Made struct {
	Node string // the other node; "": no other node makes the file
	File string // its name among that node's output
	Job  string // the id of that node's job; "" before the jobs are recorded
}

// String is the file with its node.
func (m Made) String() string { return m.File + " of node " + m.Node }

// Taken lists the input files that other nodes make.
func (j *Job) Taken() []InputFile {
	var out []InputFile
	for _, f := range j.InputSandbox {
		if f.From.Node != "" {
			out = append(out, f)
		}
	}
	return out
}

// BringTo says where the files that other nodes make are to lie, each under its name
// below an absolute directory, and which jobs these nodes are. A program that does not
// know of other nodes' files finds none there, and cannot send the job without them.
func (j *Job) BringTo(dir string, id func(node string) string) {
	for i := range j.InputSandbox {
		if f := &j.InputSandbox[i]; f.From.Node != "" {
			f.Source, f.From.Job = path.Join(dir, f.Name), id(f.From.Node)
		}
	}
	putInputs(j.Ad, j)
}

// Laid is the job as it can be sent: in the place of a directory that it takes of another node stand the files
// that lie below it now, under its name. One that cannot be read stays as it is, and who sends the job meets that.
func (j *Job) Laid() *Job {
	var files []InputFile
	found := false
	for _, f := range j.InputSandbox {
		if below, ok := f.below(); ok {
			files, found = append(files, below...), true
		} else {
			files = append(files, f)
		}
	}
	if !found {
		return j
	}
	laid := *j
	laid.InputSandbox = files
	return &laid
}

// below are the files of a directory that another node has left; false: it is none, or cannot be read.
func (f InputFile) below() (files []InputFile, ok bool) {
	if f.From.Node == "" {
		return nil, false
	}
	if info, err := os.Stat(f.Source); err != nil || !info.IsDir() {
		return nil, false
	}
	err := filepath.WalkDir(f.Source, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files = append(files, InputFile{Source: at, Name: f.Name + strings.TrimPrefix(at, f.Source), Executable: info.Mode()&0o111 != 0})
		}
		return err
	})
	return files, err == nil
}

// madeFile is an element of NodeInputs: a record with Node, File and, where it is another
// one, the Name in the job's directory.
type madeFile struct {
	Made
	name string
	pos  classad.Pos
}

func (m madeFile) record() classad.Expr {
	ad := classad.Placed(classad.NewAd(), m.pos)
	for _, x := range [][2]string{{"Node", m.Node}, {"File", m.File}, {"Name", m.name}, {"Job", m.Job}} {
		if x[1] != "" {
			ad.Set(x[0], classad.Placed(classad.NewLiteral(classad.StringValue(x[1])), m.pos))
		}
	}
	return ad
}

// elements are those of a list, or the one value that stands in its place.
func elements(e classad.Expr) []classad.Expr {
	if l, isList := e.(*classad.ListExpr); isList {
		return l.Elems
	}
	return []classad.Expr{e}
}

// madeFiles reads NodeInputs.
func madeFiles(r *jobReader) []madeFile {
	e, ok := r.ad.Expr("NodeInputs")
	if !ok {
		return nil
	}
	var out []madeFile
	for _, x := range elements(e) {
		ad, isAd := x.(*classad.Ad)
		if !isAd {
			ad = classad.NewAd()
		}
		text := func(name string) string {
			s, _ := ad.EvalAttr(name, nil).Str()
			return s
		}
		m := madeFile{Made{text("Node"), text("File"), text("Job")}, text("Name"), r.pos("NodeInputs")}
		if x.Pos().Line > 0 {
			m.pos = x.Pos()
		}
		if m.Node == "" || m.File == "" {
			r.failAttr("NodeInputs", "type", `NodeInputs = { [ Node = "a"; File = "out.txt" ] };`, "NodeInputs must be records with Node and File")
			continue
		}
		out = append(out, m)
	}
	return out
}

// madeInputs adds the files that other nodes make to the input sandbox.
func madeInputs(r *jobReader) {
	if r.has("NodeInputs") && !r.cfg.stored && !r.cfg.node {
		r.failAttr("NodeInputs", "node-output", "", "NodeInputs: only the nodes of a DAG take files of others")
		return
	}
	for _, m := range madeFiles(r) {
		name, why := m.name, ""
		if name == "" {
			name = path.Base(m.File)
		}
		if name, why = cleanName(name); why != "" {
			r.fail(m.pos, "bad-name", "", "NodeInputs: the name %q %s", name, why)
			continue
		}
		at := slices.IndexFunc(r.job.InputSandbox, func(f InputFile) bool { return f.Name == name })
		switch {
		case at < 0:
			r.inNames[name] = m.Made.String()
			r.job.InputSandbox = append(r.job.InputSandbox, InputFile{Name: name, From: m.Made})
		case r.cfg.stored:
			r.job.InputSandbox[at].From = m.Made
		default:
			r.fail(m.pos, "same-name", "give it another name with InputSandboxDestFileName",
				"InputSandbox: %s and %s would both be called %s", r.inNames[name], m.Made, name)
		}
	}
}

// putMade writes NodeInputs.
func putMade(ad *classad.Ad, files []InputFile) {
	list := classad.NewList()
	for _, f := range files {
		m := madeFile{Made: f.From}
		if f.Name != path.Base(m.File) {
			m.name = f.Name
		}
		list.Elems = append(list.Elems, m.record())
	}
	if ad.Delete("NodeInputs"); len(files) > 0 {
		ad.Set("NodeInputs", list)
	}
}
