package formats

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
)

// language is one that jobs are converted to.
type language struct {
	write   func(j *jdl.Job, lossy bool) ([]byte, error)
	losses  func(*jdl.Job) []*classad.Diagnostic
	written func(*jdl.Job) []string
	script  bool // what is read again is the demand alone: the rest is in the script
}

var languages = map[Format]language{
	ADL: {func(j *jdl.Job, lossy bool) ([]byte, error) {
		return adl.Write(j, adl.Options{Lossy: lossy, Alone: true})
	}, adl.Losses, adl.Written, false},
	XRSL:   {func(j *jdl.Job, lossy bool) ([]byte, error) { return xrsl.Write(j, xrsl.Options{Lossy: lossy}) }, xrsl.Losses, xrsl.Written, false},
	Condor: {func(j *jdl.Job, lossy bool) ([]byte, error) { return condor.Write(j, condor.Options{Lossy: lossy}) }, condor.Losses, condor.Written, false},
	Sbatch: {func(j *jdl.Job, lossy bool) ([]byte, error) { return sbatch.Write(j, sbatch.Options{Lossy: lossy}) }, sbatch.Losses,
		func(*jdl.Job) []string { return nil }, true},
}

// facts are what a job says, by the attribute that says it.
func facts(j *jdl.Job) map[string]string {
	d := j.Demand
	out := map[string]string{}
	add := func(name string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "0" && s != "[]" && s != "false" && s != "0s" {
			out[name] = s
		}
	}
	add("WallTime", d.WallTime)
	add("CPUTime", d.CPUTime)
	add("Memory", d.Memory)
	add("VirtualMemory", d.VirtualMemory)
	add("Disk", d.Disk)
	add("HostNumber", d.Nodes)
	add("SMPGranularity", d.PerNode())
	add("WholeNodes", d.WholeNodes)
	add("RunTimeEnvironment", d.RuntimeEnvironments)
	add("Queue", d.Queue)
	add("GPUNumber", d.GPUs)
	if d.Slots > 1 {
		add("CPUNumber", d.Slots)
	}
	return out
}

// words are what a job says beside its demand.
func words(j *jdl.Job) map[string]string {
	out := map[string]string{}
	add := func(name string, v any) { out[name] = fmt.Sprintf("%q", v) }
	add("JobName", j.Name)
	program, args := j.Executable, j.Args
	if program == "/usr/bin/env" && len(args) > 0 { // how a name of the PATH is written
		program, args = args[0], args[1:]
	}
	add("Executable", program)
	add("Arguments", args)
	add("StdInput", j.StdInput)
	add("StdOutput", j.StdOutput)
	add("StdError", j.StdError)
	add("Environment", j.Environment)
	add("Prologue", append([]string{j.Prologue}, j.PrologueArgs...))
	add("Epilogue", append([]string{j.Epilogue}, j.EpilogueArgs...))
	in := []string{}
	for _, f := range j.InputSandbox {
		in = append(in, fmt.Sprint(f.Name, " ", f.Source, " ", f.Executable || f.Name == j.Executable))
	}
	slices.Sort(in)
	add("InputSandbox", in)
	add("OutputSandbox", brought(j))
	add("RetryCount", fmt.Sprint(j.RetryCount))
	backs := []string{}
	for _, f := range j.OutputSandbox {
		if f.Back != "" {
			backs = append(backs, f.Name+" "+f.Back)
		}
	}
	add("OutputSandboxDestFileName", backs)
	return out
}

// brought are the files a job is to leave; a pattern is the whole directory.
func brought(j *jdl.Job) []string {
	var out []string
	for _, f := range j.Outputs() {
		if f.IsPattern() {
			return []string{"*"}
		}
		out = append(out, f.Name+" "+f.DestURL)
	}
	slices.Sort(out)
	return out
}

