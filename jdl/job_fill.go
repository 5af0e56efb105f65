package jdl

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gridbroker/jdl/classad"
)

// read fills the job in, in the order in which the parts need each other, and
// writes defaults and repairs back into the record.
func (r *jobReader) read() (*Job, error) {
	r.job.Dialect = r.cfg.dialect
	if r.job.Dialect == AnyDialect {
		r.job.Dialect = judgeDialect(r.ad)
	}
	noteGiven(r)
	kinds(r)
	checkAttrs(r)
	streams(r)
	inputs(r)
	outputs(r)
	program(r)
	environment(r)
	policy(r)
	data(r)
	demand(r)
	matching(r)
	normalise(r)
	if len(r.errs) > 0 {
		return nil, r.err()
	}
	r.job.Ad = r.ad
	return r.job, nil
}

// checkAttrs looks at every attribute of the record by the table.
func checkAttrs(r *jobReader) {
	for _, a := range r.ad.Attrs() {
		def := findAttr(a.Name)
		switch {
		case def == nil:
			unknown(r, a)
		case def.mode&isRefused != 0:
			r.fail(a.NamePos, "deprecated", "", "%s belongs to checkpointable and partitionable jobs, which no longer exist", def.name)
		case r.job.Dialect == DIRAC && def.mode&gliteOnly != 0:
			r.warn(a.NamePos, "dialect", "", "%s has no meaning in DIRAC's dialect", def.name)
		default:
			checkType(r, def)
		}
	}
}

// checkType evaluates attributes that nothing else reads, so that a wrong
// kind is found wherever it stands.
func checkType(r *jobReader, def *attrDef) {
	switch def.typ {
	case tString:
		r.str(def.name)
	case tStrings:
		r.strs(def.name)
	case tInt:
		r.integer(def.name, 0)
	case tNumber:
		r.number(def.name)
	case tBool:
		r.boolean(def.name)
	}
}

// unknown warns of a name that is nearly one we know, unless an expression
// of the job uses it.
func unknown(r *jobReader, a classad.Attr) {
	if r.cfg.tally.unknown++; r.cfg.stored || len(r.job.Warnings) >= maxFindings || r.cfg.tally.unknown > maxUnknown {
		return
	}
	if r.refs == nil {
		r.refs = references(r.ad)
	}
	if near := nearestAttr(a.Name); near != "" && !r.refs[classad.Fold(a.Name)] {
		r.warn(a.NamePos, "unknown-attribute", "did you mean "+near+"?", "%s is not a known attribute", a.Name)
	}
}

// program reads the executable, its arguments, prologue and epilogue.
func program(r *jobReader) {
	j := r.job
	if a, is := clientSettings(r.ad); is && !r.has("Executable") {
		r.fail(a.NamePos, "other-file", "name it in no command: sources and vo in grid.toml say the same",
			"%s: these are settings of gLite's client, and no job", a.Name)
	} else if len(r.ad.Attrs()) == 0 {
		r.fail(r.ad.Pos(), "missing", "grid jdl new writes a description to begin with", "the description is empty")
	} else if !r.has("Executable") {
		r.fail(r.ad.Pos(), "missing", `say what to run: Executable = "/bin/hostname";`, "the job has no Executable")
	}
	j.Executable = programFile(r, "Executable")
	j.Args = arguments(r, "Arguments")
	j.Prologue, j.PrologueArgs = wrapper(r, "Prologue")
	j.Epilogue, j.EpilogueArgs = wrapper(r, "Epilogue")
	j.Name, j.Group = jobName(r), named(r, "JobGroup")
	if j.autoName = j.Name == ""; j.autoName {
		j.Name = shown(path.Base(j.Executable))
	}
	for _, name := range r.strs("ExecutableFiles") {
		markExecutable(r, "ExecutableFiles", name)
	}
}

// shown is a name that a job gets by itself, without control characters.
func shown(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, name)
}

// jobName is JobName, which is shown on terminals and written into lists.
func jobName(r *jobReader) string { return named(r, "JobName") }

