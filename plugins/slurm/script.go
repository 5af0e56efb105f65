package slurm

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// words writes words.sh: the job's own words as functions that job.sh calls.
// Every word goes through quote. The caller has run unsuited first.
func words(job *jdl.Job) string {
	var b strings.Builder
	function(&b, "job_environment", "\n", environment(job))
	function(&b, "job_get", " &&\n", transfers("get", gets(job)))
	function(&b, "job_streams", " &&\n", streams(job))
	function(&b, "job_run", " &&\n", steps(job))
	function(&b, "job_put", " &&\n", transfers("put", puts(job)))
	return b.String()
}

func function(b *strings.Builder, name, sep string, lines []string) {
	if len(lines) == 0 {
		lines = []string{":"}
	}
	fmt.Fprintf(b, "%s() {\n%s\n}\n", name, strings.Join(lines, sep))
}

func environment(job *jdl.Job) []string {
	var lines []string
	for _, e := range job.Environment {
		lines = append(lines, "export "+e.Name+"="+quote(e.Value))
	}
	return lines
}

func gets(job *jdl.Job) [][2]string {
	var ps [][2]string
	for _, f := range job.InputSandbox {
		if remote(f) {
			ps = append(ps, [2]string{f.Source, f.Name})
		}
	}
	return ps
}

// remote reports whether the node fetches the file itself.
func remote(f jdl.InputFile) bool { return f.IsURL() && !strings.HasPrefix(f.Source, "file://") }

func puts(job *jdl.Job) [][2]string {
	var ps [][2]string
	for _, f := range job.OutputSandbox {
		if f.DestURL != "" {
			ps = append(ps, [2]string{f.Name, f.DestURL})
		}
	}
	return ps
}

func transfers(verb string, pairs [][2]string) []string {
	var lines []string
	for _, p := range pairs {
		lines = append(lines, verb+" "+quote(p[0])+" "+quote(p[1]))
	}
	return lines
}

// streams redirects the standard streams as the JDL asks; a stream that is not
// named is empty, or goes to the job's log.
func streams(job *jdl.Job) []string {
	var lines []string
	for _, name := range []string{job.StdOutput, job.StdError} {
		if d := path.Dir(name); name != "" && d != "." {
			lines = append(lines, "mkdir -p "+quote("./"+d))
		}
	}
	if job.StdInput != "" {
		lines = append(lines, "exec <"+quote(job.StdInput))
	}
	if job.StdOutput != "" {
		lines = append(lines, "exec >"+quote("./"+job.StdOutput))
	}
	switch {
	case job.StdError != "" && job.StdError == job.StdOutput:
		lines = append(lines, "exec 2>&1")
	case job.StdError != "":
		lines = append(lines, "exec 2>"+quote("./"+job.StdError))
	}
	return lines
}

func steps(job *jdl.Job) []string {
	var lines []string
	add := func(prog string, args []string) {
		if prog == "" {
			return
		}
		line := "step " + quote(prog)
		for _, a := range args {
			line += " " + quote(a)
		}
		lines = append(lines, line)
	}
	add(job.Prologue, job.PrologueArgs)
	add(job.Executable, job.Args)
	add(job.Epilogue, job.EpilogueArgs)
	return lines
}

// outputs lists what Fetch brings when it is told no names: the output sandbox
// that nobody else gets, and standard output and error, listed or not.
func outputs(job *jdl.Job) []string {
	var names []string
	for _, f := range job.OutputSandbox {
		if f.DestURL == "" {
			names = append(names, f.Name)
		}
	}
	for _, name := range []string{job.StdOutput, job.StdError} {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// unsuited says why the job cannot be run as described, "" if it can.
func unsuited(req plugins.Request) string {
	job := req.Job
	for _, e := range job.Environment {
		if !identifier(e.Name) {
			return fmt.Sprintf("environment variable %q has no valid name", e.Name)
		}
	}
	names := []string{job.StdOutput, job.StdError}
	for _, f := range job.InputSandbox {
		names = append(names, f.Name)
	}
	for _, f := range job.OutputSandbox {
		names = append(names, f.Name)
	}
	for _, name := range names {
		if name != "" && !safeName(name) {
			return fmt.Sprintf("file name %q would leave the job's directory or holds a control character", name)
		}
	}
	if strings.ContainsRune(words(job), 0) {
		return "a word of the job holds a zero byte"
	}
	return ""
}

// safeName reports whether a name stays below the job's directory and fits on
// one line of a list.
func safeName(name string) bool {
	clean := path.Clean(name)
	return !path.IsAbs(name) && clean != ".." && !strings.HasPrefix(clean, "../") && clean != "." &&
		!strings.HasPrefix(name, "-") && name == strings.TrimSpace(name) && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// sbatchArgs are the options of sbatch for one job, job name and array aside.
// Jobs with equal options can go as one array.
func sbatchArgs(req plugins.Request, extra []string) ([]string, error) {
	d, r := req.Job.Demand, req.Resource
	args := []string{"--output=/dev/null", "--no-requeue", "--comment=gridbroker", "--export=ALL"}
	queue := d.Queue
	if r != nil && r.Queue != "" {
		queue = r.Queue
	}
	if queue != "" {
		args = append(args, "--partition="+queue)
	}
	number := func(option string, n int64) {
		if n > 0 {
			args = append(args, option+"="+strconv.FormatInt(n, 10))
		}
	}
	number("--time", int64(math.Ceil(d.WallTime.Minutes())))
	number("--ntasks", int64(d.Slots))
	number("--nodes", int64(d.Nodes))
	number("--ntasks-per-node", int64(d.SlotsPerNode))
	number("--mem", d.Memory)
	number("--tmp", d.Disk)
	if d.GPUs > 0 {
		args = append(args, "--gres=gpu:"+strconv.Itoa(d.GPUs))
	}
	if d.WholeNodes {
		args = append(args, "--exclusive")
	}
	if tags := features(req); len(tags) > 0 {
		args = append(args, "--constraint="+strings.Join(tags, "&"))
	}
	args = append(args, extra...)
	for _, a := range args {
		if strings.ContainsAny(a, "\n\r\x00") {
			return nil, fmt.Errorf("option %q holds a line break", a)
		}
	}
	return args, nil
}

// features are the runtime environments the job asks for that the partition
// publishes as features of its nodes.
func features(req plugins.Request) []string {
	var tags []string
	for _, want := range req.Job.Demand.RuntimeEnvironments {
		if req.Resource == nil {
			continue
		}
		i := slices.IndexFunc(req.Resource.RuntimeEnvironments, func(t string) bool { return strings.EqualFold(t, want) })
		if i >= 0 && plain(req.Resource.RuntimeEnvironments[i]) {
			tags = append(tags, req.Resource.RuntimeEnvironments[i])
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// tooLong reports whether the job asks for more time than the partition
// gives: Slurm would take it and never start it.
func tooLong(req plugins.Request) bool {
	r := req.Resource
	return r != nil && r.MaxWallTime.OK && r.MaxWallTime.V > 0 &&
		req.Job.Demand.WallTime > r.MaxWallTime.V.Round(time.Minute)
}
