package condor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// keptAttr is the attribute under which commands stay that only HTCondor
// understands: a record of texts.
const keptAttr = "CondorSubmit"

// Read reads a submit description as records, one for each job it queues; near has
// the files that it includes and takes lists from. The
// number of the cluster is not known beforehand and is 0. The error is a
// *classad.Diagnostic.
func Read(file string, src []byte, near *jdl.Nearby, warn func(*classad.Diagnostic)) ([]*classad.Ad, error) {
	procs, err := parse(file, src, near, warn)
	if err != nil {
		return nil, err
	}
	text := reader{file: file, src: string(src), left: &budget{left: maxText}}
	if warn != nil {
		text.warn = classad.Warnings(text.src, warn)
	}
	ads, err := records(text, procs)
	if err != nil || len(ads) < 2 {
		return ads, err
	}
	text.proc = &procs[0]
	name, most := together(text, procs), int64(0)
	if s := text.get("max_materialize"); s != "" {
		most = max(0, wholeNumber(s))
	}
	if name != "" || most > 0 {
		ads = []*classad.Ad{jdl.Together(name, ads, most, text.b.Pos)}
	}
	return ads, text.err
}

// records makes a record of each job.
func records(text reader, procs []proc) ([]*classad.Ad, error) {
	var ads []*classad.Ad
	text.checked = map[string]bool{}
	name := together(text, procs)
	for i := range procs {
		r := text
		if r.proc = &procs[i]; name != "" {
			r.nth = "-" + strconv.Itoa(i)
		}
		if i > 0 {
			r.warn = nil // the same was said of the first
		}
		r.b = jdl.Builder{Ad: classad.Placed(classad.NewAd(), procs[i].pos), Pos: procs[i].pos}
		if ads = append(ads, r.read()); r.err != nil {
			return nil, r.err
		}
		if r.all != nil {
			*r.all = append(*r.all, r.made)
		}
	}
	return ads, nil
}

type reader struct {
	file, src string
	dir       string // where names hang below; "": the description's
	proc      *proc
	nth       string // behind the name of one of several jobs: "-2"
	left      *budget
	warn      func(*classad.Diagnostic)
	b         jdl.Builder
	err       error
	kept      *classad.Ad
	checked   map[string]bool      // commands with their values that condor_submit takes
	made      map[string]string    // the job's names of the files that it leaves on this machine, by their paths here
	all       *[]map[string]string // made of each job; nil: nobody asks
}

func (r *reader) diagnostic(s classad.Severity, pos classad.Pos, code, format string, args ...any) *classad.Diagnostic {
	return &classad.Diagnostic{Severity: s, File: r.file, Pos: pos, Code: code, Msg: fmt.Sprintf(format, args...)}
}

func (r *reader) fail(pos classad.Pos, format string, args ...any) {
	if r.err == nil {
		r.err = r.diagnostic(classad.Fatal, pos, "condor", format, args...).ShowLine(r.src)
	}
}

func (r *reader) tell(pos classad.Pos, format string, args ...any) {
	if r.warn != nil {
		r.warn(r.diagnostic(classad.Warning, pos, "not-used", format, args...))
	}
}

// get is a command's value with macros replaced; its place becomes that of what
// is built next.
func (r *reader) get(names ...string) string {
	for _, name := range names {
		c, ok := r.proc.command(name)
		if !ok {
			continue
		}
		r.b.Pos = c.pos
		s, err := r.proc.expand(c.value, r.left)
		if err != nil {
			r.fail(c.pos, "%s: %v", name, err)
		}
		for _, variable := range r.proc.asked {
			r.tell(c.pos, "%s: $ENV(%s) is replaced by what the variable holds here, and goes along", name, variable)
		}
		r.proc.asked = nil
		return strings.TrimSpace(s)
	}
	return ""
}

