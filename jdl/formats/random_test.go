package formats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
)

// drawn draws descriptions of jobs: every attribute that the languages have a
// word for, with texts that mean something in one of them.
type drawn struct {
	*rand.Rand
	src strings.Builder
}

// awkward are texts with the characters that quote, separate, substitute or
// comment in JDL, xRSL, ADL, HTCondor's language, shell or sbatch.
var awkward = []string{
	"plain", "two words", " led by a blank", "ended by one ", "", `"`, `""`, `'`, `'it''s'`, `\`, `\\`, `a\"b`, "$HOME", "$(HOME)", "${HOME}", "$$", "$$(Memory)",
	"`id`", "%x-%j", "%%", "&<>;", "&amp;", "]]>", "<!-- -->", "(* no comment *)", "#no comment", "a#b", "=", "a=b", "^|x||y|", "+", "|", "(", ")", "{}", "[;]",
	",", "*", "~", "é", "日本", "-", "--", "-n", "queue", "queue 2", "//x", "/* x */", "\t", "a\tb",
}

func (d *drawn) one(of ...string) string { return of[d.IntN(len(of))] }

func (d *drawn) texts(most int) []string {
	out := make([]string, d.IntN(most+1))
	for i := range out {
		if out[i] = d.one(awkward...); d.IntN(4) == 0 {
			out[i] += d.one(awkward...)
		}
	}
	return out
}

// maybe sets an attribute two times of three.
func (d *drawn) maybe(name string, value any) {
	if d.IntN(3) > 0 {
		fmt.Fprintf(&d.src, "  %s = %v;\n", name, value)
	}
}

func quoted(texts ...string) string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = jdl.Quote(s)
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// arguments is the value of an attribute of words, quoted for a JDL.
func arguments(words []string) string {
	return jdl.Quote(jdl.JoinArgs(words))
}

// job draws one description.
func (d *drawn) job() string {
	d.src.Reset()
	d.src.WriteString("[\n")
	fmt.Fprintf(&d.src, "  Executable = %q;\n", d.one("/bin/ls", "run.sh", "echo", "tool", "/opt/a b/c"))
	if d.IntN(4) > 0 {
		fmt.Fprintf(&d.src, "  Arguments = %s;\n", arguments(d.texts(4)))
	}
	d.maybe("JobName", jdl.Quote("n"+d.one(awkward...)))
	d.streams()
	d.files()
	d.demand()
	var env []string
	for i, s := range d.texts(3) {
		env = append(env, fmt.Sprintf("V%d=%s", i, s))
	}
	if len(env) > 0 {
		fmt.Fprintf(&d.src, "  Environment = %s;\n", quoted(env...))
	}
	if d.IntN(3) == 0 {
		fmt.Fprintf(&d.src, "  Prologue = %q;\n  PrologueArguments = %s;\n", d.one("/bin/true", "run.sh"), arguments(d.texts(2)))
	}
	if d.IntN(3) == 0 {
		fmt.Fprintf(&d.src, "  Epilogue = %q;\n  EpilogueArguments = %s;\n", d.one("/bin/true", "run.sh"), arguments(d.texts(2)))
	}
	d.src.WriteString("]")
	return d.src.String()
}

func (d *drawn) streams() {
	d.maybe("StdInput", `"in"`)
	d.maybe("StdOutput", fmt.Sprintf("%q", d.one("out", "both", "o-1.txt")))
	d.maybe("StdError", fmt.Sprintf("%q", d.one("err", "both", "e_2.txt")))
}

func (d *drawn) files() {
	in := []string{"run.sh", "bin/tool", "in", "sub/data", "https://h.example/x/f", "gsiftp://h.example:2811/y/g"}
	d.Shuffle(len(in), func(i, k int) { in[i], in[k] = in[k], in[i] })
	in = append(in[:d.IntN(len(in))], "run.sh", "bin/tool", "in")
	slices.Sort(in)
	fmt.Fprintf(&d.src, "  InputSandbox = %s;\n", quoted(slices.Compact(in)...))
	d.maybe("OutputSandbox", quoted([]string{"r.txt", "*.log", "plots/", "d.dat"}[:1+d.IntN(4)]...))
}

