package jdl

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// Script is a command that whoever follows a DAG runs on their own machine before or
// after a node's job (PreScript, PostScript), as HTCondor's DAGMan does.
type Script struct {
	Command    string   // a program; a relative name is one below Dir
	Args       []string // $JOB and the like stand for what is known when it runs
	Dir        string   // it runs there; absolute
	Env        []EnvVar // beside what the one who follows has
	Again      int      // the exit code after which it runs once more; 0: none
	AgainAfter time.Duration
	Skip       int    // of a PreScript: the exit code with which the node is done without its job; 0: none
	Log        string // what it writes is added to this file; absolute; "": to none
	LogOut     bool   // standard output is
	LogErr     bool   // standard error is
	// Files are where what the job leaves is laid before a PostScript runs: absolute paths by
	// its name for them. What is not among them comes below Rest, or stays where it is where Rest is "".
	Files map[string]string
	Rest  string
}

// Scripted reports whether somebody is to run commands on the user's machine for the job.
func (j *Job) Scripted() bool { return j.Pre != nil || j.Post != nil }

// maxScriptFiles bounds the files of one job that a PostScript wants to have.
const maxScriptFiles = 10_000

// scripts reads PreScript, PostScript and NoJob of a node.
func scripts(r *jobReader) {
	for _, name := range []string{"PreScript", "PostScript", "NoJob"} {
		if r.has(name) && !r.cfg.node && !r.cfg.stored {
			r.failAttr(name, "script", "", "%s: only the nodes of a DAG have it", name)
		}
	}
	r.job.Pre, r.job.Post = script(r, "PreScript"), script(r, "PostScript")
	if r.job.NoJob = r.boolean("NoJob"); r.job.NoJob && len(r.errs) == 0 && !r.job.Scripted() {
		r.failAttr("NoJob", "script", "leave the node out", "NoJob: the node has no PreScript and no PostScript either")
	}
}

// script reads one of the two.
func script(r *jobReader, attr string) *Script {
	if !r.has(attr) {
		return nil
	}
	ad, ok := r.value(attr).Record()
	if !ok {
		r.wrongType(attr, tRecord)
		return nil
	}
	p := &scriptReader{jobReader: r, ad: ad, attr: attr, known: map[string]bool{}}
	s := p.read()
	for _, a := range ad.Attrs() {
		if !p.known[classad.Fold(a.Name)] {
			p.wrong("%s is not known there", a.Name)
		}
	}
	if len(r.errs) > 0 {
		return nil
	}
	r.ad.Put(classad.Attr{Name: attr, Expr: classad.Placed(s.Record(), r.pos(attr)), NamePos: r.pos(attr)})
	return s
}

// scriptReader reads the record of a script.
type scriptReader struct {
	*jobReader
	ad    *classad.Ad
	attr  string
	known map[string]bool
}

func (p *scriptReader) wrong(format string, args ...any) {
	p.failAttr(p.attr, "script", p.attr+` = [ Command = "/home/me/check.sh"; Arguments = {"$JOB"} ];`, "%s: "+format, append([]any{p.attr}, args...)...)
}

func (p *scriptReader) read() *Script {
	s := &Script{Command: p.textOf("Command"), Args: p.listOf("Arguments"), Dir: p.dirOf(p.textOf("Directory"), p.dir), Again: p.code("DeferOn"), Skip: p.code("SkipOn")}
	s.AgainAfter = time.Duration(p.count("DeferFor")) * time.Second
	switch {
	case s.Command == "":
		p.wrong("it has no Command")
	case s.Again > 0 && s.AgainAfter <= 0:
		p.wrong("DeferOn without DeferFor, the seconds until it runs again")
	case s.Skip > 0 && p.attr != "PreScript":
		p.wrong("SkipOn is of a PreScript alone")
	}
	if s.Log = p.textOf("Log"); s.Log != "" {
		s.Log = p.dirOf(s.Log, s.Dir)
		streams := p.textOf("LogStreams")
		s.LogOut, s.LogErr = streams != "err", streams != "out"
	}
	for _, v := range p.listOf("Environment") {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.ContainsRune(v, 0) {
			p.wrong("Environment: %q is not NAME=value", v)
			continue
		}
		s.Env = append(s.Env, EnvVar{name, value})
	}
	if p.attr == "PostScript" {
		if s.Rest = p.textOf("Outputs"); s.Rest != "" {
			s.Rest = p.dirOf(s.Rest, s.Dir)
		}
		s.Files = p.files(s.Dir)
	}
	return s
}

