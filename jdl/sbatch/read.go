package sbatch

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// Read reads a script for Slurm as records, one for each task of its array. The
// script itself is the job's program and its only input file; all that it leaves
// in its directory is brought back. Its options (#SBATCH) become what the job
// asks for; those that nothing but Slurm acts on are warnings, a dependency on
// another job is an error. The job's number is not known beforehand and is 0
// where a name of a file has it. The error is a *classad.Diagnostic.
func Read(file string, src []byte, warn func(*classad.Diagnostic)) ([]*classad.Ad, error) {
	r := &reader{file: file, src: string(src), seen: map[string]option{}}
	if warn != nil {
		r.warn = classad.Warnings(r.src, warn)
	}
	s, err := parse(r.src)
	if bad, ok := errors.AsType[*optionError](err); ok {
		return nil, r.diagnostic(classad.Fatal, bad.pos, "%s", bad.msg).ShowLine(r.src)
	}
	if strings.HasPrefix(r.src, "\ufeff") {
		return nil, r.diagnostic(classad.Fatal, classad.Pos{Line: 1, Col: 1}, "the script begins with a byte order mark, with which sbatch and nodes take it for no script: LC_ALL=C sed -i '1s/^...//' %s", file)
	}
	if at := strings.Index(r.src, "\r\n"); at >= 0 {
		pos := classad.Pos{Line: 1 + strings.Count(r.src[:at], "\n"), Col: 1}
		return nil, r.diagnostic(classad.Fatal, pos, "the script has DOS line breaks, which sbatch refuses and shells take for part of words: sed -i 's/\\r$//' %s", file).ShowLine(r.src)
	}
	for _, o := range s.options {
		r.seen[o.name] = o // as with sbatch, the last one holds
	}
	all, limit, err := r.array()
	if err != nil {
		return nil, err
	}
	ads := make([]*classad.Ad, 0, len(all))
	for i, task := range all {
		if i > 0 {
			r.warn = nil // the same was said of the first
		}
		r.task = task
		r.b = jdl.Builder{Ad: classad.Placed(classad.NewAd(), classad.Pos{Line: 1, Col: 1}), Pos: classad.Pos{Line: 1, Col: 1}}
		r.read(s)
		if r.err != nil {
			return nil, r.err
		}
		ads = append(ads, r.b.Ad)
	}
	if len(ads) > 1 {
		return []*classad.Ad{jdl.Together(r.name(), ads, limit, r.seen["array"].pos)}, nil
	}
	return ads, nil
}

// task is one of an array's; count is 0 where there is no array.
type task struct{ index, least, most, step, count int64 }

// stepOf is the step of an array that is one range, 0-15:4.
func stepOf(array string) int64 {
	array, _, _ = strings.Cut(array, "%")
	_, by, _ := strings.Cut(array, ":")
	if n, err := strconv.ParseInt(by, 10, 32); err == nil {
		return n
	}
	return 1
}

type reader struct {
	file, src string
	warn      func(*classad.Diagnostic)
	seen      map[string]option
	task      task
	b         jdl.Builder
	err       error
	slots     int64
	nodes     int64
}

func (r *reader) diagnostic(s classad.Severity, pos classad.Pos, format string, args ...any) *classad.Diagnostic {
	return &classad.Diagnostic{Severity: s, File: r.file, Pos: pos, Code: "sbatch", Msg: fmt.Sprintf(format, args...)}
}

func (r *reader) fail(pos classad.Pos, format string, args ...any) {
	if r.err == nil {
		r.err = r.diagnostic(classad.Fatal, pos, format, args...).ShowLine(r.src)
	}
}

func (r *reader) tell(pos classad.Pos, format string, args ...any) {
	if r.warn != nil {
		d := r.diagnostic(classad.Warning, pos, format, args...)
		d.Code = "not-used"
		r.warn(d)
	}
}

