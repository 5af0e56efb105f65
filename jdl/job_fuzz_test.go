package jdl

import (
	"bytes"
	"strings"
	"testing"
)

var fuzzOptions = []Option{
	WithRoot(allFiles{}), WithDir("/job"), WithMaxJobs(50), WithLimits(Limits{Bytes: 1 << 16, Depth: 50, Chain: 200}),
}

// dropSigns makes texts comparable but for the minus signs of constants: a
// printed "- 1" is read as the constant -1, and -0 as 0.
var dropSigns = strings.NewReplacer(" ", "", "-", "")

// FuzzParseJobs reads any bytes as JDL, xRSL, ADL or JSON. What is accepted
// must survive its own text, and each conversion that works must be readable.
func FuzzParseJobs(f *testing.F) {
	for _, s := range []string{
		fullJob, `Executable = "/bin/ls"; Arguments = "-l"; RetryCount = 3`,
		`JobName = x; Executable = ls; Site = LCG.CERN.ch; Parameters = 2; StdOutput = "o_%n";`,
		`JobType = "parametric"; Parameters = {a, "b"}; Executable = "/bin/_PARAM_"; n_PARAM_ = _PARAM_;`,
		`[ Type = "dag"; InputSandbox = "s"; Nodes = [ a = [ Executable = "/x"; InputSandbox = {root.InputSandbox[0]} ]; b = [ File = "f" ] ]; Dependencies = {{a, b}}; ]`,
		`Type = "collection"; Nodes = { [ Executable = "/x"; Requirements = other.GlueCEPolicyMaxCPUTime >= 5 ] };`,
		`&(executable=a)(arguments="b" 'c''d' ^|x|)(inputfiles=("f" ""))(cputime="1 hour")(* c *)(environment=(A b))`,
		`+(&(executable=/a))(&(rsl_substitution=(X y))(executable=$(X)))`,
		`<ActivityDescription><Application><Executable><Path>x</Path></Executable></Application></ActivityDescription>`,
		"&(executable=0)(arguments='\x00')", `{"Executable": "\u0000"}`,
		`{"Executable": "/bin/ls", "Requirements": "/Expr(other.a > 1)/", "l": [1, 2.5, null]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		Lint("f", src, fuzzOptions...)
		set, err := ParseJobs("f", src, fuzzOptions...)
		if err != nil {
			return
		}
		for _, j := range set.Jobs {
			again, err := LoadJob(j.Text())
			if err != nil {
				t.Fatalf("text: %v\n%s", err, j.Text())
			}
			if dropSigns.Replace(again.Text()) != dropSigns.Replace(j.Text()) {
				t.Fatalf("text changed:\n%s\n%s", j.Text(), again.Text())
			}
			convertAll(t, j)
		}
	})
}

func convertAll(t *testing.T, j *Job) {
	text, err := j.Ad.MarshalJSON()
	if _, bad := nameNotUTF8(j.Ad); bad != (err != nil) {
		t.Fatal(err)
	}
	if err != nil {
		return
	}
	if ad, err := ParseAdJSON("", text); err != nil || dropSigns.Replace(Unparse(ad)) != dropSigns.Replace(Unparse(j.Ad)) {
		t.Fatalf("json: %v\n%s\n%s", err, text, Unparse(j.Ad))
	}
	if adl, err := j.ADL(ADLOptions{}); err == nil {
		sameProgram(t, j, adl)
	}
	if xrsl, err := j.XRSL(); err == nil {
		sameProgram(t, j, xrsl)
	}
	if script, err := j.Sbatch(SbatchOptions{StageIn: true}); err == nil && bytes.IndexByte(script, 0) >= 0 {
		t.Fatal("NUL in a script")
	}
}

// sameProgram reads a converted job again.
func sameProgram(t *testing.T, j *Job, text []byte) {
	again, err := ParseJob("again", text, WithRoot(allFiles{}), WithDir("/job"))
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, j.Text())
	}
	if JoinArgs(again.Args) != JoinArgs(j.Args) || again.Executable != j.Executable {
		t.Fatalf("%q %q became %q %q\n%s", j.Executable, j.Args, again.Executable, again.Args, text)
	}
}
