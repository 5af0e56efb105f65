// Package sbatch reads and writes scripts for Slurm.
package sbatch

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Options are what a submission adds to a script.
type Options struct {
	Name  string // job name; "": Job.Name
	Queue string // partition; "": the one the job asks for
	// StageIn copies the input files from this machine into the directory
	// the job starts in; otherwise they must be there already.
	StageIn bool
	Lossy   bool // leave out what Losses names, instead of failing
}

// Losses are what the job asks for and a script cannot say. A limit of CPU
// time is implied by one of wall time that is at least as long.
func Losses(j *jdl.Job) []*classad.Diagnostic {
	var out []*classad.Diagnostic
	d := j.Demand
	if d.CPUTime > 0 && (d.WallTime == 0 || d.WallTime < d.CPUTime) {
		out = append(out, j.Loss("CPUTime", "give WallTime", "Slurm limits wall time alone"))
	}
	if d.VirtualMemory > 0 {
		out = append(out, j.Loss("VirtualMemory", "", "Slurm cannot ask for virtual memory"))
	}
	if _, other := split(j); len(other) > 0 {
		out = append(out, j.Loss("RunTimeEnvironment", "load the software in the job's own script", "Slurm does not know %s", strings.Join(other, ", ")))
	}
	for _, f := range j.InputSandbox {
		if f.IsURL() {
			out = append(out, j.Loss("InputSandbox", "fetch it in the job's own script", "a Slurm script cannot fetch %s", f.Source))
		}
	}
	for _, f := range j.OutputSandbox {
		if f.DestURL != "" {
			out = append(out, j.Loss("OutputSandboxDestURI", "send it in the job's own script", "a Slurm script cannot send %s to %s", f.Name, f.DestURL))
		}
	}
	return append(out, j.ImageLoss()...)
}

// Write writes the job as a script for Slurm's sbatch. Every text of the job
// stands in single quotes, so that none of it is ever shell code; what cannot
// be a directive safely is an error. Input from URLs and output to URLs are
// errors, for nothing in the script could transfer them.
func Write(j *jdl.Job, o Options) ([]byte, error) {
	if err := jdl.LossError(Losses(j)); err != nil && !o.Lossy {
		return nil, err
	}
	w := sbatchWriter{job: j, opt: o}
	w.line("#!/bin/sh")
	w.directives()
	w.environment()
	w.files()
	w.commands()
	if w.err != nil {
		return nil, w.err
	}
	return []byte(w.b.String()), nil
}

type sbatchWriter struct {
	job *jdl.Job
	opt Options
	b   strings.Builder
	err error
}

func (w *sbatchWriter) line(parts ...string) {
	w.b.WriteString(strings.Join(parts, " ") + "\n")
}