// named is an attribute that is a name; "": there is none.
func named(r *jobReader, attr string) string {
	name := r.str(attr)
	if strings.ContainsFunc(name, unicode.IsControl) {
		r.failAttr(attr, "bad-name", "", "%s %q holds a control character", attr, name)
	}
	return name
}

func wrapper(r *jobReader, name string) (string, []string) {
	args := arguments(r, name+"Arguments")
	if !r.has(name) {
		if r.has(name + "Arguments") {
			r.failAttr(name+"Arguments", "missing", "", "%sArguments without %s", name, name)
		}
		return "", nil
	}
	return programFile(r, name), args
}

// programFile checks the name of a program: an absolute path on the node, or
// the plain name of a file of the input sandbox.
func programFile(r *jobReader, attr string) string {
	name := r.str(attr)
	if r.bad[classad.Fold(attr)] || !r.has(attr) {
		return name
	}
	if rest, ok := strings.CutPrefix(name, "./"); ok && !strings.Contains(rest, "/") {
		r.warn(r.pos(attr), "repaired", "", "%s: %q is read as %q", attr, name, rest)
		name = rest
	}
	shell := fmt.Sprintf("let a shell do it: %s = \"/bin/sh\"; %sArguments = \"-c '...'\"", attr, strings.TrimPrefix(attr, "Executable"))
	switch {
	case name == "":
		r.failAttr(attr, "missing", "", "%s is empty", attr)
	case strings.ContainsAny(name, "*{}[]?"):
		r.failAttr(attr, "wildcard", "", "%s %q: wildcards are not allowed here", attr, name)
	case strings.ContainsAny(name, "\x00\n\r"):
		r.failAttr(attr, "bad-name", "", "%s %q holds a control character", attr, name)
	case strings.HasPrefix(name, "/") && strings.Contains(name, "/$"):
		r.warn(r.pos(attr), "relative-path", shell, "%s %q: nothing replaces variables in it", attr, name)
	case strings.HasPrefix(name, "/") || markExecutable(r, attr, name):
	case strings.Contains(name, "$"):
		r.failAttr(attr, "relative-path", shell, "%s %q: nothing replaces variables in it", attr, name)
	case strings.Contains(name, "/"):
		r.failAttr(attr, "relative-path", "name a file of the InputSandbox by its last part: "+path.Base(name),
			"%s %q is a relative path", attr, name)
	default:
		localProgram(r, attr, name)
	}
	return name
}

// localProgram judges a plain name that no input file has.
func localProgram(r *jobReader, attr, name string) {
	if r.cfg.stored || r.absent[name] {
		return
	}
	if near := nearInput(r, name); r.job.Dialect == DIRAC || near == "" && !strings.Contains(name, ".") {
		hint := ""
		switch {
		case near != "":
			hint = "the InputSandbox has " + near
		case liesBeside(r, name):
			hint = "a file of that name lies beside the description: add it to the InputSandbox"
		}
		r.warn(r.pos(attr), "not-in-sandbox", hint, "%s %q is not in the InputSandbox: the node must have it in its PATH", attr, name)
		return
	}
	hint := "write its absolute path on the node, or add it to the InputSandbox"
	switch near := nearInput(r, name); {
	case near != "":
		hint = "the InputSandbox has " + near
	case liesBeside(r, name):
		hint = "it lies beside the description: add it to the InputSandbox"
	}
	r.failAttr(attr, "not-in-sandbox", hint, "%s %q is not in the InputSandbox", attr, name)
}

// liesBeside reports whether a file of that name stands in the description's directory.
func liesBeside(r *jobReader, name string) bool {
	if r.cfg.noFiles {
		return false
	}
	info, err := fs.Stat(r.cfg.root, strings.TrimPrefix(path.Join(r.dir, name), "/"))
	return err == nil && info.Mode().IsRegular()
}

func nearInput(r *jobReader, name string) string {
	names := make([]string, len(r.job.InputSandbox))
	for i, f := range r.job.InputSandbox {
		names[i] = f.Name
	}
	return classad.Nearest(name, names)
}