// dirOf is a path from a directory on.
func (p *scriptReader) dirOf(name, dir string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

func (p *scriptReader) field(name string) (classad.Value, bool) {
	p.known[classad.Fold(name)] = true
	if _, ok := p.ad.Attr(name); !ok {
		return classad.Value{}, false
	}
	return p.ad.EvalAttr(name, nil), true
}

func (p *scriptReader) textOf(name string) string {
	v, ok := p.field(name)
	if !ok {
		return ""
	}
	s, isText := v.Str()
	if !isText {
		p.wrong("%s is no string", name)
	}
	return s
}

func (p *scriptReader) count(name string) int64 {
	v, ok := p.field(name)
	if !ok {
		return 0
	}
	n, isInt := v.Int()
	if !isInt || n < 0 || n > 1e6 {
		p.wrong("%s is no number from 0 to 1000000", name)
		return 0
	}
	return n
}

// code is an exit code of failure.
func (p *scriptReader) code(name string) int {
	n := p.count(name)
	if n > 255 {
		p.wrong("%s: %d is no exit code", name, n)
		return 0
	}
	return int(n)
}

func (p *scriptReader) listOf(name string) (out []string) {
	v, ok := p.field(name)
	if !ok {
		return nil
	}
	list, isList := v.List()
	if !isList {
		list = []classad.Value{v}
	}
	for _, x := range list {
		s, isText := x.Str()
		if !isText {
			p.wrong("%s is no list of strings", name)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// files reads Files = { "name=path" }.
func (p *scriptReader) files(dir string) map[string]string {
	list := p.listOf("Files")
	if len(list) > maxScriptFiles {
		p.wrong("more than %d Files", maxScriptFiles)
		return nil
	}
	var out map[string]string
	for _, s := range list {
		name, at, ok := strings.Cut(s, "=")
		clean, why := cleanName(name)
		if !ok || why != "" || at == "" {
			p.wrong("Files: %q is not \"name=path\"", s)
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[clean] = p.dirOf(at, dir)
	}
	return out
}

// Record is the script as an attribute of a description, PreScript or PostScript.
func (s *Script) Record() *classad.Ad {
	ad := classad.NewAd()
	text := func(name, value string) {
		if value != "" {
			ad.Set(name, classad.NewLiteral(classad.StringValue(value)))
		}
	}
	number := func(name string, n int64) {
		if n > 0 {
			ad.Set(name, classad.NewLiteral(classad.IntValue(n)))
		}
	}
	text("Command", s.Command)
	putList(ad, "Arguments", s.Args)
	text("Directory", s.Dir)
	env := make([]string, len(s.Env))
	for i, v := range s.Env {
		env[i] = v.Name + "=" + v.Value
	}
	putList(ad, "Environment", env)
	number("DeferOn", int64(s.Again))
	number("DeferFor", int64(s.AgainAfter/time.Second))
	number("SkipOn", int64(s.Skip))
	if text("Log", s.Log); s.Log != "" && s.LogOut != s.LogErr {
		text("LogStreams", map[bool]string{true: "out", false: "err"}[s.LogOut])
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		files = append(files, name+"="+s.Files[name])
	}
	putList(ad, "Files", files)
	text("Outputs", s.Rest)
	return ad
}

// String is the command as a shell's user would write it.
func (s *Script) String() string {
	text := s.Command
	for _, a := range s.Args {
		text += " " + a
	}
	return fmt.Sprintf("%.200s", text)
}

// broughtLater are the nodes, by folded name, whose input files need not be here yet: those with a PreScript, and
// those that come after a node with any script, which may make them.
func broughtLater(nodes []node, after map[string][]string) map[string]bool {
	pre, any := map[string]bool{}, map[string]bool{}
	for _, n := range nodes {
		ad := n.ad
		if e, ok := ad.Expr("Description"); ok {
			if d, isAd := e.(*classad.Ad); isAd {
				ad = d
			}
		}
		key := classad.Fold(n.name)
		pre[key] = hasAttr(ad, "PreScript")
		if pre[key] || hasAttr(ad, "PostScript") {
			any[key] = true
		}
	}
	if len(any) == 0 {
		return nil
	}
	behind := map[string]bool{} // known of those that were looked at
	var comes func(key string) bool
	comes = func(key string) bool {
		is, known := behind[key]
		if known {
			return is
		}
		behind[key] = false // circles are refused elsewhere
		for _, before := range after[key] {
			before = classad.Fold(before)
			is = comes(before) || any[before] || is
		}
		behind[key] = is
		return is
	}
	later := map[string]bool{}
	for _, n := range nodes {
		key := classad.Fold(n.name)
		later[key] = comes(key) || pre[key] || hasAttr(n.ad, "FinalNode")
	}
	return later
}