// checkLosses converts a job to a language, and fails when something of it is
// neither there, nor in the error, nor in a warning.
func checkLosses(t *testing.T, f Format, l language, j *jdl.Job, opts ...jdl.Option) {
	t.Helper()
	said := map[string]bool{}
	notes := append(j.BrokerOnly(l.written(j)...), l.losses(j)...)
	if f == ADL {
		notes = append(notes, adl.Notes(j, "/job")...)
	}
	for _, d := range notes {
		name, _, _ := strings.Cut(strings.TrimPrefix(d.Msg, j.File+": "), ":")
		said[name] = true
	}
	text, err := l.write(j, true)
	if err != nil {
		if !namesAttribute(err.Error()) {
			t.Errorf("%s as %s is refused without a name: %v", j.File, f, err)
		}
		return
	}
	if strict, err := l.write(j, false); (err != nil) != (len(l.losses(j)) > 0) || err == nil && string(strict) != string(text) {
		t.Errorf("%s as %s: %d losses, and %v", j.File, f, len(l.losses(j)), err)
	}
	set, err := ParseJobsAs(f, "job.sh", text, opts...)
	if err != nil {
		t.Errorf("%s as %s is not read again: %v\n%s", j.File, f, err, text)
		return
	}
	again := set.Jobs[0]
	was, is := facts(j), facts(again)
	if !l.script {
		maps.Copy(was, words(j))
		maps.Copy(is, words(again))
	}
	for name, want := range was {
		if is[name] == want || said[name] || same(f, name, j, again, said) {
			continue
		}
		t.Errorf("%s as %s loses %s without a word: %s became %q\n%s", filepath.Base(j.File), f, name, want, is[name], text)
	}
}

// same reports whether what differs means the same, as docs/languages.md has it.
func same(f Format, name string, j, again *jdl.Job, said map[string]bool) bool {
	d, e := j.Demand, again.Demand
	switch name {
	case "JobName": // a label, without the blanks around it
		return f == Condor && strings.TrimSpace(j.Name) == again.Name
	case "RetryCount":
		return !j.Given(name)
	case "InputSandbox": // a file that only a hook needs executable
		return (said["Prologue"] || said["Epilogue"]) && len(j.InputSandbox) == len(again.InputSandbox)
	case "OutputSandbox":
		return brought(again)[0] == "*" || said["OutputSandboxDestURI"]
	case "HostNumber":
		return d.PerNode() == e.PerNode() // the number of nodes follows
	case "SMPGranularity":
		return said["HostNumber"] || f == Condor && d.PerNode() >= d.Slots // all on one machine, as there
	case "CPUTime": // implied by a wall time that is as long, or rounded up to minutes
		return e.WallTime >= d.CPUTime && e.CPUTime == 0 || f == XRSL && e.CPUTime >= d.CPUTime && e.CPUTime < d.CPUTime+time.Minute
	case "WallTime":
		return f != ADL && e.WallTime >= d.WallTime && e.WallTime < d.WallTime+time.Minute
	case "Disk": // GB in xRSL
		return f == XRSL && e.Disk >= d.Disk && e.Disk < d.Disk+1024
	}
	return false
}

// TestNothingIsLostSilently is over the samples, and over what people wrote where it is there.
func TestNothingIsLostSilently(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "jdl", "*.*"))
	field, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "jdl", "field", "*"))
	if len(field) < 6 {
		t.Errorf("%d samples of the field", len(field))
	}
	more, _ := filepath.Glob(filepath.Join(os.Getenv("GRID_TESTDATA"), "jdl-corpus", "*.jdl"))
	n := 0
	for _, path := range slices.Concat(field, paths, more) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		opts := []jdl.Option{jdl.WithoutFiles(), jdl.WithRoot(allFiles{}), jdl.WithDir("/job")}
		set, err := ParseJobs(path, src, opts...)
		if err != nil {
			if slices.Contains(field, path) {
				t.Error(err)
			}
			continue // what is refused is checked elsewhere
		}
		for f, l := range languages {
			for _, j := range set.Jobs[:min(len(set.Jobs), 3)] {
				checkLosses(t, f, l, j, opts...)
				n++
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d conversions", n)
	}
}

// namesAttribute reports whether a message says which attribute it is about.
func namesAttribute(msg string) bool {
	for _, name := range []string{"Arguments", "Environment", "StdOutput", "StdError", "StdInput", "Executable", "InputSandbox", "OutputSandbox", "file ", "Queue", "JobName", "JobBatchName"} {
		if strings.Contains(msg, name) {
			return true
		}
	}
	return false
}