func markExecutable(r *jobReader, attr, name string) bool {
	for i := range r.job.InputSandbox {
		if r.job.InputSandbox[i].Name == name {
			r.job.InputSandbox[i].Executable = true
			warnDOS(r, attr, r.job.InputSandbox[i])
			return true
		}
	}
	if attr == "ExecutableFiles" && !r.absent[name] {
		r.failAttr(attr, "not-in-sandbox", "", "ExecutableFiles: %q is not in the InputSandbox", name)
	}
	return false
}

func arguments(r *jobReader, attr string) []string {
	words, err := SplitArgs(r.str(attr))
	if err != nil {
		r.failAttr(attr, "arguments", `quote it: \"...\"`, "%s: %v", attr, err)
	}
	return words
}

// streams reads the names of standard input, output and error.
func streams(r *jobReader) {
	j := r.job
	j.StdOutput = outputName(r, "StdOutput")
	j.StdError = outputName(r, "StdError")
	if j.StdOutput != j.StdError && j.StdOutput != "" && path.Base(j.StdOutput) == path.Base(j.StdError) {
		r.failAttr("StdError", "same-name", "", "StdError %q and StdOutput %q have one name but are two files", j.StdError, j.StdOutput)
	}
}

func outputName(r *jobReader, attr string) string {
	name := r.str(attr)
	if name == "" || r.bad[classad.Fold(attr)] {
		return ""
	}
	if name == "/dev/null" { // the same as not asking for it
		return ""
	}
	clean, why := cleanName(name)
	if why != "" {
		r.failAttr(attr, "bad-name", backHint(name), "%s %q %s", attr, name, why)
	} else if hasMeta(name) {
		r.failAttr(attr, "wildcard", "", "%s %q: wildcards are not allowed here", attr, name)
	}
	return clean
}

// stdInput is checked after the sandbox is known.
func stdInput(r *jobReader) {
	name := r.str("StdInput")
	if r.bad["stdinput"] || name == "" {
		return
	}
	r.job.StdInput = name
	switch {
	case hasMeta(name):
		r.failAttr("StdInput", "wildcard", "", "StdInput %q: wildcards are not allowed here", name)
	case strings.HasPrefix(name, "/"):
	case !hasInput(r, name) && !r.absent[name]:
		r.failAttr("StdInput", "not-in-sandbox", "add it to the InputSandbox", "StdInput %q is not in the InputSandbox", name)
	}
}

func hasInput(r *jobReader, name string) bool { return r.job.HasInput(name) }

// HasInput reports whether an input file of that name is in the sandbox.
func (j *Job) HasInput(name string) bool {
	for _, f := range j.InputSandbox {
		if f.Name == name {
			return true
		}
	}
	return false
}

// environment reads NAME=value settings.
func environment(r *jobReader) {
	attr := "Environment"
	if r.job.Dialect == DIRAC && r.has("ExecutionEnvironment") {
		attr = "ExecutionEnvironment"
	}
	list := r.strs(attr)
	for _, s := range list {
		setEnv(r, attr, s)
	}
	if len(list) == 1 {
		joinedVariables(r, attr, list[0])
	}
	if hlr := r.str("HLRLocation"); hlr != "" && !r.cfg.stored {
		setEnv(r, "HLRLocation", "HLR_LOCATION="+hlr)
	}
}

func setEnv(r *jobReader, attr, s string) {
	name, value, ok := strings.Cut(s, "=")
	if trimmed := strings.TrimSpace(name); ok && trimmed != name {
		r.warn(r.pos(attr), "repaired", "", "%s: the blanks around = in %q are dropped", attr, s)
		name, value = trimmed, strings.TrimSpace(value)
	}
	switch {
	case !ok:
		r.failAttr(attr, "environment", "", "%s: %q is not NAME=value", attr, s)
	case !IsName(name):
		r.failAttr(attr, "environment", "", "%s: %q is no name of a variable", attr, name)
	case strings.ContainsRune(value, 0):
		r.failAttr(attr, "environment", "", "%s: the value of %s holds a NUL byte", attr, name)
	default:
		r.job.Environment = append(r.job.Environment, EnvVar{name, value})
		literalValue(r, attr, name, value)
	}
}