// array lists the tasks, one without a number where there is no array, and says how many may run at once; 0: all.
func (r *reader) array() ([]task, int64, error) {
	o, ok := r.seen["array"]
	if !ok {
		return []task{{}}, 0, nil
	}
	list, limit, err := tasks(o.value)
	if err != nil {
		return nil, 0, r.diagnostic(classad.Fatal, o.pos, "--array: %v", err).ShowLine(r.src)
	}
	all := task{least: slices.Min(list), most: slices.Max(list), step: stepOf(o.value), count: int64(len(list))}
	out := make([]task, len(list))
	for i, n := range list {
		out[i] = all
		out[i].index = n
	}
	return out, limit, nil
}

// get is the value of an option; its place becomes that of what is built next.
func (r *reader) get(name string) string {
	o, ok := r.seen[name]
	if ok {
		r.b.Pos = o.pos
	}
	return o.value
}

// number is the value of an option that is a whole number, 0 where it is not given.
func (r *reader) number(name string) int64 {
	s := r.get(name)
	if s == "" {
		return 0
	}
	n, err := parseCount(s)
	if err != nil {
		r.fail(r.b.Pos, "--%s: %v", name, err)
	}
	return n
}

// name is what the job is called, and its array as a whole.
func (r *reader) name() string { return cmp.Or(r.get("job-name"), path.Base(r.file)) }

func (r *reader) read(s script) {
	refused(r)
	program := path.Base(r.file)
	name := r.name()
	if r.b.Str("JobName", name); r.task.count > 0 {
		r.b.Str("JobName", fmt.Sprintf("%s-%d", name, r.task.index)) // tells it from the others
	}
	r.b.Pos = classad.Pos{Line: 1, Col: 1}
	r.b.Str("Executable", program)
	r.b.Input("", program, true)
	r.b.Output("/", "")
	r.streams(name)
	r.environment(s, name)
	r.processors()
	r.accelerators()
	r.limits()
	r.features()
	r.image()
	r.others(s)
	r.b.Pos = classad.Pos{Line: 1, Col: 1}
	r.b.Finish(program)
}

var pattern = regexp.MustCompile(`%(?:%|[0-9]*[A-Za-z])`)

// maxDigits is how far sbatch fills a number up with zeros.
const maxDigits = 10

// fileName replaces what sbatch replaces in the name of a file.
func (r *reader) fileName(s, job string) string {
	return pattern.ReplaceAllStringFunc(s, func(p string) string {
		number := int64(0)
		switch p[len(p)-1] {
		case '%':
			return "%"
		case 'x':
			return job
		case 'a':
			number = r.task.index
		}
		digits, _ := strconv.Atoi(p[1 : len(p)-1])
		return fmt.Sprintf("%0*d", min(digits, maxDigits), number)
	})
}

// streams reads where standard output and error go: one file for both, unless
// --error names another one.
func (r *reader) streams(job string) {
	std := map[string]string{}
	for _, name := range []string{"input", "output", "error"} {
		value := r.fileName(r.get(name), job)
		if base := path.Base(value); value != "" && value != "/dev/null" && name != "input" {
			if base != value {
				r.tell(r.b.Pos, "--%s: %s comes back as %s", name, value, base)
			}
			value = base
		}
		std[name] = value
	}
	out := std["output"]
	if out == "" {
		out = "slurm-0.out"
		if r.task.count > 0 {
			out = fmt.Sprintf("slurm-0_%d.out", r.task.index)
		}
	}
	if out != "/dev/null" {
		r.b.Str("StdOutput", out)
	}
	if e := cmp.Or(std["error"], out); e != "/dev/null" {
		r.b.Str("StdError", e)
	}
	if in := std["input"]; in != "" && in != "/dev/null" {
		r.get("input")
		if !strings.HasPrefix(in, "/") {
			r.b.Input(in, path.Base(in), false)
			in = path.Base(in)
		}
		r.b.Str("StdInput", in)
	}
}

