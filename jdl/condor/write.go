package condor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Options change what is written.
type Options struct {
	Lossy bool // leave out what Losses names, instead of failing
}

// Losses are what the job asks for and a submit description cannot say.
func Losses(j *jdl.Job) []*classad.Diagnostic {
	var out []*classad.Diagnostic
	d := j.Demand
	lose := func(lost bool, name, hint, format string, args ...any) {
		if lost {
			out = append(out, j.Loss(name, hint, format, args...))
		}
	}
	lose(d.CPUTime > 0 && (d.WallTime == 0 || d.WallTime < d.CPUTime), "CPUTime", "give WallTime", "HTCondor limits the time of execution alone")
	lose(d.VirtualMemory > 0, "VirtualMemory", "", "HTCondor cannot ask for virtual memory")
	types, tags := jdl.GPUTypes(withoutImage(d.RuntimeEnvironments))
	lose(len(types) > 0 && deviceOf(j) == "", "RunTimeEnvironment", "ask for one type of GPU", "HTCondor cannot ask for GPUs of the types %s", strings.Join(types, ", "))
	lose(len(tags) > 0, "RunTimeEnvironment", "load the software in the job's own script", "HTCondor does not know %s", strings.Join(tags, ", "))
	lose(d.Nodes > 1, "HostNumber", "", "a job of the vanilla universe has one machine")
	lose(d.SlotsPerNode > 0 && d.SlotsPerNode < d.Slots, "SMPGranularity", "", "a job of the vanilla universe has one machine")
	lose(d.WholeNodes, "WholeNodes", "", "HTCondor has no word for it")
	lose(d.Queue != "", "Queue", "", "HTCondor has no queues")
	lose(j.Prologue != "", "Prologue", "run it in a script of your own", "a submit description has one program")
	lose(j.Epilogue != "", "Epilogue", "run it in a script of your own", "a submit description has one program")
	for _, f := range j.InputSandbox {
		lose(f.Name != path.Base(f.Source) && f.Name != j.Executable, "InputSandboxDestFileName", "name the files as the job wants them", "HTCondor cannot give %s the name %s on the node", f.Source, f.Name)
	}
	return out
}

// withoutImage leaves out the tag of images that jobs bring, which the container universe takes.
func withoutImage(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return strings.EqualFold(tag, jdl.UserImageTag) })
}