func (w *sbatchWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// quote makes one shell word of a text: 'text', with quotes in it escaped.
func (w *sbatchWriter) quote(s string) string {
	if strings.ContainsRune(s, 0) {
		w.fail("%q: a script cannot hold a NUL byte", s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// isDirectiveWord reports whether s can stand in a #SBATCH line as it is.
func isDirectiveWord(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		ok := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._+,:/@-", c) >= 0
		if !ok {
			return false
		}
	}
	return s != ""
}

// directiveName replaces what cannot stand in a directive.
func directiveName(s string) string {
	out := []byte(s)
	for i := range out {
		if !isDirectiveWord(string(out[i])) {
			out[i] = '_'
		}
	}
	return string(out[:min(len(out), 128)])
}

func (w *sbatchWriter) set(option, value string) { w.line("#SBATCH --" + option + "=" + value) }

func (w *sbatchWriter) number(option string, n int64, unit string) {
	if n > 0 {
		w.set(option, fmt.Sprintf("%d%s", n, unit))
	}
}

func (w *sbatchWriter) directives() {
	d := w.job.Demand
	w.set("job-name", directiveName(cmp.Or(w.opt.Name, w.job.Name)))
	if q := cmp.Or(w.opt.Queue, d.Queue); q != "" {
		if !isDirectiveWord(q) {
			w.fail("%q is no name of a partition", q)
		}
		w.set("partition", q)
	}
	w.number("nodes", int64(d.Nodes), "")
	w.number("ntasks", int64(max(1, d.Slots)), "")
	w.number("ntasks-per-node", int64(d.SlotsPerNode), "")
	if d.WholeNodes {
		w.line("#SBATCH --exclusive")
	}
	w.number("time", jdl.Minutes(d.WallTime), "")
	w.number("mem-per-cpu", d.Memory, "M")
	w.number("tmp", d.Disk, "M")
	w.gpus()
	entered, other := split(w.job)
	for _, tag := range d.RuntimeEnvironments {
		if wish := jdl.ParseEnvironmentWish(tag); !isDirectiveWord(wish.Tag()) {
			w.fail("%q is no name of a runtime environment", tag)
		}
	}
	if len(entered) > 0 {
		w.set("constraint", strings.Join(entered, "&"))
	}
	for _, tag := range other {
		w.line("# runtime environment:", tag)
	}
	w.line()
}

// gpus asks for GPUs of the whole job, of each type as many.
func (w *sbatchWriter) gpus() {
	d := w.job.Demand
	types, _ := jdl.GPUTypes(d.RuntimeEnvironments)
	if len(types) == 0 {
		w.number("gpus", int64(d.GPUs), "")
		return
	}
	for i, name := range types {
		types[i] = fmt.Sprintf("%s:%d", name, jdl.GPUsOfType(d.GPUs, len(types)))
	}
	w.set("gpus", strings.Join(types, ","))
}

func (w *sbatchWriter) environment() {
	for _, v := range w.job.Environment {
		if !jdl.IsName(v.Name) {
			w.fail("%q is no name of a variable", v.Name)
		}
		w.line("export", v.Name+"="+w.quote(v.Value))
	}
}

// files copies the input in, makes programs executable and makes the
// directories that output is written to.
func (w *sbatchWriter) files() {
	j := w.job
	var dirs, programs []string
	for _, f := range j.InputSandbox {
		if f.IsURL() {
			continue // told by Losses
		}
		if dir := path.Dir(f.Name); w.opt.StageIn && dir != "." {
			dirs = append(dirs, w.quote(dir))
		}
		if f.Executable {
			programs = append(programs, w.quote(f.Name))
		}
	}
	for _, name := range []string{j.StdOutput, j.StdError} {
		if dir := path.Dir(name); name != "" && dir != "." {
			dirs = append(dirs, w.quote(dir))
		}
	}
	if len(dirs) > 0 {
		slices.Sort(dirs)
		w.line("mkdir -p --", strings.Join(slices.Compact(dirs), " "))
	}
	if w.opt.StageIn {
		for _, f := range j.InputSandbox {
			if f.IsURL() {
				continue
			}
			w.line("cp --", w.quote(f.Source), w.quote(f.Name))
		}
	}
	if len(programs) > 0 {
		w.line("chmod +x --", strings.Join(programs, " "))
	}
}

// commands runs the program, between prologue and epilogue; the exit code is
// the program's.
func (w *sbatchWriter) commands() {
	j := w.job
	w.redirect()
	w.enter()
	if j.Prologue != "" {
		w.line(w.command(j.Prologue, j.PrologueArgs), "|| exit")
	}
	w.line(w.command(j.Executable, j.Args))
	if j.Epilogue != "" {
		w.line("status=$?")
		w.line(w.command(j.Epilogue, j.EpilogueArgs), "|| exit")
		w.line("exit $status")
	}
}

func (w *sbatchWriter) redirect() {
	j := w.job
	parts := []string{"exec"}
	if j.StdInput != "" {
		parts = append(parts, "<"+w.quote(j.StdInput))
	}
	if j.StdOutput != "" {
		parts = append(parts, ">"+w.quote(j.StdOutput))
	}
	switch {
	case j.StdError != "" && j.StdError == j.StdOutput:
		parts = append(parts, "2>&1")
	case j.StdError != "":
		parts = append(parts, "2>"+w.quote(j.StdError))
	}
	if len(parts) > 1 {
		w.line(parts...)
	}
}

// command is a program and its words. An input file is run from the job's
// directory; a plain name is looked up in the PATH, past the shell's own
// commands (in DIRAC's dialect only).
func (w *sbatchWriter) command(program string, args []string) string {
	words := []string{w.quote(program)}
	for _, a := range args {
		words = append(words, w.quote(a))
	}
	switch {
	case w.job.HasInput(program):
		words[0] = w.quote("./" + program)
	case strings.HasPrefix(program, "-"):
		w.fail("%q is no name of a program", program)
	case !strings.HasPrefix(program, "/"):
		if tags, _ := split(w.job); len(tags) == 0 {
			return "(exec " + strings.Join(words, " ") + ")"
		}
	}
	return w.entered(words)
}