// unquoted is a value that may stand in double quotes.
func unquoted(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

func (r *reader) read() *classad.Ad {
	r.universe()
	if name := batch(r); name != "" {
		r.b.Str("JobName", name+r.nth)
	}
	program := r.program()
	r.words()
	r.streams()
	r.files()
	r.requests()
	r.retries()
	r.others()
	r.b.Pos = r.proc.pos
	r.b.Finish(program)
	if r.kept != nil {
		r.b.Ad.Set(keptAttr, r.kept)
	}
	return r.b.Ad
}

// together is what all the jobs are called where they are several; "": they have names of their own, or none.
func together(r reader, procs []proc) string {
	if len(procs) < 2 {
		return ""
	}
	r.warn, r.proc = nil, &procs[0]
	name := batch(&r)
	if r.proc = &procs[len(procs)-1]; batch(&r) != name {
		return ""
	}
	return name
}

// batch is what the description calls the job.
func batch(r *reader) string {
	return unquoted(r.get("jobbatchname", "batch_name", "+jobbatchname"))
}

// instead is what stands here for a universe that is not supported.
func instead(universe string) string {
	switch universe {
	case "grid":
		return "; grid submit --site NAME says which computing element"
	case "parallel", "mpi":
		return "; request_cpus asks for processors of one node"
	case "local", "scheduler":
		return "; grid submit --info local: runs it on this machine"
	}
	return ""
}

func (r *reader) universe() {
	universe := classad.Fold(r.get("universe"))
	at, inImage := r.b.Pos, universe == "container" || universe == "docker"
	if !inImage && universe != "" && universe != "vanilla" && universe != "5" {
		r.fail(at, "universe %s is not supported: only vanilla, container and docker are%s", universe, instead(universe))
	}
	image, name, ok := r.image()
	if !ok {
		return
	}
	if image == "" && inImage {
		r.fail(at, "universe %s without a container_image or docker_image", universe)
	}
	image = jdl.WholeImage(image)
	if _, _, tagged := jdl.SplitImage(image); image != "" && !tagged {
		if why := jdl.CheckImage(image); why != "" {
			r.fail(r.b.Pos, "%s %s: %s", name, image, why)
			return
		}
	}
	r.b.Str("ContainerImage", image)
}

// oldImage is the attribute by which pools started jobs in images before there was a command for that.
const oldImage = "+singularityimage"

// image is the one that the job runs in, and the command that names it: HTCondor's own two and the attribute.
func (r *reader) image() (image, name string, ok bool) {
	for _, way := range []struct{ name, prefix string }{{"container_image", ""}, {"docker_image", "docker://"}, {oldImage, ""}} {
		text := r.get(way.name)
		given := unquoted(text)
		if given == "" || way.name == oldImage && given == text { // an expression, which a pool evaluates
			continue
		}
		if !strings.HasPrefix(given, way.prefix) {
			given = way.prefix + given
		}
		if image != "" && image != given {
			r.fail(r.b.Pos, "%s and %s exclude each other", way.name, name)
			return "", "", false
		}
		image, name = given, way.name
	}
	return image, name, true
}

// local is a file on this machine, as initialdir has it.
func (r *reader) local(name string) string {
	dir := r.get("initialdir", "initial_dir", "iwd", "job_iwd")
	return r.below(below(dir, name))
}

// below is a name in the directory that names hang below.
func (r *reader) below(name string) string { return below(r.dir, name) }

func below(dir, name string) string {
	if dir == "" || strings.HasPrefix(name, "/") || strings.Contains(name, "://") {
		return name
	}
	return path.Join(dir, name)
}

func yes(s string, def bool) bool {
	switch classad.Fold(s) {
	case "true", "yes", "1", "if_needed":
		return true
	case "false", "no", "0", "never":
		return false
	}
	return def
}

// program is the executable, which is copied to the node unless
// transfer_executable says otherwise; initialdir does not hold for it.
func (r *reader) program() string {
	written := r.get("executable")
	name, at := unquoted(written), r.b.Pos
	if name != written {
		r.tell(at, "executable: the quotes are left out, which HTCondor takes for a part of the name")
	}
	if image, _, _ := r.image(); name == "" && image != "" {
		r.fail(r.proc.pos, "the description has no executable: which program the image starts by itself is not known here")
	}
	if name == "" {
		r.fail(r.proc.pos, "the description has no executable")
		return ""
	}
	along := yes(r.get("transfer_executable"), true)
	if r.b.Pos = at; !along && !path.IsAbs(name) && r.proc.near.Has(name) {
		along = true
		r.tell(at, "transfer_executable is not used: %s is here and goes along, since elsewhere it is not there", name)
	}
	if !along {
		r.b.Pos = at
		r.b.Str("Executable", name)
		return "/" + name
	}
	r.b.Pos = at
	r.b.Str("Executable", path.Base(name))
	r.b.Input(r.below(name), path.Base(name), true)
	return path.Base(name)
}

// newer is the value of a command for the syntax in double quotes alone, or that of the one for both syntaxes.
func (r *reader) newer(name, both string) string {
	value := r.get(name)
	switch {
	case value == "":
		return both
	case both != "":
		r.fail(r.b.Pos, "%s excludes %s", name, strings.TrimSuffix(name, "2"))
	case len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"':
		r.fail(r.b.Pos, "%s: the value stands in double quotes", name)
	}
	return value
}

func (r *reader) words() {
	s := r.newer("arguments2", r.get("arguments", "args"))
	words, err := splitWords(s)
	if err != nil {
		r.fail(r.b.Pos, "arguments: %v", err)
	}
	r.b.Str("Arguments", jdl.JoinArgs(words))
	environment := r.newer("environment2", r.get("environment", "env"))
	pairs, err := splitEnvironment(environment)
	if err != nil {
		r.fail(r.b.Pos, "environment: %v", err)
	}
	if !r.room(costOfEntry, len(pairs)-freeEntries) {
		return
	}
	for _, pair := range pairs {
		if more := swallowed(environment, pair); more != "" {
			r.tell(r.b.Pos, "environment: %s is part of the value of %s, as HTCondor has it: in double quotes blanks part variables, without them semicolons",
				more, pair[:strings.IndexByte(pair, '=')])
		}
		r.b.Add("Environment", pair)
	}
	r.getenv(pairs)
}

// getenv takes variables of whoever submits along, where they are named.
func (r *reader) getenv(given []string) {
	s := r.get("getenv")
	if yes(s, false) {
		r.tell(r.b.Pos, "getenv is not used: name the variables, getenv = A, B")
		return
	}
	for _, name := range commas(s) {
		value := r.proc.near.Getenv(name)
		set := slices.ContainsFunc(given, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
		switch {
		case set || !yes(s, true):
		case !jdl.IsName(name):
			r.tell(r.b.Pos, "getenv: %s is not used: name the variables one by one", name)
		case value != "":
			r.b.Add("Environment", name+"="+value)
			r.tell(r.b.Pos, "getenv: %s goes along with what it holds here", name)
		}
	}
}

// retries reads max_retries: the job is run again when it fails.
func (r *reader) retries() {
	if s := r.get("max_retries"); s != "" {
		if n := wholeNumber(s); n > 0 {
			r.b.Number("RetryCount", n)
			r.b.Set("RetryOnExit", classad.BoolValue(true))
		}
	}
}

// known are the commands that need no word: read, or of no meaning here.
func known(name string) bool {
	switch name {
	case "universe", "executable", "arguments", "arguments2", "environment", "environment2", "env", "getenv", "input", "output", "error", "transfer_executable", "transfer_input",
		"transfer_input_files", "transferinputfiles", "public_input_files", "transfer_output_files", "transfer_output_remaps", "initialdir", "initial_dir", "should_transfer_files",
		"request_cpus", "requestcpus", "request_memory", "requestmemory", "request_disk", "requestdisk", "request_gpus", "max_retries",
		"allowed_execute_duration", "allowed_job_duration", "+maxruntime", "+requestruntime", "jobbatchname", "batch_name", "+jobbatchname",
		"log", "notification", "notify_user", "when_to_transfer_output", "stream_output", "stream_error", "x509userproxy",
		"use_x509userproxy", "transfer_output", "transfer_error", "container_image", "docker_image", "transfer_container", "leave_in_queue",
		"args", "stdin", "stdout", "stderr", "iwd", "job_iwd", "requestgpus", "shouldtransferfiles", "transferoutputfiles", "whentotransferoutput",
		"max_materialize", "max_idle", "copy_to_spool", "dag_node_name", "job", "retry", "dag_parent_names", "dagmanjobid":
		return true
	}
	return false
}

// keptNames are commands that are kept for HTCondor alone.
var keptNames = []string{"requirements", "rank", "accounting_group", "accounting_group_user", "priority", "concurrency_limits",
	"success_exit_code", "retry_until", "nice_user", "hold", "require_gpus", "job_max_vacate_time", "output_destination"}

// isKept reports whether a command, folded, is one that is only kept.
func isKept(name string) bool {
	for _, begin := range []string{"+", "periodic_", "on_exit_", "gpus_"} {
		if rest, ok := strings.CutPrefix(name, begin); ok && rest != "" {
			return strings.TrimLeftFunc(rest, inMacroName) == ""
		}
	}
	return slices.Contains(keptNames, name)
}

// room counts commands, or what costs as much as some, that a job has beyond those that are free.
func (r *reader) room(cost, n int) bool {
	if r.left.commands += cost * max(0, n); r.left.commands > maxCommands {
		r.fail(r.proc.pos, "the jobs have more than %d commands together; each file, variable and command that is only kept counts as %d, and the first few of each job as none", maxCommands, costOfEntry)
	}
	return r.err == nil
}

// others keeps what only HTCondor understands, and warns of what it is that
// nothing here acts on.
func (r *reader) others() {
	r.proc.lets = true // nothing here acts on them
	defer func() { r.proc.lets = false }()
	if !r.room(1, len(r.proc.commands)-freeCommands) {
		return
	}
	for _, c := range r.proc.commands {
		if refused(r, c) {
			return
		}
		if known(c.name) || r.proc.used[c.name] || r.proc.about[c.name] {
			continue
		}
		value := r.get(c.name)
		if c.name == oldImage && value != unquoted(value) { // the job's image
			continue
		}
		if c.name == requireGPUs && device(r) {
			continue
		}
		if !isKept(c.name) {
			r.tell(c.pos, "%s is not used", c.name)
			continue
		}
		if !r.limits(c.name) {
			r.tell(c.pos, "%s is only kept for HTCondor", c.name)
		}
		if r.kept == nil {
			r.kept = classad.NewAd()
		}
		if len(r.kept.Attrs()) >= freeEntries && !r.room(costOfEntry, 1) {
			return
		}
		r.kept.Set(c.name, classad.NewLiteral(classad.StringValue(value)))
	}
}