// joinedVariables warns of a text that seems to hold several settings, which are a list.
func joinedVariables(r *jobReader, attr, s string) {
	name, value, _ := strings.Cut(s, "=")
	if more := laterVariable.FindStringSubmatch(value); more != nil && !r.cfg.stored && !r.cfg.foreign {
		r.warn(r.pos(attr), "joined", `several are a list: {"A=1", "B=2"}`, "%s: %s= is part of the value of %s", attr, more[1], name)
	}
}

// laterVariable finds what looks like another setting in a value.
var laterVariable = regexp.MustCompile(`[;,]\s*([A-Z_][A-Z0-9_]*)=`)

// literalValue warns of what a shell would have read in a value.
func literalValue(r *jobReader, attr, name, value string) {
	quoted := len(value) > 1 && (value[0] == '\'' || value[0] == '"') && value[len(value)-1] == value[0]
	switch variable := shellVariable.FindString(value); {
	case r.cfg.stored || r.cfg.foreign:
	case quoted:
		r.warn(r.pos(attr), "no-shell", "leave the quotes out", "%s: the quotes are part of the value of %s: no shell reads it", attr, name)
	case variable != "":
		r.warn(r.pos(attr), "no-shell", "set it in a script that the job runs", "%s: %s in the value of %s is not replaced: no shell reads it", attr, variable, name)
	}
}

// shellVariable finds what a shell would replace.
var shellVariable = regexp.MustCompile("\\$[A-Za-z_][A-Za-z0-9_]*|\\$[({]|`")

// IsName reports whether s can name a variable: letters, digits and _ not
// starting with a digit.
func IsName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// warnDOS tells of a program whose first line ends as those of DOS do: no node has an interpreter of that name; and of one with a mark of
// an editor before it.
func warnDOS(r *jobReader, attr string, f InputFile) {
	if r.cfg.stored || f.IsURL() || f.Text != "" {
		return
	}
	name := strings.TrimPrefix(f.Path(), "/")
	if r.cfg.tally.unix[name] {
		return
	}
	if info, err := fs.Stat(r.cfg.root, name); err != nil || !info.Mode().IsRegular() {
		return
	}
	begin, err := readBegin(fileOf(r.cfg.root, name), maxOptions)
	if err != nil {
		return
	}
	first, _, whole := strings.Cut(string(begin), "\n")
	if whole && strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "\r") {
		r.warn(r.pos(attr), "dos-lines", `sed -i 's/\r$//' `+f.Name, "%s: %s has DOS line breaks: no node has an interpreter called %q", attr, f.Name, path.Base(strings.TrimPrefix(first, "#!")))
		return
	}
	if strings.HasPrefix(first, "\ufeff#!") {
		r.warn(r.pos(attr), "byte-order-mark", "save it as UTF-8 without one", "%s: %s begins with a byte order mark: a node sees no #! and runs it by no interpreter", attr, f.Name)
		return
	}
	if warnOptions(r, attr, f.Name, begin) {
		return
	}
	r.cfg.tally.unix[name] = true
}

// maxOptions is where lines of options for a batch system are looked for in a program, in bytes.
const maxOptions = 4096

// warnOptions tells of a program that asks a batch system for what the job needs, where the description asks for nothing: nobody
// reads that. A script for Slurm that is itself the description is read.
func warnOptions(r *jobReader, attr, name string, begin []byte) bool {
	system := classad.BatchScript(begin)
	if system == "" || attr != "Executable" || strings.HasPrefix(r.src, string(begin)) ||
		slices.ContainsFunc([]string{"WallTime", "CPUTime", "CPUNumber", "Memory", "GPUNumber", "SMPGranularity", "NodeNumber"}, r.has) {
		return false
	}
	hint := "say in the description what the job needs: WallTime, CPUNumber, Memory (grid run --time --cpus --mem)"
	if system == "Slurm" {
		hint = "grid submit " + name + " reads them, and makes a job of it"
	}
	r.warn(r.pos(attr), "batch-options", hint, "%s: %s has options for %s, which nobody reads there", attr, name, system)
	return true
}
