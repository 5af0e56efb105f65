package formats

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
)

var fuzzOptions = []jdl.Option{jdl.WithRoot(allFiles{}), jdl.WithDir("/job")}

// manyJobs is the text of a sweep of hundreds of jobs, which would take the
// time of thousands of other texts.
var manyJobs = regexp.MustCompile(`(?i)parameters\W{0,9}\d{3}`)

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
		if manyJobs.Match(src) {
			return
		}
		Lint("f", src, fuzzOptions...)
		set, err := ParseJobs("f", src, fuzzOptions...)
		if err != nil {
			return
		}
		for _, j := range set.Jobs {
			again, err := jdl.LoadJob(j.Text())
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

func convertAll(t *testing.T, j *jdl.Job) {
	text, err := j.Ad.MarshalJSON()
	if notUTF8(j.Ad) != (err != nil) {
		t.Fatal(err)
	}
	if err != nil {
		return
	}
	if ad, err := classad.ParseAdJSON("", text); err != nil || dropSigns.Replace(classad.Unparse(ad)) != dropSigns.Replace(classad.Unparse(j.Ad)) {
		t.Fatalf("json: %v\n%s\n%s", err, text, classad.Unparse(j.Ad))
	}
	if text, err := adl.Write(j, adl.Options{}); err == nil {
		sameProgram(t, j, text)
	}
	if text, err := xrsl.Write(j, xrsl.Options{}); err == nil {
		sameProgram(t, j, text)
	}
	if script, err := sbatch.Write(j, sbatch.Options{StageIn: true}); err == nil && bytes.IndexByte(script, 0) >= 0 {
		t.Fatal("NUL in a script")
	}
}

// sameProgram reads a converted job again.
func sameProgram(t *testing.T, j *jdl.Job, text []byte) {
	again, err := parseJob("again", text, jdl.WithRoot(allFiles{}), jdl.WithDir("/job"))
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, j.Text())
	}
	if again.Executable == "/usr/bin/env" && len(again.Args) > 0 && again.Args[0] == j.Executable {
		again.Executable, again.Args = again.Args[0], again.Args[1:] // a bare name, found by the PATH
	}
	if jdl.JoinArgs(again.Args) != jdl.JoinArgs(j.Args) || again.Executable != j.Executable {
		t.Fatalf("%q %q became %q %q\n%s", j.Executable, j.Args, again.Executable, again.Args, text)
	}
}

// notUTF8 reports whether JSON cannot hold a name of the record.
func notUTF8(ad *classad.Ad) (bad bool) {
	var visit func(e classad.Expr)
	visit = func(e classad.Expr) {
		switch e := e.(type) {
		case *classad.ListExpr:
			for _, x := range e.Elems {
				visit(x)
			}
		case *classad.Ad:
			for _, a := range e.Attrs() {
				bad = bad || !utf8.ValidString(a.Name)
				visit(a.Expr)
			}
		}
	}
	visit(ad)
	return bad
}
