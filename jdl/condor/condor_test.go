package condor_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/condor"
	"gridbroker/testdata/testbed"
)

func jobs(t *testing.T, src string) []*jdl.Job {
	t.Helper()
	ads, err := condor.Read("t.sub", []byte(src), near(), func(*classad.Diagnostic) {})
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	set, err := jdl.FromRecords("t.sub", []byte(src), ads, jdl.WithoutFiles(), jdl.WithDir("/job"), jdl.WithDialect(jdl.GLite))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return set.Jobs
}

// near has files and variables for descriptions.
func near() *jdl.Nearby {
	files := fstest.MapFS{}
	for name, text := range map[string]string{"two.txt": "a, b, c\nd e\n", "odd.txt": "\xef\xbb\xbf lead 1\r\n\r\n#x\r\nq\\\n r\n", "i.inc": "arguments = from inc\ny = 2\n",
		"i2.inc": "if true\ninclude : i.inc\nendif\n", "d/n.inc": "arguments = in d\n", "circle.inc": "include : circle.inc\n", "open.inc": "if true\n",
		"m/f1": "", "m/f2": "", "m/.hid": "", "m/sub/x": "", "m/sub2/x": ""} {
		files["job/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	getenv := func(name string) string { return map[string]string{"HOME": "/home/alice", "LANG": "C"}[name] }
	return jdl.NewNearby("t.sub", jdl.WithRoot(files), jdl.WithDir("/job"), jdl.WithEnvironment(getenv))
}

func argsOf(js []*jdl.Job) string {
	var out []string
	for _, j := range js {
		out = append(out, jdl.JoinArgs(j.Args))
	}
	return strings.Join(out, "|")
}

// TestQueue has the forms of the queue statement, macros and both syntaxes of
// arguments: the words of every job.
func TestQueue(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"arguments = $(Process) $(ProcId)\nqueue 3", "0 0|1 1|2 2"},
		{"arguments = a\nqueue\narguments = b\nQUEUE 2", "a|b|b"},
		{"arguments = $(x)\nqueue x in (a, b c)", "a|b|c"},
		{"arguments = $(Item)\nqueue in (a b)", "a|b"},
		{"arguments = $(Item)\nqueue from seq 1 2 5 |", "1|3|5"},
		{"N = 2\narguments = $(x) $(Step)\nqueue 2 x from [1:] seq $(N)|", "2 0|2 1"},
		{"arguments = $(x)\nqueue x from /usr/bin/seq 3 -1 1 |", "3|2|1"},
		{"arguments = $(x) $(Step)\nqueue 2 x in (a b)", "a 0|a 1|b 0|b 1"},
		{"arguments = $(x)-$(y)\nqueue x,y from (\n 1 2\n# no\n 3, 4 5\n)", "1-2|3-4 5"},
		{"arguments = $(x) $(y) $(Row)\nqueue x,y from (\n 1 2\n# no\n\n 3 4\n)", "1 2 0|1|3 4 2"}, // an empty line is a row
		// What ends a value: as condor_submit 23.9 has it.
		{"arguments = $(x)-$(y)-$(z)\nqueue x,y,z from (\na,,c\n,a,b\na , b , c\na b ,c\na, b, c,\na,\tb\na\n  a  b  c d\n)", "a--c|-a-b|a--b , c|a-b-,c|a-b-c,|a-b-|a--|a-b-c d"},
		{"arguments = $(x)\nqueue x in (\n 1\n\n 3\n)", "1|3"},
		{"arguments = $(Process)\nqueue 1 + 1", "0|1"},
		{"arguments = $(Process)\nqueue (3 - 1)", "0|1"},
		{"n = 3\narguments = $(Process)\nqueue $(n) * 2 / 3", "0|1"},
		{"n = 3\narguments = $(Process)\nqueue $(n) > 2 ? 2 : 1", "0|1"},
		{"n = 2\narguments = $(Process)\nqueue $INT(n, %d)", "0|1"},
		{"arguments = $(Process)\nqueue 2.9", "0|1"},
		{"arguments = $(x)$(Step)\nn = 1\nqueue $(n) + 1 x in (a b)", "a0|a1|b0|b1"},
		{"queue arguments from (\n1 2\n3 4\n)", "1 2|3 4"}, // as condor_submit 23.9 has it
		{"arguments = own\nx = $(y)\ny = z\nqueue arguments, x in (a, b)", "a|b"},
		{"n = 2\narguments = $(undefined:d)$(n)\nqueue $(n)", "d2|d2"},
		{"arguments = $Fn(f)$Fx(f)\nf = /a/b.txt\nqueue", "b.txt"},
		{"arguments = \"'it''s' \"\"q\"\" 'a b' ''\"\nqueue", `"it's" "\"q\"" "a b" ""`},
		{"arguments = a \\\"b\\\"  c\nqueue", `a "\"b\"" c`},
		{"arguments = one \\\n  two\nqueue", "one two"},
		{"arguments = $(DOLLAR)(x)\nqueue", "$(x)"},
		{"arguments = $Fp(f) $Fd(f) $Fdn(f) $Fpnx(f) $Fq(f)\nf = /a/b/c.txt\nqueue", "/a/b/ b/ b/c /a/b/c.txt /a/b/c.txt"},
		{"arguments = $Fd(f).\nf = c.txt\nqueue", "."},
		{"arguments = \"$Fqa(f) $Fqan(f)\"\nf = a/c d.txt\nqueue", `"a/c d.txt" "c d"`},
		{"arguments = $Fa(f) $Fb(f) $Fpb(f) $Fdb(f)\nf = a/b/c.txt\nqueue", "a/b/c.txt a/b/c.txt a/b b"},
		{"arguments = [$Fn(f)] [$Fx(f)]\nf = .bashrc\nqueue", "[.bashrc] []"},
		{"arguments = $Fn(f) $Fp(f)\nf = \"a/b.txt\"\nqueue", "b a/"},
		{"arguments = $Fn(none.txt)\nqueue", "none"},
		{"arguments = $$ $$x US$ $5 $$(DOLLARDOLLAR)(Memory)\nqueue", "$$ $$x US$ $5 $$(Memory)"},
	} {
		if got := argsOf(jobs(t, "executable = /bin/x\n"+c.src)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// TestAsCondorSubmit has what condor_submit 24 was seen to make of these with
// -dry-run: lists and patterns outside of the description, slices, conditions, texts
// that are included, functions.
func TestAsCondorSubmit(t *testing.T) {
	const row = "arguments = \"[$(item)] [$(x)] [$(y)] $(Row) $(Step)\"\n"
	for src, want := range map[string]string{
		row + "queue x in a b, c":                  "[] [a] [] 0 0|[] [b] [] 1 0|[] [c] [] 2 0",
		row + "queue x from two.txt":               "[] [a, b, c] [] 0 0|[] [d e] [] 1 0",
		row + "queue x y from two.txt":             "[] [a] [b, c] 0 0|[] [d] [e] 1 0",
		row + "queue 2 from [1:] two.txt":          "[d e] [] [] 1 0|[d e] [] [] 1 1",
		row + "queue x,y,item from two.txt":        "[c] [a] [b] 0 0|[] [d] [e] 1 0",
		row + "queue x,y in (a)":                   "[] [a] [] 0 0",
		row + "queue x in [::2] (a b c d)":         "[] [a] [] 0 0|[] [c] [] 2 0",
		row + "queue x in [-2:] (a b c d)":         "[] [c] [] 2 0|[] [d] [] 3 0",
		row + "queue x in [::-2] (a b c d e)":      "[] [a] [] 0 0|[] [c] [] 2 0|[] [e] [] 4 0",
		row + "queue x in [4::-2] (a b c d e f g)": "[] [e] [] 4 0|[] [g] [] 6 0",
		"f = c.t\narguments = $Ff(f) $Ffpn(f) $Ffn(f) $Ffdb(f) $Ff(../x) $Ff(/a/b)\nqueue": "/job/c.t /job/c c job /job/../x /a/b",
		row + "queue x in [1] (a b c)":                          "[] [b] [] 1 0|[] [c] [] 2 0",
		row + "queue x from (a)":                                "[] [a] [] 0 0",
		row + "queue x matching m/*":                            "[] [m/f1] [] 0 0|[] [m/f2] [] 1 0|[] [m/sub/] [] 2 0|[] [m/sub2/] [] 3 0",
		row + "queue x matching files m/*, m/f1":                "[] [m/f1] [] 0 0|[] [m/f2] [] 1 0",
		row + "queue matching dirs (m/sub* none*)":              "[m/sub/] [] [] 0 0|[m/sub2/] [] [] 1 0",
		row + "queue 1+1":                                       "[] [] [] 0 0|[] [] [] 0 1",
		row + "queue $(none)":                                   "[] [] [] 0 0",
		"arguments = <$(x)>\nqueue x from odd.txt":              `"<lead" "1>"|"<>"|"<#x>"|"<qr>"`,
		"if true\narguments=a\nelse\narguments=b\nendif\nqueue": "a",
		"x=0\nif $(x)\narguments=a\nelif 1\narguments=b\nelse\narguments=c\nendif\nqueue":      "b",
		"zz=\nif defined zz\narguments=a\nelse\narguments=n\nendif\nqueue":                     "n",
		"x=zz\nzz=1\nif defined $(x)\narguments=a\nendif\nqueue":                               "a",
		"if ! defined zz\narguments=a\nendif\nqueue":                                           "a",
		"if version >= 8.1\narguments=a\nendif\nqueue":                                         "a",
		"if false\nif true\narguments=a\nqueue\nendif\nelse\narguments=b\nendif\nqueue":        "b",
		"if false\narguments @=e\nendif\n@e\nendif\nqueue":                                     "",
		"include : i.inc\narguments=$(arguments) $(y)\nqueue":                                  "from inc 2",
		"include : i2.inc\nqueue":                                                              "from inc",
		"@include ifexist : none.inc\nqueue":                                                   "",
		"include : d/n.inc\nqueue":                                                             "in d",
		"arguments @=e\n\"a b\nc\"\n@e\nqueue":                                                 "a b c",
		"x = $(x) y\nX = $(x)$(x:no)z\narguments=$(x)\nqueue":                                  "y yz",
		"v=10\narguments=$INT(v) $INT(v,%05d) $REAL(v,%.2f) $INT(2+3)\nqueue":                  "10 00010 10.00 5",
		"v=a/b/c.txt\narguments=$BASENAME(v) $DIRNAME(v) $BASENAME(/q/w.e)\nqueue":             "c.txt a/b/ w.e",
		"v=abcdef\narguments=$SUBSTR(v,2) $SUBSTR(v,1,3) $SUBSTR(v,-2) $SUBSTR(v,0,-1)\nqueue": "cdef bcd ef abcde",
		"l=a,b,c\ni=1\narguments=$CHOICE(i,l) $CHOICE(2,x,y,z)\nqueue":                         "b z",
		"arguments=$RANDOM_CHOICE(7,7) $RANDOM_INTEGER(5,5) $RANDOM_INTEGER(2,9,100)\nqueue":   "7 5 2",
		"arguments=$ENV(NOPE:def) $ENV(HOME)\nqueue":                                           "def /home/alice",
		"v=\"x\"\narguments=$STRING(v) $EVAL(1+2)\nqueue":                                      "x 3",
		"arguments=$(a:$(b:c)) $(a:) $(SUBMIT_FILE)\nqueue":                                    "c t.sub",
		"args=1 2\nqueue":                                                                               "1 2",
		row + "queue x matching files [0:1] m/*":                                                        "[] [m/f1] [] 0 0",
		row + "queue x matching [1:] files m/*":                                                         "[] [m/f2] [] 1 0",
		row + "queue x matching dirs [0:1] (m/sub* none*)":                                              "[] [m/sub/] [] 0 0",
		"v=a/b/c/d.txt\narguments=$Fdd(v) $Fddb(v) $Fddd(v) $Fpdd(v)\nqueue":                            "b/c/ b/c a/b/c/ b/c/",
		"v=a/b/c/d.tar.gz\narguments=$Fdx(v) $Fddn(v) $Fpn(v) $Fpb(v) $Fxb(v) $Fnxb(v) $Fdbx(v)\nqueue": "c/d.tar.gz b/c/d.tar a/b/c/d.tar a/b/c gz d.tar.gz c/d.tar.gz",
		"v=/top\narguments=[$Fd(v)] [$Fp(v)] [$Fdb(v)] [$Fpb(v)]\nqueue":                                "[/] [/] [] []",
		"v=a/b.c/\narguments=[$Fx(v)] [$Fn(v)] [$Fd(v)] [$Fdd(v)]\nqueue":                               "[] [] [b.c/] [a/b.c/]",
		"if version >= 8.9.1.2\narguments=a\nendif\nqueue":                                              "a",
	} {
		if got := argsOf(jobs(t, "executable = /bin/x\n"+src)); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestAskedFor: amounts that are worked out, names without underscores, variables
// that are taken along, and the limit that CERN's pool gives by JobFlavour.
func TestAskedFor(t *testing.T) {
	j := jobs(t, "executable = /bin/x\nRequestMemory = 2*1024\nrequest_cpus = 1+1\nRequestGpus = 1\n+JobFlavour = \"workday\"\ngetenv = LANG, NONE\nstdout = o\n"+
		"queue")[0]
	if got, want := fmt.Sprint(j.Demand.Memory, j.Demand.Slots, j.Demand.GPUs, j.Demand.WallTime, j.Environment, j.StdOutput, " ", len(j.OutputSandbox)),
		"1024 2 1 8h0m0s [{LANG C}]o 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for value, want := range map[string]string{"": "*", `""`: "", "a, b": "a b"} {
		j := jobs(t, "executable = /bin/x\ntransfer_output_files = "+value+"\nqueue")[0]
		var names []string
		for _, f := range j.OutputSandbox {
			names = append(names, f.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("transfer_output_files = %s brings %q, want %s", value, names, want)
		}
	}
}

// TestSizes has sizes as condor_submit 23.9 was seen to take them with -dry-run: a letter is a unit, not part of a number of ClassAds.
func TestSizes(t *testing.T) {
	for memory, want := range map[string]int64{"2G": 2048, "1.5G": 1536, "2g": 2048, "2048M": 2048, "1T": 1 << 20, "1500 K": 2, "0.5GB": 512, "2 GB": 2048, "1024*2": 2048, "300": 300} {
		j := jobs(t, "executable = /bin/x\nrequest_memory = "+memory+"\nrequest_disk = 500M\nqueue")[0]
		if j.Demand.Memory != want || j.Demand.Disk != 500 {
			t.Errorf("request_memory = %s: %d MB, want %d; disk %d MB", memory, j.Demand.Memory, want, j.Demand.Disk)
		}
	}
}

// TestPartsOfProcessors: condor_submit keeps request_cpus = 1.5 and matches machines that have as much or more.
func TestPartsOfProcessors(t *testing.T) {
	j := jobs(t, "executable = /bin/x\nrequest_cpus = 1.5\nrequest_gpus = 0.5\nrequest_memory = 300\nqueue")[0]
	if j.Demand.Slots != 2 || j.Demand.GPUs != 1 || j.Demand.Memory != 150 {
		t.Errorf("%+v, want 2 processors, 1 GPU and 150 MB for each", j.Demand)
	}
}

// TestMaxMaterialize: of the jobs of a description no more are sent at once than HTCondor would put into its queue.
func TestMaxMaterialize(t *testing.T) {
	for src, want := range map[string]int{"max_materialize = 2\nqueue 5": 2, "queue 5": 0, "max_materialize = 2\nqueue": 0, "max_materialize = 0\nqueue 5": 0,
		"max_materialize = -1\nqueue 5": 0, "max_materialize = 2.9\nqueue 5": 2} {
		src = "executable = /bin/x\narguments = $(Process)\n" + src
		ads, err := condor.Read("t.sub", []byte(src), near(), nil)
		if err != nil {
			t.Fatal(err)
		}
		set, err := jdl.FromRecords("t.sub", []byte(src), ads, jdl.WithoutFiles(), jdl.WithDir("/job"))
		if err != nil || set.MaxRunning != want || len(set.Jobs) > 1 && set.Jobs[4].Node != "4" {
			t.Errorf("%s: %+v, %v", src, set, err)
		}
	}
}

// TestTakenAsCondorSubmitDoes: values that condor_submit 23.9 was seen to take are no mistakes here.
func TestTakenAsCondorSubmitDoes(t *testing.T) {
	for _, line := range []string{"request_cpus = undefined", "request_memory = Undefined", "request_disk = undefined", "request_gpus = undefined",
		"priority = 1.9", "priority = 1 + 1", "priority = true", "priority = -3", "priority =", "requirements =", "rank = {1, 2}", `rank = a == "x\"`, `rank = regexp("a(", x)`,
		"retry_until = 3", "max_retries = -1", "max_retries = 0", "success_exit_code = 1+1", "hold = 0", "nice_user = 2 > 1", "notification = Never", "+X = hello",
		`+X = "a b"`, "my.Y = TARGET.Z =?= undefined", "max_idle = 10", "leave_in_queue = JobStatus == 4", "job_max_vacate_time = x"} {
		j := jobs(t, "executable = /bin/x\n"+line+"\nqueue")[0]
		if j.Demand.Slots > 1 || j.Demand.Memory != 0 || j.Demand.Disk != 0 || j.Demand.GPUs != 0 || j.RetriesExit(1) {
			t.Errorf("%s: %+v, %v", line, j.Demand, j.RetriesExit(1))
		}
	}
}

// TestSwallowed: a variable that is part of another one's value, since it is parted as the other syntax does, is told.
func TestSwallowed(t *testing.T) {
	for environment, want := range map[string]string{`"A=1;B=2"`: "B= is part of the value of A", "A=1|B=2": "B= is part of the value of A", "A=1 B=2": "B= is part of the value of A",
		`"A=1 B=2"`: "", "A=1;B=2": "", `"A='x B=2'"`: "", `"P=a;b"`: "", "P=a b": "", `"O=--x=1,y=2"`: ""} {
		var told string
		src := "executable = /bin/x\nenvironment = " + environment + "\nqueue"
		if _, err := condor.Read("t.sub", []byte(src), near(), func(d *classad.Diagnostic) { told = d.Error() }); err != nil {
			t.Error(err)
		}
		if (told == "") != (want == "") || !strings.Contains(told, want) {
			t.Errorf("environment = %s: told %q, want %q", environment, told, want)
		}
	}
}

// TestAskedOfCEs: what routes of an HTCondor-CE go by is asked of any resource, where HTCondor's own commands do not say it;
// what says no number stays HTCondor's.
func TestAskedOfCEs(t *testing.T) {
	for src, want := range map[string]string{
		"+xcount = 4\n+maxMemory = 4000\n+maxWallTime = 120":                                      "4 slots, 1000 MB, 2h0m0s",
		"My.xcount = 4\nrequest_cpus = 2\n+maxMemory = 4000":                                      "2 slots, 2000 MB, 0s; +xcount is only kept for HTCondor",
		"request_memory = 1000\n+maxMemory = 4000\n+maxWallTime = 120\n+MaxRuntime = 60":          "1 slots, 1000 MB, 1m0s; +maxmemory is only kept for HTCondor; +maxwalltime is only kept for HTCondor",
		"+xcount = orig_RequestCpus\n+maxWallTime = \"2h\"\n+maxMemory = -1\nrequest_disk = 1024": "1 slots, 0 MB, 0s; +maxmemory is only kept for HTCondor; +maxwalltime is only kept for HTCondor; +xcount is only kept for HTCondor",
	} {
		text := "executable = /bin/x\n" + src + "\nqueue"
		var said []string
		if _, err := condor.Read("t.sub", []byte(text), near(), func(d *classad.Diagnostic) { said = append(said, d.Msg) }); err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		slices.Sort(said)
		j := jobs(t, text)[0]
		got := strings.Join(append([]string{fmt.Sprintf("%d slots, %d MB, %v", j.Demand.Slots, j.Demand.Memory, j.Demand.WallTime)}, said...), "; ")
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestNewerNames: arguments2 and environment2 are those in double quotes, as condor_submit 23.9 takes them.
func TestNewerNames(t *testing.T) {
	j := jobs(t, "executable = /bin/x\narguments2 = \"a 'b c'\"\nenvironment2 = \"A=1 B=2\"\nqueue")[0]
	testbed.Equal(t, "arguments", j.Args, []string{"a", "b c"})
	testbed.Equal(t, "environment", j.Environment, []jdl.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}})
}

// TestFlavourIsHeeded: what becomes a WallTime is not said to be kept for HTCondor alone; what nobody knows is.
func TestFlavourIsHeeded(t *testing.T) {
	for flavour, want := range map[string]bool{`+JobFlavour = "longlunch"`: false, "+MaxRuntime = 3600": false, `+JobFlavour = "fortnight"`: true, "+Other = 1": true} {
		told := false
		src := "executable = /bin/x\n" + flavour + "\nqueue"
		if _, err := condor.Read("t.sub", []byte(src), near(), func(d *classad.Diagnostic) { told = true }); err != nil || told != want {
			t.Errorf("%s: told %v, %v", flavour, told, err)
		}
	}
}

// TestHabitsOfPools: what people write for their pools is taken as they mean it, with a word where it is not all the same.
func TestHabitsOfPools(t *testing.T) {
	files := fstest.MapFS{"job/run.sh": {Data: []byte("x")}}
	for src, want := range map[string]string{
		"executable = run.sh\nrequest_memory = ifThenElse(NumJobStarts == 0, 2048, 4096)\nqueue":                    "Memory 2048; request_memory = ifThenElse(NumJobStarts == 0, 2048, 4096) is taken as 2048",
		"executable = run.sh\nrequest_memory = ifthenelse(MemoryUsage =!= undefined, MemoryUsage * 2, 1024)\nqueue": "Memory 1024; ",
		"executable = run.sh\nrequest_memory = TotalMemory / 2\nqueue":                                              "; is no size",
		"executable = run.sh\n+RequestRuntime = 3600\nqueue":                                                        "WallTime 3600; ",
		"executable = \"run.sh\"\nqueue":                                                                            "InputSandbox run.sh; executable: the quotes are left out, which HTCondor takes for a part of the name",
		"executable = run.sh\ntransfer_executable = false\nqueue":                                                   "InputSandbox run.sh; transfer_executable is not used: run.sh is here",
		"executable = other.sh\ntransfer_executable = false\nqueue":                                                 "Executable other.sh; ",
		"executable = run.sh\nenvironment = \"A=$$(CondorScratchDir)/x\"\nqueue":                                    "Environment A=./x; ",
		"executable = run.sh\nenvironment = \"A=$$(Other)/x\"\nqueue":                                               "; is replaced at match time",
		"executable = run.sh\npublic_input_files = in.dat\nqueue":                                                   "InputSandbox in.dat; ",
		"executable = run.sh\nwarning : mind the gap\nqueue":                                                        "; mind the gap",
		"executable = run.sh\nif defined nothing\nerror : too new\nendif\nerror = err.txt\nqueue":                   "StdError err.txt; ",
		"executable = run.sh\nerror: too old\nqueue":                                                                "; t.sub:2:1: the description says: too old",
		"executable = run.sh\nf = a/b/c.txt\narguments = $Fdb(f) $Fnx(f) $Fxb(f)\nqueue":                            "Arguments b c.txt txt; ",
	} {
		told := ""
		ads, err := condor.Read("t.sub", []byte(src), jdl.NewNearby("t.sub", jdl.WithRoot(files), jdl.WithDir("/job")), func(d *classad.Diagnostic) { told += d.Error() })
		if err != nil {
			told += err.Error()
		}
		value, says, _ := strings.Cut(want, "; ")
		if !strings.Contains(told, says) || says == "" && told != "" {
			t.Errorf("%q: told %q, want %q", src, told, says)
		}
		name, value, wanted := strings.Cut(value, " ")
		if wanted && err == nil {
			if got := classad.UnparseValue(ads[0].EvalAttr(name, nil)); !strings.Contains(got, value) {
				t.Errorf("%q: %s is %s, want %s", src, name, got, value)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for src, want := range map[string]string{
		"executable = a\nenvironment2 = A=1\nqueue":                "environment2: the value stands in double quotes",
		"executable = a\narguments2 = \"a\"\narguments = b\nqueue": "arguments2 excludes arguments",
		"executable = a\n":                                                                                     "the description has no queue statement",
		"queue":                                                                                                "t.sub:1:1: the description has no executable",
		"executable = a\nuniverse = java\nqueue":                                                               "t.sub:2:1: universe java is not supported",
		"executable = a\nqueue x from none.txt":                                                                "queue from none.txt: file does not exist",
		"universe = docker\ndocker_image = a/b:1\nqueue":                                                       "no executable: which program the image starts by itself is not known here",
		"executable = a\nqueue x from seq 1000000000 |":                                                        "more than 100000 jobs",
		"executable = a\nqueue x from seq 1 0 3 |":                                                             "queue from a program is not supported",
		"executable = a\nrequest_memory = 4GB # four\nqueue":                                                   "4GB # four is no size: a comment has a line of its own",
		"executable = a\nrequest_cpus = 4\t# four\nqueue":                                                      "is no whole number: a comment has a line of its own",
		"executable = a\nrequirements = (Machine == \"x\") #the big one\nqueue":                                "is no expression: a comment has a line of its own",
		"executable = a\nqueue x from -":                                                                       "queue from - is not supported",
		"executable = a\nqueue x from seq -w 3 |":                                                              "queue from a program is not supported",
		"executable = a\nrequirements = (\nqueue":                                                              "t.sub:2:1: requirements: ( is no expression: ",
		"executable = a\nrank = a b\nqueue":                                                                    "t.sub:2:1: rank: a b is no expression: ",
		"executable = a\n+X = (\nqueue":                                                                        "t.sub:2:1: +x: ( is no expression: ",
		"executable = a\nperiodic_remove = a &&\nqueue":                                                        "periodic_remove: a && is no expression: ",
		"executable = a\nleave_in_queue = )\nqueue":                                                            "leave_in_queue: ) is no expression: ",
		"executable = a\npriority = x\nqueue":                                                                  "t.sub:2:1: priority: x is no number",
		"executable = a\np = 2\npriority = $(p)$(Process)x\nqueue 3":                                           "t.sub:3:1: priority: 20x is no expression: ",
		"executable = a\npriority = $CHOICE(Process, 1, 2, x)\nqueue 3":                                        "t.sub:2:1: priority: x is no number",
		"executable = a\nmax_materialize = undefined\nqueue 2":                                                 "max_materialize: undefined is no number",
		"executable = a\nrequest_cpus = -1\nqueue":                                                             "request_cpus = -1 is less than nothing",
		"executable = a\nrequest_gpus = nan\nqueue":                                                            "request_gpus = nan is no whole number",
		"executable = a\nallowed_job_duration = 1.5\nqueue":                                                    "duration = 1.5 is no whole number",
		"executable = a\nmax_retries = x\nqueue":                                                               "max_retries: x is no number",
		"executable = a\nhold = maybe\nqueue":                                                                  "hold: maybe is neither true nor false",
		"executable = a\nstream_output = NO\nqueue":                                                            "stream_output: NO is neither true nor false",
		"executable = a\nnotification = x\nqueue":                                                              "notification = x: it is NEVER, ALWAYS, COMPLETE, ERROR",
		"executable = a\nqueue x in [::0] (1)":                                                                 "the slice is not understood",
		"executable = a\nqueue x in [a:b] (1)":                                                                 "the slice is not understood",
		"executable = a\nqueue f matching *.none":                                                              "t.sub:2:1: the queue statements make no job: no file matches *.none",
		"executable = a\nqueue 0":                                                                              "the queue statements make no job",
		"executable = a\nelse\nqueue":                                                                          "t.sub:2:1: else without an if",
		"executable = a\nif $(x) == 3\nendif\nqueue":                                                           "is not supported",
		"executable = a\ninclude : none.inc\nqueue":                                                            "include none.inc: file does not exist",
		"executable = a\ninclude : circle.inc\nqueue":                                                          "circle.inc:1:1: more than 8 texts include each other",
		"executable = a\ninclude : open.inc\nendif\nqueue":                                                     "open.inc:1:1: an if has no endif",
		"executable = a\ninclude command : ls\nqueue":                                                          "include of a program is not supported",
		"executable = a\nuse feature : x\nqueue":                                                               "use is not supported",
		"executable = a\narguments @=x\n1\nqueue":                                                              "the value is not closed by @x",
		"executable = a\narguments = $(ARCH)\nqueue":                                                           "only the pool knows it",
		"executable = a\narguments = $INT(none)\nqueue":                                                        `"none" is no number`,
		"executable = a\narguments = $INT(1,%s)\nqueue":                                                        `"%s" is no format`,
		"executable = a\narguments = $CHOICE(3,a,b)\nqueue":                                                    "is no place in the list",
		"executable = a\nqueue x in (a":                                                                        "is not closed by )",
		"executable = a\nif true\nqueue":                                                                       "an if has no endif",
		"executable = a\narguments = $(a)\na = $(b)\nb = $(a)\nqueue":                                          "circle",
		"executable = a\narguments = \"'x\"\nqueue":                                                            "a single quote is not closed",
		"executable = a\nrequest_cpus = 2 * x\nqueue":                                                          "expressions of what the pool knows are not supported",
		"executable = a\nqueue 1000000":                                                                        "more than 100000 jobs",
		"executable a\nqueue":                                                                                  "expected name = value",
		"executable = a\narguments = $$(Memory)\nqueue":                                                        "replaced at match time",
		"executable = a\narguments = $$([1+1])\nqueue":                                                         "replaced at match time",
		"executable = a\narguments = $ENV(NOPE)\nqueue":                                                        "the variable is not set (HTCondor writes UNDEFINED): set it, or say $ENV(NOPE:VALUE)",
		"executable = a\narguments = $Fz(a)\nqueue":                                                            "$Fz(a) is not supported",
		"executable = a\nuniverse = docker\nqueue":                                                             "t.sub:2:1: universe docker without a container_image or docker_image",
		"executable = a\nuniverse = container\nqueue":                                                          "universe container without",
		"executable = a\nshould_transfer_files = maybe\nqueue":                                                 "should_transfer_files = maybe: it is YES, NO, IF_NEEDED",
		"executable = a\nshould_transfer_files = 1\nqueue":                                                     "should_transfer_files = 1",
		"executable = a\nshould_transfer_files = NO\nwhen_to_transfer_output = ON_EXIT\nqueue":                 "t.sub:3:1: when_to_transfer_output = ON_EXIT contradicts should_transfer_files = NO",
		"executable = a\nshould_transfer_files = never\nwhen_to_transfer_output = NEVER\nqueue":                "when_to_transfer_output = NEVER contradicts should_transfer_files = never",
		"executable = a\nshould_transfer_files = If_Needed\nwhen_to_transfer_output = ON_EXIT_OR_EVICT\nqueue": "contradicts should_transfer_files = If_Needed",
		"executable = a\nwhen_to_transfer_output = late\nqueue":                                                "when_to_transfer_output = late: it is ON_EXIT, ON_EXIT_OR_EVICT, ON_SUCCESS",
		"executable = a\nif version >= 99\nendif\nqueue":                                                       "if version >= 99 is not understood",
		"executable = a\nif version 8.1\nendif\nqueue":                                                         "if version 8.1 is not understood",
		"executable = a\nqueue 3k":                                                                             "queue 3k is not understood",
		"executable = a\nqueue 0x3":                                                                            "queue 0x3 is not understood",
		"executable = a\nqueue 1e12":                                                                           "more than",
		"executable = a\narguments = $INT2(a)\nqueue":                                                          "$INT2(a) is not supported",
	} {
		if _, err := condor.Read("t.sub", []byte(src), near(), func(*classad.Diagnostic) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v\nwant %s", src, err, want)
		}
	}
}

const full = `# everything
universe = vanilla
executable = bin/run.sh
arguments = "'a b' 'say ""hi""' 'it''s' '$(DOLLAR)(x)'"
environment = "A='1 2' B='it''s'"
input = data/in.txt
output = out.$(Process)
error = err.$(Process)
log = job.log
transfer_input_files = /abs/one, two, https://h.example/three
transfer_output_files = result.root
request_cpus = 4
request_memory = 8 GB
request_disk = 2000000
request_gpus = 1
allowed_execute_duration = 7200
max_retries = 3
requirements = (OpSys == "LINUX")
+JobFlavour = "longlunch"
periodic_remove = JobStatus == 5
accounting_group = group_cms
queue
`

// TestThereAndBack: a description that is read, written and read again is the
// same job.
func TestThereAndBack(t *testing.T) {
	first := jobs(t, full)[0]
	d := first.Demand
	if got := []any{d.Slots, d.Memory, d.Disk, d.GPUs, d.WallTime.String(), first.Executable, first.RetryCount, first.RetryAnyExit}; !reflect.DeepEqual(got,
		[]any{4, int64(2048), int64(1954), 1, "2h0m0s", "run.sh", 3, true}) {
		t.Errorf("read %v", got)
	}
	text, err := condor.Write(first, condor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`requirements = (OpSys == "LINUX")`, `My.jobflavour = "longlunch"`, "periodic_remove = JobStatus == 5",
		"accounting_group = group_cms", `arguments = "'a b' 'say ""hi""' 'it''s' '$(DOLLAR)(x)'"`, "executable = /job/bin/run.sh"} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	again := jobs(t, string(text))[0]
	same(t, first, again)
	bulk := jobs(t, string(condor.Bulk(text, []byte("executable = /bin/ls\ntransfer_executable = false\nqueue\n"))))
	if len(bulk) != 2 || bulk[1].Executable != "/bin/ls" || len(bulk[1].Args) > 0 || bulk[1].Demand.GPUs > 0 {
		t.Errorf("the second of two is %+v", bulk[1])
	}
}

func same(t *testing.T, a, b *jdl.Job) {
	t.Helper()
	if a.Executable != b.Executable || !reflect.DeepEqual(a.Args, b.Args) || !reflect.DeepEqual(a.Environment, b.Environment) ||
		!reflect.DeepEqual(a.Demand, b.Demand) || a.StdInput != b.StdInput || a.StdOutput != b.StdOutput || a.StdError != b.StdError ||
		len(a.InputSandbox) != len(b.InputSandbox) || !reflect.DeepEqual(a.OutputSandbox, b.OutputSandbox) {
		t.Errorf("%s\nbecame\n%s", a.Text(), b.Text())
	}
}

// FuzzRead: what is read can be written, and is then the same program.
func FuzzRead(f *testing.F) {
	f.Add(full)
	f.Add("executable=a\narguments=$(x)\nqueue 2 x,y from (\n1 2\n)")
	f.Add("executable=/bin/a\ntransfer_executable=false\nenvironment=A=1;B=2\nqueue in (a b)")
	f.Fuzz(func(t *testing.T, src string) {
		ads, err := condor.Read("f", []byte(src), near(), func(*classad.Diagnostic) {})
		if err != nil || len(ads) > 50 {
			return
		}
		set, err := jdl.FromRecords("f", []byte(src), ads, jdl.WithoutFiles(), jdl.WithDir("/job"), jdl.WithDialect(jdl.GLite))
		if err != nil {
			return
		}
		for _, j := range set.Jobs {
			text, err := condor.Write(j, condor.Options{})
			if err != nil {
				continue
			}
			again := jobs(t, string(text))
			if strings.HasPrefix(j.Executable, "/") && (len(again) != 1 || again[0].Executable != j.Executable || jdl.JoinArgs(again[0].Args) != jdl.JoinArgs(j.Args)) {
				t.Fatalf("%s\nbecame\n%s", j.Text(), text)
			}
		}
	})
}

// Few lines that become much: macros of macros are counted by what they make, in
// queue statements too.
func TestMacroBombs(t *testing.T) {
	testbed.Computes(t)
	bomb := "executable = /bin/true\na0 = xxxxxxxxxx\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d = %s\n", i+1, strings.Repeat(fmt.Sprintf("$(a%d)", i), 10))
	}
	var many, kept, files strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "b%d = 1\n", i)
		fmt.Fprintf(&kept, "+b%d = 1\n", i)
		fmt.Fprintf(&files, "/f%d,", i)
	}
	for name, text := range map[string]string{
		"commands": many.String() + "executable = /bin/true\nqueue 10000\n", "kept": kept.String() + "executable = /bin/true\nqueue 10000\n",
		"statements": many.String() + "executable = /bin/true\n" + strings.Repeat("x = 1\nqueue 1\n", 20_000),
		"conditions": many.String() + strings.Repeat("x = 1\nif $(x) == 2\nendif\n", 20_000) + "executable = /bin/true\nqueue\n",
		"variables":  "executable = /bin/true\nenvironment = \"" + strings.Repeat("A=1 ", 20_000) + "\"\nqueue 10000\n",
		"files":      "executable = /bin/true\ntransfer_input_files = " + files.String() + "\nqueue 10000\n",
		"value":      bomb + "arguments = $(a7)\nqueue\n", "values": bomb + "arguments = $(a6)\nqueue 100\n",
		"queue": bomb + strings.Repeat("queue $(a6)\n", 1000), "circle": "executable = /bin/true\na = $(b)$(b)\nb = $(a)$(a)\narguments = $(a)\nqueue\n",
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Within(t, 2*time.Second, 200<<20, func() {
				if _, err := condor.Read("bomb.sub", []byte(text), near(), func(*classad.Diagnostic) {}); err == nil {
					t.Error("it is read")
				}
			})
		})
	}
	for name, text := range map[string]string{
		"commands": many.String() + many.String() + "executable = /bin/true\nqueue\n", "statements": "executable = /bin/true\n" + strings.Repeat("queue\n", 20_000),
	} {
		testbed.Within(t, 2*time.Second, 200<<20, func() {
			if _, err := condor.Read("long.sub", []byte(text), near(), func(*classad.Diagnostic) {}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// Words without end are written about as fast as they are copied.
func TestManyWords(t *testing.T) {
	words := make([]string, 100_000)
	for i := range words {
		words[i] = "a"
	}
	job := &jdl.Job{Executable: "/bin/echo", Args: words}
	each := testing.AllocsPerRun(1, func() {
		if _, err := condor.Write(job, condor.Options{}); err != nil {
			t.Error(err)
		}
	}) / float64(len(words))
	if each > 2 {
		t.Errorf("%.1f allocations for a word", each)
	}
}

// TestNothingIsReplaced: texts of a job that condor_submit or the negotiator
// would replace, with the submitter's own environment among them, reach the job
// as they are, or there is an error.
func TestNothingIsReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"$ENV(HOME)": "$(DOLLAR)ENV(HOME)", "$(Cluster)": "$(DOLLAR)(Cluster)", "$$(Name)": "$$(DOLLARDOLLAR)(Name)",
		"$$ENV(HOME)": "$(DOLLAR)$(DOLLAR)ENV(HOME)", "$RANDOM_CHOICE(a,b)": "$(DOLLAR)RANDOM_CHOICE(a,b)", "$INT2(x)": "$(DOLLAR)INT2(x)",
		"a$b (c)": "a$b (c)", "$": "$", "$$": "$$", "$5": "$5", "$$([1])$(x)": "$$(DOLLARDOLLAR)([1])$(DOLLAR)(x)",
	} {
		job := &jdl.Job{Executable: "/bin/echo", Args: []string{text}, Environment: []jdl.EnvVar{{Name: "V", Value: text}}}
		out, err := condor.Write(job, condor.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, line := range []string{`arguments = "'` + want + `'"`, `environment = "V='` + want + `'"`} {
			if !strings.Contains(string(out), line+"\n") {
				t.Errorf("%s: no line %s in\n%s", text, line, out)
			}
		}
		if again := jobs(t, string(out))[0]; again.Args[0] != text || again.Environment[0].Value != text {
			t.Errorf("%s became %q and %q", text, again.Args, again.Environment)
		}
	}
}

// TestLinesThatCannotBe: what would end in the next line, or lose its ends, is refused.
func TestLinesThatCannotBe(t *testing.T) {
	in := func(source string) []jdl.InputFile { return []jdl.InputFile{{Source: source, Name: "f"}} }
	for want, job := range map[string]*jdl.Job{
		"executable: no line of a submit description can end in a backslash": {Executable: `/opt/run\`},
		"executable: a submit description does not keep the blanks":          {Executable: "/opt/run "},
		"output: no line of a submit description can end":                    {Executable: "/bin/ls", StdOutput: `o\`},
		"cannot hold the control character":                                  {Executable: "/bin/ls", Name: "a\nqueue 100"},
		"Arguments: a submit description cannot hold the $$$( of":            {Executable: "/bin/ls", Args: []string{"$$$(x)"}},
		`file "/d/a,b": a submit description cannot name it`:                 {Executable: "/bin/ls", InputSandbox: in("/d/a,b")},
		`file "/d/a\"b": a submit`:                                           {Executable: "/bin/ls", InputSandbox: in(`/d/a"b`)},
		`file " /d/a": a submit`:                                             {Executable: "/bin/ls", InputSandbox: in(" /d/a")},
	} {
		if text, err := condor.Write(job, condor.Options{Lossy: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s\n%s", err, want, text)
		}
	}
	text, err := condor.Write(&jdl.Job{Executable: "/bin/ls", Name: " n "}, condor.Options{})
	if err != nil || !strings.Contains(string(text), "\nJobBatchName = n\n") {
		t.Errorf("a name with blanks: %v\n%s", err, text)
	}
}

// FuzzEnvironment: what a variable of whoever submits holds becomes part of the values that name it, and never
// another command, file or job.
func FuzzEnvironment(f *testing.F) {
	for _, value := range []string{"a b", "x\nexecutable = /bin/evil\nqueue 5", "$(a)", "$ENV(X)", "'\"", "\\\nqueue", "a = b, c", "$$(x)", strings.Repeat("$ENV(X)", 50), "include : i.inc"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		getenv := func(name string) string { return map[string]string{"X": value}[name] }
		at := jdl.NewNearby("t.sub", jdl.WithRoot(fstest.MapFS{}), jdl.WithDir("/job"), jdl.WithEnvironment(getenv))
		src := "executable = /bin/true\ntransfer_executable = false\na = $ENV(X)\narguments = $ENV(X)\n+Note = \"$(a)\"\nqueue 2\n"
		ads, err := condor.Read("f", []byte(src), at, func(*classad.Diagnostic) {})
		if err != nil {
			return
		}
		if len(ads) > 2 {
			t.Fatalf("%q makes %d jobs", value, len(ads))
		}
		set, err := jdl.FromRecords("f", []byte(src), ads, jdl.WithoutFiles(), jdl.WithDir("/job"), jdl.WithDialect(jdl.GLite))
		if err != nil {
			return
		}
		for _, j := range set.Jobs {
			if j.Executable != "/bin/true" || len(j.InputSandbox) > 0 {
				t.Fatalf("%q makes the job %s", value, j.Text())
			}
		}
	})
}

// TestContinuedAsCondorSubmit has what condor_submit 23.9 was seen to make of comments with -dry-run: one goes on in no other line,
// and in the middle of a line that goes on it is no part of it.
func TestContinuedAsCondorSubmit(t *testing.T) {
	for src, want := range map[string]string{
		"# arguments = y \\\narguments = a\nqueue":                          "a",
		"arguments = a \\\n#  b \\\n   # c \\\n  d\nqueue":                  "a d",
		"arguments @=e\n # x\n b\n  c \\\n  d\n\n@e\nqueue":                 "b c d",
		"arguments @=e\n # x \\\n b\n@e\nqueue":                             "b",
		"arguments @=e\n a \\\n # c \\\n  d\n b\n@e\nqueue":                 "a d b",
		"arguments = $(x)\nqueue x from (\n # c \\\n b\n d\n)":              "b|d",
		"arguments = $(x)\nqueue x from (\n a \\\n # c \\\n b\n # d\n e\n)": "a b|e",
	} {
		if got := argsOf(jobs(t, "executable = /bin/x\n"+src)); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
	const odd = "executable = /bin/x\narguments = a \\\n # b\nqueue\n"
	if _, err := condor.Read("t.sub", []byte(odd), near(), nil); err == nil || !strings.Contains(err.Error(), "t.sub:3:1: a comment ends the line that begins in line 2") {
		t.Errorf("a comment that ends a line: %v", err)
	}
}

// TestClusters has the numbers that condor_submit 23.9 was seen to give with -dry-run, from 0 on: another text of executable begins
// a cluster, with whichever job it begins.
func TestClusters(t *testing.T) {
	for src, want := range map[string]string{
		"executable = /bin/a\nqueue 2\nqueue\nexecutable = /bin/a\nqueue\nexecutable = /bin/b\nqueue 2\nexecutable = /bin/a\nqueue": "0.0|0.1|0.2|0.3|1.0|1.1|2.0",
		"executable = $(prog)\nqueue prog in (/bin/a, /bin/b)\nexecutable = /bin/b\nqueue\nexecutable = /bin/a\nqueue":              "0.0|0.1|1.0|2.0",
		"x = /bin/a\nexecutable = $(x)\nqueue\nx = /bin/b\nqueue\nexecutable = /bin/b\nqueue":                                       "0.0|0.1|1.0",
		"executable = /bin/a\nqueue\nexecutable = /bin/b\nqueue 0\nexecutable = /bin/a\nqueue":                                      "0.0|2.0",
	} {
		if got := argsOf(jobs(t, "arguments = $(Cluster).$(Process)\n"+src)); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// Texts of a few lines that include each other, and functions that say little, are counted: neither keeps anybody busy.
func TestTextsThatIncludeEachOther(t *testing.T) {
	testbed.Computes(t)
	files := fstest.MapFS{"job/i0.inc": &fstest.MapFile{Data: []byte("x = 1\n")}, "job/a.sub": &fstest.MapFile{Data: []byte("executable = /bin/true\nqueue\n")}}
	for i := range 6 {
		files[fmt.Sprintf("job/i%d.inc", i+1)] = &fstest.MapFile{Data: []byte(strings.Repeat(fmt.Sprintf("include : i%d.inc\n", i), 60))}
		files[fmt.Sprintf("job/i%d.dag", i+1)] = &fstest.MapFile{Data: []byte(strings.Repeat(fmt.Sprintf("INCLUDE i%d.dag\n", i), 60))}
	}
	files["job/i0.dag"] = &fstest.MapFile{Data: []byte("# nothing\n")}
	where := jdl.NewNearby("t.sub", jdl.WithRoot(files), jdl.WithDir("/job"))
	calls := "executable = /bin/true\na = $REAL($INT($EVAL(1)))\nx = " + strings.Repeat("$(a)", 50_000) + "\narguments = " + strings.Repeat("$(x)", 300) + "\nqueue\n"
	for name, read := range map[string]func() error{
		"texts": func() error {
			_, err := condor.Read("t.sub", []byte("include : i6.inc\nexecutable = /bin/true\nqueue\n"), where, func(*classad.Diagnostic) {})
			return err
		},
		"texts of a DAG": func() error {
			_, err := condor.ReadDAG("t.dag", []byte("INCLUDE i6.dag\nJOB a a.sub\n"), where, func(*classad.Diagnostic) {})
			return err
		},
		"calls": func() error {
			_, err := condor.Read("t.sub", []byte(calls), where, func(*classad.Diagnostic) {})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Within(t, 2*time.Second, 200<<20, func() {
				want := "2048 texts"
				if name == "calls" {
					want = "macros make more than 16 MB"
				}
				if err := read(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestGapInARow: a row of queue that leaves a variable empty before one with a value is told of, others are not.
func TestGapInARow(t *testing.T) {
	for row, want := range map[string]string{"a , b, c": `row 0 of queue, "a , b, c", leaves y empty`, "a,,c": "leaves y empty", ",b,c": "leaves x empty",
		"a, b, c": "", "a b": "", "a": ""} {
		told := ""
		src := "executable = a\ntransfer_executable = false\narguments = $(x) $(y) $(z)\nqueue x,y,z from (\n" + row + "\n)"
		if _, err := condor.Read("t.sub", []byte(src), near(), func(d *classad.Diagnostic) { told += d.Error() }); err != nil {
			t.Errorf("%s: %v", row, err)
		}
		if (told == "") != (want == "") || !strings.Contains(told, want) {
			t.Errorf("%s: told %q, want %q", row, told, want)
		}
	}
}

// Words for whether files are brought that condor_submit takes are taken, where nothing contradicts them.
func TestWhetherFilesAreBrought(t *testing.T) {
	for _, lines := range []string{
		"should_transfer_files = ALWAYS\nwhen_to_transfer_output = ON_EXIT_OR_EVICT", "should_transfer_files = never",
		"when_to_transfer_output = ON_EXIT_OR_EVICT", "should_transfer_files = IF_NEEDED\nwhen_to_transfer_output = ON_SUCCESS",
	} {
		told := ""
		if _, err := condor.Read("t.sub", []byte("executable = a\n"+lines+"\nqueue"), near(), func(d *classad.Diagnostic) { told += d.Error() }); err != nil {
			t.Errorf("%q: %v", lines, err)
		}
		if strings.Contains(lines, "EVICT") != strings.Contains(told, "not when it is evicted") {
			t.Errorf("%q: told %q", lines, told)
		}
	}
}

// TestKeptCommandsAreNoStatements: of what a description in JDL says is kept for HTCondor nothing is written that runs a program where
// it is submitted, says something else of the job than the description does, or takes a variable along.
func TestKeptCommandsAreNoStatements(t *testing.T) {
	for kept, want := range map[string]string{
		`rank = "Memory"`:                              "rank = Memory\n",
		`'+ProjectName' = "\"x\""`:                     "My.ProjectName = \"x\"\n",
		`periodic_hold = "JobStatus == 2"`:             "periodic_hold = JobStatus == 2\n",
		`'include command : touch /tmp/x #' = "x"`:     "",
		`'+x = 1 #' = "x"`:                             "",
		`'periodic_x : queue 7 #' = "x"`:               "",
		`'queue 7 #' = "x"`:                            "",
		`executable = "/bin/rm"`:                       "",
		`Transfer_Input_Files = "/home/me/.ssh/id"`:    "",
		`log = "/home/me/.bashrc"`:                     "",
		`getenv = "true"`:                              "",
		`use = "template : x"`:                         "",
		`requirements = "x == \"$ENV(BEARER_TOKEN)\""`: "",
	} {
		job, err := jdl.ParseJob("j.jdl", []byte(`Executable = "/bin/true"; JobName = "n"; CondorSubmit = [ `+kept+` ];`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := condor.Write(job, condor.Options{})
		if (err == nil) != (want != "") || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%s", kept, err, text)
		}
	}
}
