package remote

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// words writes words.sh: the names of the job's files, then its own words as
// functions that steps.sh calls. Every word goes through quote. The caller has
// run unsuited first. A job has few files at the site, since making one costs a
// file server more than writing it.
func words(req plugins.Request, n Nodes) string {
	job := req.Job
	var b strings.Builder
	b.WriteString(namesOf(job).text())
	function(&b, "job_inside", "\n", n.inside(req))
	function(&b, "job_environment", "\n", variables(job, n.cache))
	function(&b, "job_get", " &&\n", transfers("get", gets(job)))
	function(&b, "job_streams", " &&\n", streams(job))
	function(&b, "job_run", "\n", steps(job))
	function(&b, "job_put", " &&\n", transfers("put", puts(job)))
	return b.String()
}

func function(b *strings.Builder, name, sep string, lines []string) {
	if len(lines) == 0 {
		lines = []string{":"}
	}
	fmt.Fprintf(b, "%s() {\n%s\n}\n", name, strings.Join(lines, sep))
}

func variables(job *jdl.Job, cache string) []string {
	var lines []string
	for _, e := range job.Environment {
		lines = append(lines, `export "${given}`+e.Name+`="`+quote(Streamed(cache, e.Name, e.Value)))
		if plugins.IsBrokerInfoVariable(e) {
			lines = append(lines, `[ -n "$given" ] || export `+e.Name+`="$PWD/"`+quote(e.Value))
		}
	}
	return lines
}

func gets(job *jdl.Job) [][2]string {
	var ps [][2]string
	for _, f := range job.InputSandbox {
		if f.IsURL() {
			ps = append(ps, [2]string{f.Source, f.Name})
		}
	}
	return ps
}

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

// steps runs prologue, program and epilogue. The code is that of the program, or where that is 0 that of the epilogue.
func steps(job *jdl.Job) []string {
	line := func(how, program string, args []string) string {
		words := []string{how, quote(program)}
		for _, a := range args {
			words = append(words, quote(a))
		}
		return strings.Join(words, " ")
	}
	var lines []string
	if job.Prologue != "" {
		lines = append(lines, line("first", job.Prologue, job.PrologueArgs))
	}
	lines = append(lines, line("step", job.Executable, job.Args))
	if job.Epilogue != "" {
		lines = append(lines, "main=$?", line("last", job.Epilogue, job.EpilogueArgs))
	}
	return lines
}

// fileNames are those of a job's files: its streams, "" for none, and what Fetch
// brings when it is told no names. At the site they stand at the head of
// words.sh, where the shell passes over them.
type fileNames struct {
	stdout, stderr string
	outputs        []string
}

func namesOf(job *jdl.Job) fileNames {
	return fileNames{job.StdOutput, job.StdError, outputs(job)}
}

func (n fileNames) text() string {
	lines := []string{"#stdout " + n.stdout, "#stderr " + n.stderr}
	for _, name := range n.outputs {
		lines = append(lines, "#output "+name)
	}
	return Lines(lines)
}

// parseNames reads the head of a words.sh; ok is false where it has none, as
// that of a job which an older program has sent.
func parseNames(text string) (n fileNames, ok bool) {
	for line := range strings.Lines(text) {
		word, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case word == "#stdout" && found:
			n.stdout, ok = name, true
		case word == "#stderr" && found:
			n.stderr = name
		case word == "#output" && found:
			n.outputs = append(n.outputs, name)
		default:
			return n, ok
		}
	}
	return n, ok
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
		if name != "" && !SafeName(name) {
			return fmt.Sprintf("file name %q would leave the job's directory or holds a control character", name)
		}
	}
	if strings.ContainsRune(words(req, Nodes{}), 0) {
		return "a word of the job holds a zero byte"
	}
	return ""
}

// SafeName reports whether a name stays below the job's directory and fits on
// one line of a list.
func SafeName(name string) bool {
	clean := path.Clean(name)
	return !path.IsAbs(name) && clean != ".." && !strings.HasPrefix(clean, "../") && clean != "." &&
		!strings.HasPrefix(name, "-") && name == strings.TrimSpace(name) && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f })
}
