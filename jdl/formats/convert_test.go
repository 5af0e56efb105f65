package formats

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
	"gridbroker/testdata/testbed"
)

const fullJob = `[
  JobName = "full <&> job"; Executable = "run.sh"; Arguments = "a \"b c\" \"d\\\"e\" '' '$HOME $(x)'";
  InputSandbox = {"run.sh", "https://h.example/x/data", "sub/in", "tool"}; InputSandboxDestFileName = {"run.sh", "data", "in", "bin/tool"};
  ExecutableFiles = {"bin/tool"};
  StdInput = "in"; StdOutput = "o"; StdError = "e"; OutputSandbox = {"o", "r.txt", "p", "*.log", "plots/"};
  OutputSandboxDestURI = {"gsiftp://localhost", "gsiftp://localhost", "gsiftp://h.example/p", "gsiftp://localhost", "gsiftp://localhost"};
  Environment = {"A=b c", "X=<1>&\"2\""};
  CPUNumber = 4; SMPGranularity = 2; WholeNodes = true; WallTime = "2h"; CPUTime = 3600; Memory = 500; Disk = "2 GB";
  Prologue = "bin/tool"; PrologueArguments = "\"a  b\""; Epilogue = "/bin/true";
  RunTimeEnvironment = {"APPS/HEP/ATLAS-23.0.1", "ENV/PROXY"}; Queue = "long"; RetryCount = 3;
]`

var fullFiles = []string{"run.sh", "sub/in", "tool"}

