package jdl

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

func parseTest(t *testing.T, src string, files ...string) *Job {
	t.Helper()
	j, err := ParseJob("test.jdl", []byte(src), WithDir("/job"), WithRoot(testbed.JobFiles(files...)))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestParseJob(t *testing.T) {
	j := parseTest(t, `[
  Executable = "run.sh";
  Arguments = "-v \"two words\"";
  StdInput = "in.dat"; StdOutput = "out"; StdError = "err";
  InputSandbox = {"bin/run.sh", "data/*.dat", "https://h.example/d/x.tgz?v=1"};
  OutputSandbox = {"out", "err", "plots/a.png"};
  Environment = {"A=1", "B=x=y"};
  CPUNumber = 4; WallTime = "2h"; Memory = 2G; RetryCount = 1;
  VirtualOrganisation = "atlas";
  Requirements = other.GlueCEPolicyMaxCPUTime >= 720 && Member("VO-atlas", other.GlueHostApplicationSoftwareRunTimeEnvironment);
  Rank = -other.GlueCEStateWaitingJobs;
]`, "bin/run.sh", "data/in.dat", "data/b.dat", "data/.hidden.dat")
	want := []InputFile{
		{Source: "/job/bin/run.sh", Name: "run.sh", Executable: true}, {Source: "/job/data/b.dat", Name: "b.dat", Executable: false}, {Source: "/job/data/in.dat", Name: "in.dat", Executable: false},
		{Source: "https://h.example/d/x.tgz?v=1", Name: "x.tgz", Executable: false},
	}
	testbed.Equal(t, "InputSandbox", j.InputSandbox, want)
	testbed.Equal(t, "Args", j.Args, []string{"-v", "two words"})
	testbed.Equal(t, "Environment", j.Environment, []EnvVar{{"A", "1"}, {"B", "x=y"}})
	testbed.Equal(t, "Outputs", j.Outputs(), []OutputFile{{Name: "out"}, {Name: "err"}, {Name: "plots/a.png"}})
	testbed.Equal(t, "Demand", j.Demand, Demand{WallTime: 2 * time.Hour, CPUTime: 12 * time.Hour, Memory: 2048, Slots: 4,
		RuntimeEnvironments: []string{"VO-atlas"}})
	testbed.Equal(t, "Requirements", classad.Unparse(j.Requirements), `other.GlueCEPolicyMaxCPUTime >= 720 && `+
		`Member("VO-atlas",other.GlueHostApplicationSoftwareRunTimeEnvironment) && other.GlueCEInfoTotalCPUs >= 4 && other.GlueCEStateStatus == "Production"`)
	testbed.Equal(t, "DefaultRank", classad.Unparse(j.DefaultRank), "other.GlueCEStateFreeCPUs")
	testbed.Equal(t, "name, VO, retries", []any{j.Name, j.VO, j.RetryCount, j.ShallowRetry}, []any{"run.sh", "atlas", 1, 0})
}

// TestAbsentProgram: what is said of a file is not said again of the program.
func TestAbsentProgram(t *testing.T) {
	_, err := ParseJob("t.jdl", []byte(`Executable = "nope.sh"; InputSandbox = "data/nope.sh"; StdInput = "nope.sh";`), WithRoot(fstest.MapFS{}), WithDir("/job"))
	if text := errText(err); !strings.Contains(text, "InputSandbox: data/nope.sh does not exist") || strings.Contains(text, "is not in the InputSandbox") {
		t.Errorf("got %v", text)
	}
}

func TestJobErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"no executable", `Arguments = "x";`, `the job has no Executable`},
		{"relative path", `Executable = "bin/run.sh";`, `Executable "bin/run.sh" is a relative path (name a file of the InputSandbox by its last part: run.sh)`},
		{"not in sandbox", `Executable = "rum.sh"; InputSandbox = "run.sh";`, `Executable "rum.sh" is not in the InputSandbox (the InputSandbox has run.sh)`},
		{"UTF-16", "\xff\xfeE\x00x\x00", `t.jdl:1:1: the text is in UTF-16 (save it as UTF-8)`},
		{"UTF-16 without mark", "\x00E\x00x", `the text is in UTF-16`},
		{"gzip", "\x1f\x8b\x08", `the file is compressed (unpack it with gunzip)`},
		{"no value", `a = 1/0; Executable = a;`, `Executable: the value of a is ERROR`},
		{"unquoted", `Executable = ls;`, `Executable: ls is no attribute of the job and has no value (write "ls", in double quotes)`},
		{"quoted number", `Executable = "/bin/ls"; RetryCount = "3";`, `RetryCount must be an integer, and this is the string "3" (remove the quotes: 3)`},
		{"negative", `Executable = "/bin/ls"; RetryCount = -1;`, `RetryCount is -1, less than 0`},
		{"missing file", `Executable = "/bin/ls"; InputSandbox = {"run.sh", "nope"};`, `InputSandbox: nope does not exist (names are relative to /job)`},
		{"glob of nothing", `Executable = "/bin/ls"; InputSandbox = {"*.txt"};`, `InputSandbox: no file matches *.txt`},
		{"directory", `Executable = "/bin/ls"; InputSandbox = {"data"}; InputSandboxDestFileName = {"../x"};`, `InputSandbox: the name "../x/a" leads out of the job's directory`},
		{"same name", `Executable = "/bin/ls"; InputSandbox = {"data/a", "b/a"};`, `InputSandbox: /job/data/a and /job/b/a would both be called a`},
		{"escape", `Executable = "/bin/ls"; OutputSandbox = {"../../etc/passwd"};`, `OutputSandbox: "../../etc/passwd" leads out of the job's directory`},
		{"output URL", `Executable = "/bin/ls"; OutputSandbox = {"gsiftp://h/x"};`, `OutputSandbox: "gsiftp://h/x" is a URL (where files go is said by OutputSandboxDestURI)`},
		{"absolute output", `Executable = "/bin/ls"; StdOutput = "/etc/passwd";`, `StdOutput "/etc/passwd" is an absolute path`},
		{"dest escape", `Executable = "/bin/ls"; InputSandbox = {"run.sh"}; InputSandboxDestFileName = {"../x"};`, `InputSandbox: the name "../x" leads out of the job's directory`},
		{"arguments", `Executable = "/bin/ls"; Arguments = "a > b";`, `Arguments: '>' stands outside quotes, and no shell reads the arguments`},
		{"environment", `Executable = "/bin/ls"; Environment = {"A B=1"};`, `Environment: "A B" is no name of a variable`},
		{"proxy host", `Executable = "/bin/ls"; MyProxyServer = "h; rm -rf /";`, `MyProxyServer "h; rm -rf /" is no host name`},
		{"job type", `Executable = "/bin/ls"; JobType = "normale";`, `JobType "normale" is not known (did you mean normal?)`},
		{"partitionable", `Executable = "/bin/ls"; JobType = "partitionable";`, `partitionable jobs no longer exist`},
		{"queue", `Executable = "/bin/ls"; Queue = "long\n#SBATCH x";`, `is no name of a queue`},
		{"data", `Executable = "/bin/ls"; InputData = "lfn:/a";`, `input data needs DataAccessProtocol`},
		{"rank of data", `Executable = "/bin/ls"; Rank = other.DataAccessCost + 1;`, `Rank: other.DataAccessCost must stand alone`},
	} {
		_, err := ParseJob("test.jdl", []byte(c.src), WithDir("/job"), WithRoot(testbed.JobFiles("run.sh", "data/a", "b/a")))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestTextGivesTheSameJob(t *testing.T) {
	for _, src := range []string{
		`Executable = "run.sh"; InputSandbox = {"run.sh", "sub dir/é\"x"}; InputSandboxDestFileName = {"run.sh", "other/name"}; StdOutput = "o"; OutputSandbox = {"o", "*.log"};`,
		`Executable = "/bin/ls"; OutputSandbox = {"a", "b"}; OutputSandboxDestURI = {"gsiftp://localhost/x", "https://h.example/b"}; HLRLocation = "h:1";`,
		`JobName = x; Executable = ls; CPUTime = "600"; Tags = {gpu, "4GB", "8Processors", long}; Site = LCG.CERN.ch; BannedSites = "A,B"; BannedSite = "C"; OwnerGroup = u;`,
		`Executable = "/bin/ls"; CPUNumber = 4; HostNumber = 2; Requirements = other.x > self.n || false; n = 5; FuzzyRank = true; UserTags = [a = 1];`,
	} {
		j := parseTest(t, src, "run.sh", "sub dir/é\"x")
		again, err := LoadJob(j.Text())
		if err != nil {
			t.Fatalf("%s\n%v", j.Text(), err)
		}
		if again.Text() != j.Text() {
			t.Errorf("text changed:\n%s\n%s", j.Text(), again.Text())
		}
		testbed.Equal(t, src, view(again), view(j))
	}
}

// view leaves out what Text does not keep, and prints expressions.
func view(j *Job) map[string]any {
	c, out := *j, map[string]any{}
	c.Ad, c.File, c.Warnings, c.Dialect, c.autoName, c.given = nil, "", nil, 0, false, nil
	for name, e := range map[string]*classad.Expr{"req": &c.Requirements, "rank": &c.Rank, "default": &c.DefaultRank} {
		if *e != nil {
			out[name] = classad.Unparse(*e)
		}
		*e = nil
	}
	out["job"] = c
	return out
}

func TestOutputDataComesBack(t *testing.T) {
	j := parseTest(t, `Executable = "/bin/ls"; OutputSandbox = "a"; OutputData = { [ OutputFile = "a"; ], [ OutputFile = "b"; LogicalFileName = "lfn:/x"; ] };`)
	testbed.Equal(t, "gLite", j.OutputSandbox, []OutputFile{{Name: "a"}, {Name: "b"}})
	j = parseTest(t, `Executable = "/bin/ls"; OutputData = {"x.root", "LFN:/y"};`)
	testbed.Equal(t, "DIRAC", j.OutputSandbox, []OutputFile{{Name: "x.root"}, {Name: "y"}})
	j = parseTest(t, `Executable = "/bin/ls"; OutputSandbox = "log.txt; out.tgz"; OutputData = {"/ilc/user/s/rec.slcio"};`)
	testbed.Equal(t, "names in one text", j.OutputSandbox, []OutputFile{{Name: "log.txt"}, {Name: "out.tgz"}, {Name: "rec.slcio"}})
	testbed.Equal(t, "said", len(j.Warnings), 1)
}

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		src  string
		want Dialect
	}{
		{`JobName = "x";`, GLite},
		{`CPUTime = 10;`, DIRAC},
		{`CPUTime = 10; Memory = 5;`, GLite},
		{`CPUTime = 10; RetryCount = 1;`, GLite},
		{`Site = ANY;`, DIRAC},
		{`Tags = gpu; Rank = other.x;`, GLite},
		{`Site = "A.x"; CPUNumber = 4;`, GLite},
		{`Site = "A.x"; OutputSE = "A-disk"; Tags = "8Processors"; CPUNumber = 4;`, DIRAC},
		{`Site = "A.x"; Tags = "8Processors"; CPUNumber = 4; Requirements = true;`, GLite},
		{`Parameters = 3; Arguments = "%s";`, DIRAC},
		{`Parameters = 3; Arguments = "%s _PARAM_";`, GLite},
		{`Parameters.x = {1};`, DIRAC},
		{`OutputData = {"a", "b"};`, DIRAC},
	} {
		ad, err := classad.ReadAd("", []byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		if got := judgeDialect(ad); got != c.want {
			t.Errorf("%s: %v, want %v", c.src, got, c.want)
		}
	}
}

func TestOutputMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a", "a/b/c", true}, {"a/", "a/b", true}, {"a/b", "a", false},
		{"*", "x/y/z", true}, {"*.log", "x.log", true}, {"*.log", "d/x.log", false}, {"d/*.log", "d/x.log", true},
		{"[", "[", true}, {"a[b", "a[b/c", true}, {"a*", "", false},
	} {
		if got := (OutputFile{Name: c.pattern}).Match(c.name); got != c.want {
			t.Errorf("%s, %s: %v", c.pattern, c.name, got)
		}
	}
}

// TestExactNumberOfProcessors: beside DIRAC's NumberOfProcessors, which is exact, its bounds do not count, in any order.
func TestExactNumberOfProcessors(t *testing.T) {
	for src, want := range map[string]int{
		`NumberOfProcessors = 8; MinNumberOfProcessors = 2;`:    8,
		`MinNumberOfProcessors = 12; NumberOfProcessors = "8";`: 8,
		`MinNumberOfProcessors = 2; MaxNumberOfProcessors = 8;`: 2,
		`NumberOfProcessors = 3; MaxNumberOfProcessors = 8;`:    3,
	} {
		if got := parseTest(t, `JobName = x; Executable = ls; `+src).Demand.Slots; got != want {
			t.Errorf("%s: %d, want %d", src, got, want)
		}
	}
}