// environment reads --export, and gives the job those of Slurm's variables that
// the script uses and the options tell.
func (r *reader) environment(s script, job string) {
	value := r.get("export")
	for part := range strings.SplitSeq(value, ",") {
		switch name, _, has := strings.Cut(part, "="); {
		case has && jdl.IsName(name):
			r.b.Add("Environment", part)
		case part == "" || strings.EqualFold(part, "NONE") || strings.EqualFold(part, "NIL"):
		default:
			r.tell(r.b.Pos, "--export: %s of your shell is not taken along: name its value", part)
		}
	}
	known := map[string]string{"SLURM_JOB_NAME": job, "SLURM_SUBMIT_DIR": "."} // where it starts: else "cd $SLURM_SUBMIT_DIR" goes home
	if t := r.task; t.count > 0 {
		for name, n := range map[string]int64{"ID": t.index, "MIN": t.least, "MAX": t.most, "STEP": t.step, "COUNT": t.count} {
			known["SLURM_ARRAY_TASK_"+name] = strconv.FormatInt(n, 10)
		}
		known[arrayID] = "0" // as %A in names of files: tasks that are sent apart have none in common
	}
	for _, v := range [][2]string{{"SLURM_NTASKS", "ntasks"}, {"SLURM_CPUS_PER_TASK", "cpus-per-task"}, {"SLURM_NTASKS_PER_NODE", "ntasks-per-node"}} {
		if n := r.number(v[1]); n > 0 {
			known[v[0]] = strconv.FormatInt(n, 10)
		}
	}
	r.b.Pos = classad.Pos{Line: 1, Col: 1}
	for _, name := range r.used(s, known) {
		r.b.Add("Environment", name+"="+known[name])
	}
}

const arrayID = "SLURM_ARRAY_JOB_ID"

var slurmVariable = regexp.MustCompile(`\bSLURM_[A-Z_]+\b`)

