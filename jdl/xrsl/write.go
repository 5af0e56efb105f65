// Package xrsl reads and writes the Extended Resource Specification Language
// of ARC.
package xrsl

import (
	"fmt"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/arex"
	"gridbroker/jdl/classad"
)

// Options change what is written.
type Options struct {
	Lossy bool // leave out what Losses names, instead of failing
}

// Losses are what the job asks for and xRSL cannot say.
func Losses(j *jdl.Job) []*classad.Diagnostic {
	var out []*classad.Diagnostic
	if j.Demand.VirtualMemory > 0 {
		out = append(out, j.Loss("VirtualMemory", "", "xRSL cannot ask for virtual memory"))
	}
	if j.Demand.GPUs > 0 {
		out = append(out, j.Loss("GPUNumber", "ask for a queue or a runtime environment that has them", "xRSL cannot ask for GPUs"))
	}
	return append(append(out, j.LogicalLoss()...), j.ImageLoss()...)
}

// Written names what only a broker acts on and xRSL has a word for.
func Written(j *jdl.Job) []string {
	var out []string
	if j.RetryCount <= maxRerun {
		out = append(out, "RetryCount")
	}
	if _, whole := j.Wishes(); whole {
		out = append(out, "Requirements")
	}
	return out
}

// Write writes the job as an xRSL request, for arcsub. Times are rounded up to
// minutes, disk to GB. A prologue or epilogue is run by a small shell script
// around the program. Virtual memory, which xRSL cannot ask for, is an error.
// Requirements and Rank have no counterpart and are left
// out; what they demand is in.
func Write(j *jdl.Job, o Options) ([]byte, error) {
	d := j.Demand
	if err := jdl.LossError(Losses(j)); err != nil && !o.Lossy {
		return nil, err
	}
	for _, s := range j.Texts() {
		if strings.ContainsRune(s, 0) {
			return nil, fmt.Errorf("%q: xRSL cannot hold a NUL byte", s)
		}
	}
	program, args, env, err := arex.Command(j)
	if err != nil {
		return nil, err
	}
	w := xrslWriter{}
	w.b.WriteByte('&')
	w.texts("executable", program)
	w.texts("arguments", args...)
	w.texts("jobName", j.Name)
	w.one("stdin", j.StdInput)
	w.one("stdout", j.StdOutput)
	w.one("stderr", j.StdError)
	w.pairs("environment", envPairs(env))
	w.sandbox(j)
	w.demand(d)
	w.wishes(j)
	if j.Given("RetryCount") {
		w.texts("rerun", fmt.Sprint(min(j.RetryCount, maxRerun)))
	}
	return []byte(w.b.String()), nil
}

// Bulk joins requests written by Write to one text.
func Bulk(requests ...[]byte) []byte {
	out := []byte("+\n")
	for _, r := range requests {
		out = append(append(append(out, '('), r...), ")\n"...)
	}
	return out
}

type xrslWriter struct{ b strings.Builder }

// texts writes "(name = "a" "b")"; nothing without texts.
func (w *xrslWriter) texts(name string, texts ...string) { w.relation(name, "=", texts...) }

func (w *xrslWriter) relation(name, op string, texts ...string) {
	if len(texts) == 0 {
		return
	}
	if w.b.Len() > 1 {
		w.b.WriteByte(' ')
	}
	w.b.WriteString("(" + name + " " + op)
	for _, s := range texts {
		w.b.WriteString(" " + xrslQuote(s))
	}
	w.b.WriteString(")\n")
}

// one writes a text that is not empty.
func (w *xrslWriter) one(name, s string) {
	if s != "" {
		w.texts(name, s)
	}
}

func (w *xrslWriter) number(name string, n int64) {
	if n > 0 {
		w.texts(name, fmt.Sprint(n))
	}
}

func (w *xrslWriter) pairs(name string, pairs [][2]string) {
	if len(pairs) == 0 {
		return
	}
	w.b.WriteString(" (" + name + " =")
	for _, p := range pairs {
		w.b.WriteString(" (" + xrslQuote(p[0]) + " " + xrslQuote(p[1]) + ")")
	}
	w.b.WriteString(")\n")
}

func envPairs(vars []jdl.EnvVar) [][2]string {
	out := make([][2]string, len(vars))
	for i, v := range vars {
		out[i] = [2]string{v.Name, v.Value}
	}
	return out
}

func (w *xrslWriter) sandbox(j *jdl.Job) {
	var in, out [][2]string
	var programs []string
	for _, f := range j.InputSandbox {
		in = append(in, [2]string{f.Name, f.Source})
		if f.Executable {
			programs = append(programs, f.Name)
		}
	}
	all := false
	for _, f := range j.Outputs() {
		if f.IsPattern() { // xRSL has no patterns: the whole directory is kept
			all = true
			continue
		}
		out = append(out, [2]string{f.Name, f.DestURL})
	}
	if all {
		out = append(out, [2]string{"/", ""})
	}
	w.pairs("inputFiles", in)
	w.texts("executables", programs...)
	w.pairs("outputFiles", out)
}

func (w *xrslWriter) demand(d jdl.Demand) {
	w.number("wallTime", jdl.Minutes(d.WallTime))
	w.number("cpuTime", jdl.Minutes(d.CPUTime)*int64(max(1, d.Slots))) // of all slots together
	w.number("memory", d.Memory)
	w.number("disk", (d.Disk+1023)/1024)
	if d.Slots > 1 || d.PerNode() > 0 { // ARC takes countPerNode only beside count
		w.number("count", int64(max(1, d.Slots)))
	}
	w.number("countPerNode", int64(d.PerNode()))
	if d.WholeNodes {
		w.texts("exclusiveExecution", "yes")
	}
	w.one("queue", d.Queue)
	for _, tag := range d.RuntimeEnvironments {
		wish := jdl.ParseEnvironmentWish(tag)
		op := wish.Op
		if op == "" || op == "==" {
			op = "="
		}
		w.relation("runTimeEnvironment", op, append([]string{wish.Tag()}, d.RuntimeOptions[tag]...)...)
	}
}

// wishes writes the platform, host and network that Requirements ask for.
func (w *xrslWriter) wishes(j *jdl.Job) {
	wish, _ := j.Wishes()
	w.one("architecture", wish.Platform)
	w.one("cluster", wish.Host)
	var access []string
	if wish.Inbound {
		access = append(access, "inbound")
	}
	if wish.Outbound {
		access = append(access, "outbound")
	}
	w.texts("nodeAccess", access...)
}

// xrslQuote quotes a text; a quote in it is doubled.
func xrslQuote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