type writer struct {
	b   strings.Builder
	err error
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// set writes a command; an empty value is left out.
func (w *writer) set(name, value string) {
	if strings.ContainsAny(value, "\n\r\x00") {
		w.fail("%s: a submit description cannot hold the control character in %q", name, value)
	}
	if strings.TrimSpace(value) != value {
		w.fail("%s: a submit description does not keep the blanks around %q", name, value)
	}
	if strings.HasSuffix(value, `\`) { // the next line would be a part of this one
		w.fail("%s: no line of a submit description can end in a backslash, as %q does", name, value)
	}
	if value != "" {
		w.b.WriteString(name + " = " + value + "\n")
	}
}

func (w *writer) number(name string, n int64, unit string) {
	if n > 0 {
		w.set(name, fmt.Sprint(n)+unit)
	}
}

// literal keeps condor_submit and the negotiator from replacing anything in a
// text of an attribute: neither $(name) nor $ENV(name) nor $$(name).
func (w *writer) literal(attr, s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		rest := strings.TrimLeft(s[i:], "$")
		dollars := s[i : len(s)-len(rest)]
		name := rest[:len(rest)-len(strings.TrimLeftFunc(rest, inMacroName))]
		switch called := strings.HasPrefix(rest[len(name):], "("); {
		case !called:
		case name != "" || dollars == "$":
			dollars = strings.Repeat("$(DOLLAR)", len(dollars))
		case dollars == "$$":
			dollars = twoDollars
		default:
			w.fail("%s: a submit description cannot hold the $$$( of %q", attr, s[i:])
		}
		b.WriteString(dollars)
		s = rest
	}
	return b.String() + s
}

// inMacroName reports whether a character may stand between $ and (.
func inMacroName(r rune) bool {
	return r == '_' || 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
}

// word is a word of the new syntax of arguments and environment.
func (w *writer) word(attr, s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(w.literal(attr, s), `'`, `''`), `"`, `""`) + "'"
}

// file is a name in a list, which commas part.
func (w *writer) file(s string) string {
	if strings.ContainsAny(s, ",\"") || strings.TrimSpace(s) != s {
		w.fail("file %q: a submit description cannot name it", s)
	}
	return w.literal("file", s)
}

// Written names what only a broker acts on and a submit description has a word
// for.
func Written(j *jdl.Job) []string {
	out := []string{keptAttr, "OutputSandboxDestFileName"}
	if j.RetryAnyExit {
		out = append(out, "RetryCount", "RetryOnExit")
	}
	return out
}

// Write writes the job as a submit description that queues it once. Memory is
// that of all cores together.
func Write(j *jdl.Job, o Options) ([]byte, error) {
	if err := jdl.LossError(Losses(j)); err != nil && !o.Lossy {
		return nil, err
	}
	w := &writer{}
	if image := j.UserImage(); placed(image) {
		w.set("universe", "container")
		w.set("container_image", image)
		if jdl.ImageFolder(image) {
			w.set("transfer_container", "false")
		}
	} else {
		w.set("universe", "vanilla")
	}
	w.set("JobBatchName", strings.TrimSpace(w.literal("JobName", j.Name)))
	w.program(j)
	w.files(j)
	d := j.Demand
	slots := int64(max(1, d.Slots))
	w.number("request_cpus", slots, "")
	w.number("request_memory", d.Memory*slots, "MB")
	w.number("request_disk", d.Disk, "MB")
	w.gpus(j)
	w.number("allowed_execute_duration", jdl.Seconds(d.WallTime), "")
	if j.RetryAnyExit {
		w.number("max_retries", int64(j.RetryCount), "")
	}
	w.kept(j)
	w.b.WriteString("queue\n")
	return []byte(w.b.String()), w.err
}

func (w *writer) program(j *jdl.Job) {
	name, args := j.Executable, j.Args
	moved := false
	for _, f := range j.InputSandbox {
		if f.Name == j.Executable {
			name, moved = f.Source, true
		}
	}
	if !moved && !strings.HasPrefix(name, "/") { // one of the node's PATH
		name, args = "/usr/bin/env", append([]string{name}, args...)
	}
	w.set("executable", w.literal("Executable", name))
	if !moved {
		w.set("transfer_executable", "false")
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = w.word("Arguments", a)
	}
	if len(words) > 0 {
		w.set("arguments", `"`+strings.Join(words, " ")+`"`)
	}
	pairs := make([]string, len(j.Environment))
	for i, v := range j.Environment {
		pairs[i] = v.Name + "=" + w.word("Environment", v.Value)
	}
	if len(pairs) > 0 {
		w.set("environment", `"`+strings.Join(pairs, " ")+`"`)
	}
}

func (w *writer) files(j *jdl.Job) {
	var in, out, remaps []string
	stdin := j.StdInput
	for _, f := range j.InputSandbox {
		switch {
		case f.Name == j.StdInput:
			stdin = f.Source
		case f.Name != j.Executable:
			in = append(in, w.file(f.Source))
		}
	}
	all := false
	for _, f := range j.OutputSandbox {
		if place := cmp.Or(f.DestURL, f.Back); place != "" {
			remaps = append(remaps, w.place(f.Name)+"="+w.place(place))
		}
		switch {
		case f.IsPattern():
			all = true // without a list all new files come back
		case f.Name != j.StdOutput && f.Name != j.StdError:
			out = append(out, w.file(f.Name))
		}
	}
	w.set("input", w.literal("StdInput", stdin))
	if strings.HasPrefix(j.StdInput, "/") {
		w.set("transfer_input", "false")
	}
	w.set("output", w.literal("StdOutput", j.StdOutput))
	w.set("error", w.literal("StdError", j.StdError))
	w.set("should_transfer_files", "YES")
	w.set("when_to_transfer_output", "ON_EXIT")
	w.set("transfer_input_files", strings.Join(in, ","))
	if !all {
		w.b.WriteString("transfer_output_files = " + quotedIfEmpty(strings.Join(out, ",")) + "\n")
	}
	if len(remaps) > 0 {
		w.set("transfer_output_remaps", `"`+strings.Join(remaps, ";")+`"`)
	}
}

// place is a name or a URL in a list whose pairs = and ; part.
func (w *writer) place(s string) string {
	if strings.ContainsAny(s, `"`) || strings.TrimSpace(s) != s {
		w.fail("file %q: a submit description cannot name it", s)
	}
	return strings.NewReplacer(`\`, `\\`, "=", `\=`, ";", `\;`).Replace(w.literal("file", s))
}

func quotedIfEmpty(s string) string {
	if s == "" {
		return `""` // none, where no command at all means every new file
	}
	return s
}

// kept writes what Read has kept of another submit description, and nothing else that stands in its place: a name could be a whole
// statement, which runs a program, or a command that has another meaning than the job.
func (w *writer) kept(j *jdl.Job) {
	ad := keptOf(j)
	if ad == nil {
		return
	}
	for _, a := range ad.Attrs() {
		s, isText := ad.EvalAttr(a.Name, nil).Str()
		switch {
		case !isText:
		case !isKept(classad.Fold(a.Name)):
			w.fail("%s: %q is no command that is kept for HTCondor alone", keptAttr, a.Name)
		case strings.Contains(classad.Fold(s), "$env("):
			w.fail("%s: %s would take a variable of whoever submits along: %q", keptAttr, a.Name, s)
		default:
			w.set(strings.Replace(a.Name, "+", "My.", 1), withDevice(j, a.Name, s))
		}
	}
}

// keptOf is the record of what Read has kept; nil where it kept nothing.
func keptOf(j *jdl.Job) *classad.Ad {
	if j.Ad == nil {
		return nil
	}
	e, _ := j.Ad.Expr(keptAttr)
	ad, _ := e.(*classad.Ad)
	return ad
}

// Bulk joins descriptions written by Write to one. A command that one of them
// has and another has not is emptied for that one.
func Bulk(descriptions ...[]byte) []byte {
	var names []string
	seen := map[string]bool{}
	for _, d := range descriptions {
		for _, name := range commandNames(d) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	var b strings.Builder
	for _, d := range descriptions {
		own := map[string]bool{}
		for _, name := range commandNames(d) {
			own[name] = true
		}
		for _, name := range names {
			if !own[name] {
				b.WriteString(name + " =\n")
			}
		}
		b.Write(d)
	}
	return []byte(b.String())
}

func commandNames(d []byte) []string {
	var names []string
	for line := range strings.Lines(string(d)) {
		if name, _, ok := strings.Cut(line, " ="); ok {
			names = append(names, name)
		}
	}
	return names
}

// placed reports whether HTCondor knows where an image lies that a job brings.
func placed(image string) bool {
	_, _, tagged := jdl.SplitImage(image)
	return tagged || image != "" && jdl.CheckImage(image) == ""
}