func (d *drawn) demand() {
	d.maybe("CPUNumber", 1+d.IntN(9))
	d.maybe("SMPGranularity", 1+d.IntN(4))
	d.maybe("WholeNodes", d.one("true", "false"))
	d.maybe("WallTime", d.IntN(200000))
	d.maybe("CPUTime", d.IntN(200000))
	d.maybe("Memory", d.IntN(9000))
	d.maybe("Disk", d.IntN(9000))
	d.maybe("GPUNumber", d.IntN(3))
	d.maybe("RunTimeEnvironment", quoted([]string{"APPS/X-1.9", "VEE-Debian11", "APPS/Y>=2.1"}[:1+d.IntN(3)]...))
	d.maybe("Queue", d.one(`"long"`, `"a-b.c_d"`))
	d.maybe("RetryCount", d.IntN(8))
}

// draw parses a drawn job; nil where the description is one that is refused,
// which other tests are about.
func draw(seed uint64, opts ...jdl.Option) *jdl.Job {
	d := &drawn{Rand: rand.New(rand.NewPCG(seed, 1))}
	src := d.job()
	j, err := parseJob(fmt.Sprintf("seed %d", seed), []byte(src), opts...)
	if err != nil {
		return nil
	}
	return j
}

var drawnOptions = []jdl.Option{jdl.WithoutFiles(), jdl.WithRoot(allFiles{}), jdl.WithDir("/job")}

// TestNothingDrawnIsLost is TestNothingIsLostSilently over jobs whose texts
// mean something in the languages they are written in.
func TestNothingDrawnIsLost(t *testing.T) {
	n := 0
	for seed := range uint64(250) {
		j := draw(seed, drawnOptions...)
		if j == nil {
			continue
		}
		for f, l := range languages {
			checkLosses(t, f, l, j, drawnOptions...)
			n++
		}
		if t.Failed() {
			return
		}
	}
	if n < 500 {
		t.Errorf("only %d conversions", n)
	}
}

// TestDrawnAreStable: what is written is read and written again without a change, in every language and
// from each into each: no detour through another language adds or loses a word.
func TestDrawnAreStable(t *testing.T) {
	writers := map[Format]func(*jdl.Job) ([]byte, error){
		ADL:    func(j *jdl.Job) ([]byte, error) { return adl.Write(j, adl.Options{Lossy: true, Alone: true}) },
		XRSL:   func(j *jdl.Job) ([]byte, error) { return xrsl.Write(j, xrsl.Options{Lossy: true}) },
		Condor: func(j *jdl.Job) ([]byte, error) { return condor.Write(j, condor.Options{Lossy: true}) },
	}
	n := 0
	for seed := range uint64(250) {
		j := draw(seed, drawnOptions...)
		if j == nil {
			continue
		}
		for f, write := range writers {
			first, err := write(j)
			if err != nil {
				continue
			}
			again, err := parseJob("again", first, drawnOptions...)
			if err != nil {
				t.Fatalf("seed %d as %s: %v\n%s", seed, f, err, first)
			}
			if second, err := write(again); err != nil || string(second) != string(first) {
				t.Fatalf("seed %d as %s: %v\n%s\nbecame\n%s", seed, f, err, first, second)
			}
			n++
		}
	}
	if n < 250 {
		t.Errorf("only %d texts", n)
	}
}

// TestDrawnScripts: what a script for Slurm asks for is its job's demand, and its text is the same each time.
func TestDrawnScripts(t *testing.T) {
	n := 0
	for seed := range uint64(250) {
		j := draw(seed, drawnOptions...)
		if j == nil {
			continue
		}
		first, err := sbatch.Write(j, sbatch.Options{Lossy: true})
		if err != nil {
			continue
		}
		if second, err := sbatch.Write(j, sbatch.Options{Lossy: true}); err != nil || string(second) != string(first) {
			t.Fatalf("seed %d is written in two ways: %v", seed, err)
		}
		set, err := ParseJobsAs(Sbatch, "s.sh", first, drawnOptions...)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, first)
		}
		was, is := j.Demand, set.Jobs[0].Demand
		if was.Slots != is.Slots || was.GPUs != is.GPUs || was.WholeNodes != is.WholeNodes || was.Queue != is.Queue || is.WallTime < was.WallTime {
			t.Fatalf("seed %d: %+v became %+v\n%s", seed, was, is, first)
		}
		n++
	}
	if n < 100 {
		t.Errorf("only %d scripts", n)
	}
}