// used are the known variables that the commands name; of others it is said that
// only Slurm sets them.
func (r *reader) used(s script, known map[string]string) []string {
	var out, other []string
	for _, l := range s.body {
		for _, name := range slurmVariable.FindAllString(l.text, -1) {
			switch _, ok := known[name]; {
			case ok && !slices.Contains(out, name):
				switch out = append(out, name); name {
				case "SLURM_SUBMIT_DIR":
					r.tell(l.pos, "%s is %q, where the job starts: whoever changes the directory keeps $PWD before", name, known[name])
				case arrayID:
					r.tell(l.pos, "%s is 0: the tasks are sent as jobs of their own", name)
				}
			case !ok && !slices.Contains(other, name):
				other = append(other, name)
				r.tell(l.pos, "%s is set by Slurm alone", name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// processors reads tasks, processors and nodes.
func (r *reader) processors() {
	tasks, each, perNode := r.number("ntasks"), max(1, r.number("cpus-per-task")), r.number("ntasks-per-node")
	r.nodes = 0
	if s := r.get("nodes"); s != "" {
		n, ranged, err := parseNodes(s)
		if err != nil {
			r.fail(r.b.Pos, "--nodes: %v", err)
		}
		if r.nodes = n; ranged {
			r.tell(r.b.Pos, "--nodes: the most of %s is not used", s)
		}
	}
	if tasks == 0 {
		tasks = max(1, r.nodes) * max(1, perNode)
	}
	r.slots = tasks * each
	if r.slots > 1 {
		r.b.Number("CPUNumber", r.slots)
	}
	r.b.Number("HostNumber", r.nodes)
	_, whole := r.seen["exclusive"]
	switch {
	case r.nodes > 0 && !whole: // how many of the slots are on a node follows
	case perNode > 0:
		r.b.Number("SMPGranularity", perNode*each)
	case each > 1:
		r.b.Number("SMPGranularity", each)
	}
	if whole {
		r.b.Pos = r.seen["exclusive"].pos
		r.b.Set("WholeNodes", classad.BoolValue(true))
	}
}

// perNode is how many of the job's slots are on one node, at most.
func (r *reader) perNode() int64 { return max(1, (r.slots+max(1, r.nodes)-1)/max(1, r.nodes)) }

// limits reads times, memory, disk and the partition.
func (r *reader) limits() {
	if s := r.get("time"); s != "" {
		d, err := parseTime(s)
		if err != nil {
			r.fail(r.b.Pos, "--time: %v", err)
		} else if d == 0 {
			r.tell(r.b.Pos, "--time: that there is no limit cannot be said: the queue's own holds")
		}
		r.b.Number("WallTime", jdl.Seconds(d))
	}
	r.memoryOnce()
	for _, m := range []struct {
		option, attribute string
		over              int64 // that of so many slots
	}{{"mem", "Memory", r.perNode()}, {"mem-per-cpu", "Memory", 1}, {"tmp", "Disk", 1}} {
		s := r.get(m.option)
		if s == "" {
			continue
		}
		mb, err := parseMemory(s)
		if err != nil {
			r.fail(r.b.Pos, "--%s: %v", m.option, err)
		}
		if mb == 0 {
			r.tell(r.b.Pos, "--%s=0: all that the node has cannot be asked for", m.option)
		}
		r.b.Number(m.attribute, (mb+m.over-1)/m.over)
	}
	switch names := strings.Split(r.get("partition"), ","); {
	case len(names) > 1:
		for i, name := range names {
			names[i] = "other.GlueCEName == " + jdl.Quote(name)
		}
		r.b.Require("(" + strings.Join(names, " || ") + ")")
	default:
		r.b.Str("Queue", names[0])
	}
}

// accelerators reads the GPUs, of the whole job.
func (r *reader) accelerators() {
	total, types := int64(0), []string(nil)
	add := func(name, value string, times int64) {
		w, err := gpus(value)
		if err != nil {
			r.fail(r.b.Pos, "--%s: %v", name, err)
		}
		total = max(total, w.n*times)
		switch {
		case len(w.types) == 0:
		case w.alike && types == nil:
			types = w.types
		case !w.alike || !slices.Equal(types, w.types):
			r.tell(r.b.Pos, "--%s: the kind of GPU in %s is not used: one kind can be asked for, or as many of each", name, value)
		}
	}
	for _, o := range []struct {
		name  string
		times int64
	}{{"gpus", 1}, {"gpus-per-node", max(1, r.nodes)}, {"gpus-per-task", max(1, r.slots/max(1, r.number("cpus-per-task")))}} {
		if s := r.get(o.name); s != "" {
			add(o.name, s, o.times)
		}
	}
	if s := r.get("gres"); s != "" {
		gpu, other := generic(s)
		if len(gpu) > 0 {
			add("gres", strings.Join(gpu, ","), max(1, r.nodes))
		}
		if len(other) > 0 && s != "none" {
			r.tell(r.b.Pos, "--gres: %s is not used", strings.Join(other, ","))
		}
	}
	if total > 0 {
		r.b.Number("GPUNumber", total)
	}
	for _, name := range types {
		r.b.Add("RunTimeEnvironment", jdl.GPUTag+name)
	}
	r.perGPU(total)
}

// memoryOnce refuses memory that is asked for in two ways, as sbatch does.
func (r *reader) memoryOnce() {
	var given []string
	for _, option := range []string{"mem", "mem-per-cpu", "mem-per-gpu"} {
		if r.get(option) != "" {
			given = append(given, "--"+option)
		}
	}
	if len(given) > 1 {
		r.fail(r.b.Pos, "%s exclude each other", strings.Join(given, " and "))
	}
}

// perGPU reads processors and memory that are asked for with every GPU.
func (r *reader) perGPU(gpus int64) {
	if n := r.number("cpus-per-gpu"); n*gpus > r.slots {
		r.slots = n * gpus
		r.b.Number("CPUNumber", r.slots)
	}
	s := r.get("mem-per-gpu")
	if s == "" {
		return
	}
	mb, err := parseMemory(s)
	if err != nil {
		r.fail(r.b.Pos, "--mem-per-gpu: %v", err)
	}
	if gpus == 0 {
		r.tell(r.b.Pos, "--mem-per-gpu is not used: no GPU is asked for")
	}
	r.b.Number("Memory", (mb*gpus+r.slots-1)/r.slots)
}

// features reads --constraint: names of environments that a cluster deploys are
// asked for, other features are Slurm's.
func (r *reader) features() {
	s := r.get("constraint")
	if s == "" {
		return
	}
	for part := range strings.SplitSeq(s, "&") {
		if isDeployed(part) && isDirectiveWord(part) {
			r.b.Add("RunTimeEnvironment", part)
		} else {
			r.tell(r.b.Pos, "--constraint: %s is a feature of nodes that only Slurm knows", part)
		}
	}
}

// image is that of --container-image, which the plug-in pyxis has: [docker://][REGISTRY#]NAME[:TAG].
func (r *reader) image() {
	if o, ok := r.seen["container"]; ok {
		r.fail(o.pos, "--container: a bundle is started by Slurm alone: name an image, --container-image=docker://HOST/NAME:TAG")
	}
	given := r.get("container-image")
	if given == "" {
		return
	}
	image := jdl.WholeImage(given)
	if name := strings.TrimPrefix(given, "docker://"); !strings.Contains(name, "://") && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, ".") {
		image = jdl.WholeImage("docker://" + strings.Replace(name, "#", "/", 1))
	}
	if _, _, tagged := jdl.SplitImage(image); !tagged {
		if why := jdl.CheckImage(image); why != "" {
			r.fail(r.b.Pos, "--container-image %s: %s", given, why)
			return
		}
	}
	r.b.Str("ContainerImage", image)
}

// readOptions are those that become part of the job.
var readOptions = []string{"job-name", "output", "error", "input", "array", "export", "ntasks", "cpus-per-task", "ntasks-per-node", "nodes", "exclusive",
	"time", "mem", "mem-per-cpu", "tmp", "partition", "gpus", "gpus-per-node", "gpus-per-task", "gres", "constraint", "cpus-per-gpu", "mem-per-gpu", "container-image"}

// ofNoMeaning are those that concern sbatch itself.
var ofNoMeaning = []string{"parsable", "quiet", "verbose", "wait", "comment", "ignore-pbs", "get-user-env", "test-only", "kill-on-invalid-dep", "open-mode"}

var slurmCommand = regexp.MustCompile(`(?:^|[;&|(]|\bexec\s)\s*(srun|sbatch|scontrol|squeue|sbcast)\s`)

// others warns of what only Slurm acts on.
func (r *reader) others(s script) {
	if o, ok := r.seen["dependency"]; ok && strings.EqualFold(o.value, "singleton") {
		r.fail(o.pos, "--dependency=singleton: nothing here keeps two jobs of one name apart: describe a DAG, or send the next one when this has ended")
	} else if ok {
		r.fail(o.pos, "--dependency: only JDL can say that a job waits for another one: describe a DAG")
	}
	for _, o := range s.options {
		if !slices.Contains(readOptions, o.name) && !slices.Contains(ofNoMeaning, o.name) {
			r.tell(o.pos, "--%s is not used", o.name)
		}
	}
	for _, o := range s.equals {
		r.tell(o.pos, "%s=%s is read as %s %s; sbatch takes the = for a part of the value", o.name, o.value, o.name, o.value)
	}
	for _, at := range s.cut {
		r.tell(at, `sbatch ends the options at a #, in the middle of a word, too: write \# where it belongs to it`)
	}
	for _, at := range s.ignored {
		r.tell(at, "sbatch does not read options below the first command")
	}
	for _, l := range s.body {
		if m := slurmCommand.FindStringSubmatch(l.text); m != nil {
			r.tell(l.pos, "%s is a command of Slurm: elsewhere it is not there", m[1])
			break
		}
	}
}