// TestConvertAndBack writes a job in each language that can be read again.
func TestConvertAndBack(t *testing.T) {
	full := parseTest(t, fullJob, fullFiles...)
	text, err := xrsl.Write(full, xrsl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := parseTest(t, string(text), fullFiles...)
	sameRun(t, "xrsl", again, full)
	testbed.Equal(t, "xrsl sandbox", again.InputSandbox, full.InputSandbox)

	text, err = adl.Write(full, adl.Options{DelegationID: "d1"})
	if err != nil {
		t.Fatal(err)
	}
	again = parseTest(t, string(text), "run.sh", "in", "bin/tool")
	sameRun(t, "adl", again, full)

	text, err = full.Ad.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	ad, err := classad.ParseAdJSON("", text)
	if err != nil {
		t.Fatal(err)
	}
	testbed.Equal(t, "json", classad.Unparse(ad), classad.Unparse(full.Ad))
}

// sameRun compares what the languages have in common.
func sameRun(t *testing.T, what string, got, want *jdl.Job) {
	t.Helper()
	testbed.Equal(t, what+" name", got.Name, want.Name)
	testbed.Equal(t, what+" program", append(got.Args, got.Executable), append(want.Args, want.Executable))
	testbed.Equal(t, what+" hooks", append(got.PrologueArgs, got.Prologue, got.Epilogue), append(want.PrologueArgs, want.Prologue, want.Epilogue))
	testbed.Equal(t, what+" streams", []string{got.StdInput, got.StdOutput, got.StdError}, []string{want.StdInput, want.StdOutput, want.StdError})
	testbed.Equal(t, what+" environment", got.Environment, want.Environment)
	testbed.Equal(t, what+" demand", got.Demand, want.Demand)
	testbed.Equal(t, what+" output to", destinations(got), destinations(want))
	for i, f := range want.InputSandbox {
		testbed.Equal(t, what+" input "+f.Name, []any{got.InputSandbox[i].Name, got.InputSandbox[i].Executable}, []any{f.Name, f.Executable})
	}
}

// destinations leaves out patterns, which xRSL and ADL widen.
func destinations(j *jdl.Job) map[string]string {
	out := map[string]string{}
	for _, f := range j.Outputs() {
		if !f.IsPattern() {
			out[f.Name] = f.DestURL
		}
	}
	return out
}

func TestADLOutputs(t *testing.T) {
	j := parseTest(t, `Executable = "/bin/ls"; StdOutput = "o"; StdError = "e"; OutputSandbox = {"o", "*.log", "*.txt"};`)
	text, err := adl.Write(j, adl.Options{Name: "id-1", Queue: "q"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<OutputFile>\n      <Name>o</Name>\n    </OutputFile>\n    <OutputFile>\n      <Name>/</Name>\n    </OutputFile>\n    <OutputFile>\n      <Name>e</Name>",
		"<Name>id-1</Name>", "<QueueName>q</QueueName>",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	j.Args = []string{"a\nb"}
	if _, err := adl.Write(j, adl.Options{}); err == nil || !strings.Contains(err.Error(), "A-REX cannot pass a line break on") {
		t.Errorf("line break: %v", err)
	}
	for name, want := range map[string]string{"a b": "letters, digits", "a;b": "letters, digits", "d/x": "does not make the directory d"} {
		k := &jdl.Job{Executable: "/bin/ls", StdOutput: name}
		if _, err := adl.Write(k, adl.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	blank := &jdl.Job{Executable: "/bin/ls", InputSandbox: []jdl.InputFile{{Source: "/job/ ", Name: " "}}}
	if _, err := adl.Write(blank, adl.Options{}); err == nil || !strings.Contains(err.Error(), `file " ": ADL does not keep a blank`) {
		t.Errorf("blank name: %v", err)
	}
	j.Args = []string{"a\x01b"}
	if _, err := adl.Write(j, adl.Options{}); err == nil || !strings.Contains(err.Error(), "cannot be written in XML") {
		t.Errorf("control character: %v", err)
	}
}

// TestSbatchIsNoShellCode runs a script whose texts are all hostile.
func TestSbatchIsNoShellCode(t *testing.T) {
	dir := t.TempDir()
	evil := "$(touch HACKED) `touch HACKED` '; touch HACKED; ' \" \\ \n#SBATCH --x\ntouch HACKED\n"
	j := &jdl.Job{
		Name: evil, Executable: "/usr/bin/printf", Args: []string{"%s|", evil, "", "*"}, StdOutput: "out 'x", StdError: "out 'x",
		Environment: []jdl.EnvVar{{Name: "E", Value: evil}}, Prologue: "/usr/bin/printenv", PrologueArgs: []string{"E"},
		InputSandbox: []jdl.InputFile{{Source: filepath.Join(dir, "src';touch HACKED"), Name: "sub/in'"}},
	}
	if err := os.WriteFile(j.InputSandbox[0].Source, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := sbatch.Write(j, sbatch.Options{StageIn: true})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(script)) {
		if strings.HasPrefix(line, "#SBATCH") && strings.ContainsAny(line, "$`'\";\\") {
			t.Errorf("directive %q", line)
		}
		if strings.HasPrefix(line, "export") {
			break
		}
	}
	cmd := exec.Command("/bin/sh", "-s")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(script))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out 'x"))
	if err != nil {
		t.Fatal(err)
	}
	testbed.Equal(t, "output", string(got), evil+"\n"+evil+"||*|")
	if _, err := os.Stat(filepath.Join(dir, "HACKED")); err == nil {
		t.Error("job text was run as shell code")
	}
	j.Demand.Queue = "q\n#SBATCH --wrap"
	if _, err := sbatch.Write(j, sbatch.Options{}); err == nil {
		t.Error("a queue of two lines was accepted")
	}
}

func TestXRSLErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`&(executable=/bin/ls`, `t.xrsl:1:21: expected ) after the values of executable, found the end`},
		{`&(executable=/bin/ls)(stdout="a)`, `t.xrsl:1:30: the quote is not closed`},
		{`&(executable=$(X))`, `the variable X is not defined (define it: (rsl_substitution=(X value)))`},
		{`&(executable=/bin/ls)(cputime=soon)`, `cputime wants minutes, or a time such as "2 hours"`},
		{`&(executable=/bin/ls)(executable=/bin/ls)`, `executable is given twice`},
		{`|(executable=/bin/ls)(executable=/bin/ls)`, `alternatives (|) are not supported`},
		{`&(executable=/bin/ls)(runTimeEnvironment>="A")`, `runTimeEnvironment >= "A": want a name and a version, such as "A-1.0"`},
		{`&(executable=/bin/ls)(outputFiles=("../x" ""))`, `"../x" leads out of the job's directory`},
		{`&(executable=/bin/ls)(inputFiles=a)`, `inputfiles wants pairs: ("name" "value")`},
		{`&(a=` + strings.Repeat("(", 10000), `parentheses are nested too deeply`},
		{"&(executable=a)\n(arguments='\x00')", `t.xrsl:2:13: NUL byte in the text`},
		{`&`, `a request is &(name=value)(name=value)...`},
		{`+`, `no request`},
	} {
		_, err := parseJob("t.xrsl", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: got %v\nwant %s", c.src, err, c.want)
		}
	}
}

func TestXRSLForms(t *testing.T) {
	set, err := ParseJobs("t.xrsl", []byte(`+(* two *)
 (&(rsl_substitution=(TOP "/bin")(X 3))(executable=$(TOP)#/ls)(arguments='it''s' ^|a||b|)(cpu_time=$(X))(count=2)(join=yes)(stdout=o))
 (&(executable=/bin/date)(wallTime="1 day 2 hours")(notaname=x))`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := set.Jobs[0], set.Jobs[1]
	testbed.Equal(t, "first", []string{a.Executable, a.Args[0] + a.Args[1], a.StdError, a.Demand.CPUTime.String()}, []string{"/bin/ls", "it'sa|b", "o", "1m30s"})
	testbed.Equal(t, "second", []string{b.Executable, b.Demand.WallTime.String(), b.Node}, []string{"/bin/date", "26h0m0s", "1"})
	if len(set.Warnings) != 1 || set.Warnings[0].Msg != "notaname is not used" {
		t.Errorf("warnings %v", set.Warnings)
	}
}

// TestArexArguments has every character A-REX would not pass on as it is.
func TestArexArguments(t *testing.T) {
	j := parseTest(t, `Executable = "/bin/echo";`)
	j.Args = []string{"$HOME", "a`id`b c d", `\$x`, "${GRID_DOLLAR}", ""}
	for name, write := range map[string]func() ([]byte, error){
		"adl": func() ([]byte, error) { return adl.Write(j, adl.Options{}) }, "xrsl": func() ([]byte, error) { return xrsl.Write(j, xrsl.Options{}) },
	} {
		text, err := write()
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"$HOME", "`id", "c d<"} {
			if name == "adl" && strings.Contains(string(text), ">"+bad) {
				t.Errorf("%s: %q is left in\n%s", name, bad, text)
			}
		}
		again := parseTest(t, string(text))
		testbed.Equal(t, name, again.Args, j.Args)
		testbed.Equal(t, name, len(again.Environment), 0)
	}
}

// TestSampleXRSL reads the sample as it is.
func TestSampleXRSL(t *testing.T) {
	path := filepath.Join("..", "..", "testdata", "jdl", "hello.xrsl")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := ParseJobs(path, src)
	if err != nil || len(set.Jobs) != 1 || len(set.Warnings) > 0 {
		t.Fatalf("%+v, %v", set, err)
	}
}

// Bounds on versions of runtime environments, as ARC's languages have them, go there and back; a script for Slurm enters
// what a cluster deploys.
func TestRuntimeEnvironmentVersions(t *testing.T) {
	job := parseTest(t, `&(executable=/bin/ls)(stdout=o)(stderr=e)(runTimeEnvironment>="APPS/X-1.9" "opt")(runTimeEnvironment="VEE-Debian11-2")(runTimeEnvironment<"Y-3")`)
	want := []string{"APPS/X>=1.9", "VEE-Debian11-2", "Y<3"}
	testbed.Equal(t, "read from xrsl", job.Demand.RuntimeEnvironments, want)
	testbed.Equal(t, "options", job.Demand.RuntimeOptions["APPS/X>=1.9"], []string{"opt"})
	text, err := xrsl.Write(job, xrsl.Options{})
	if err != nil || !strings.Contains(string(text), `(runTimeEnvironment >= "APPS/X-1.9" "opt")`) {
		t.Errorf("%v\n%s", err, text)
	}
	testbed.Equal(t, "xrsl", parseTest(t, string(text)).Demand.RuntimeEnvironments, want)
	text, err = adl.Write(job, adl.Options{DelegationID: "d"})
	if err != nil || !strings.Contains(string(text), `<Version require="ge">1.9</Version>`) {
		t.Errorf("%v\n%s", err, text)
	}
	testbed.Equal(t, "adl", parseTest(t, string(text)).Demand.RuntimeEnvironments, want)

	sent := job.InTags([]string{"apps/X-1.10", "APPS/X-1.9.1", "APPS/X-1.8", "vee-Debian11-2", "Y-10"})
	testbed.Equal(t, "sent", sent.Demand.RuntimeEnvironments, []string{"apps/X-1.10", "vee-Debian11-2", "Y<3"})
	testbed.Equal(t, "options sent", sent.Demand.RuntimeOptions["apps/X-1.10"], []string{"opt"})

	inside := parseTest(t, `Executable = "run.sh"; Arguments = "a b"; InputSandbox = "run.sh"; Environment = {"V=1"}; RunTimeEnvironment = "VEE-Debian11";`, "run.sh")
	text, err = sbatch.Write(inside, sbatch.Options{})
	for _, line := range []string{"#SBATCH --constraint=VEE-Debian11", "inside=$(grid-launch which 'VEE-Debian11')", `--env V "$inside" -- './run.sh' 'a' 'b'`} {
		if err != nil || !strings.Contains(string(text), line) {
			t.Errorf("%v: no %s in\n%s", err, line, text)
		}
	}
}
