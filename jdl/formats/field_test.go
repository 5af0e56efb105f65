package formats

import (
	"fmt"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
	"gridbroker/testdata/testbed"
)

// TestForeignAsWritten: what is said of descriptions in other languages; ""
// stands for nothing.
func TestForeignAsWritten(t *testing.T) {
	const open = "<ActivityDescription>\n <Application><Executable><Path>/bin/ls</Path>\n"
	for _, c := range []struct{ src, want string }{
		{`&(executable=/bin/ls)(join=yes)(stdout=o)(stderr=e)`, `error xrsl 1 join and stderr exclude each other`},
		{`&(executable=/bin/ls)(join=yes)`, `error xrsl 1 join needs stdout`},
		{`&(executable=/bin/ls)(countPerNode=2)`, `error xrsl 1 countPerNode needs count`},
		{`&(arguments=a)`, `error xrsl 1 a request needs executable`},
		{`&(executable=/bin/ls)(rerun=9)`, `warning not-used 1 rerun is at most 5: that is taken`},
		{`&("executable"="/bin/ls")('arguments'=x)`, ``},
		{`&(executable=/bin/ls)(arguments=)`, `warning not-used 1 arguments has no value`},
		{`&(&(executable=/bin/ls)(count=2))(&(arguments=a))`, ``},
		{`&(executable=/bin/ls)(memory>=2000)(disk>=1)(count>=2)(cputime<=60)(walltime<=60)`, ``},
		{`&(executable=/bin/ls)(memory>2000)(disk>1)(count>1)(cputime<60)(walltime<60)`, ``},
		{`&(executable=/bin/ls)(memory<=2000)`, `warning not-used 1 memory <= is read as memory =, as ARC reads it`},
		{`&(executable=/bin/ls)(jobname!=x)`, `warning not-used 1 jobname != is read as jobname =, as ARC reads it`},
		{`&(executable=/bin/ls)(queue>a)`, `error xrsl 1 queue >: only = and != can be asked of a queue`},
		{`&(executable=/bin/ls)(environment=("A" "1"))(environment=("B" "2"))(inputfiles=(a ""))(inputfiles=(b ""))`, ``},
		{`&(executable=/bin/ls)(environment=("A" "1" "2"))`, `error xrsl 1 environment wants pairs`},
		{`&(executable=/bin/ls)(inputfiles=(a))`, `error xrsl 1 inputfiles wants pairs`},
		{`&(executable=/bin/ls)(dryrun=yes)`, `error xrsl 1 dryRun=yes: a job would be sent all the same`},
		{`&(executable=/bin/ls)(cache=copy)`, `warning not-used 1 cache=copy is not used`},
		{`&(executable=/bin/ls)(cache=yes)(dryrun=no)`, ``},
		{`&(executable=/bin/ls)(nodeAccess=sideways)`, `error xrsl 1 nodeAccess is inbound or outbound`},
		{"&(executable=/bin/ls)\n(middleware=nordugrid-arc-6)(ftpThreads=3)", `warning not-used 2 middleware is not used`},
		{"&(executable=/bin/ls)\n(gmlog=log)", `warning not-used 2 gmlog is not used`},
		{"&(executable=/bin/ls)\n(inputFiles=(a \"gsiftp://h/a\" \"threads=4\"))", `warning not-used 2 options of inputfiles are not used`},
		{"&(executable=/bin/ls)\n(arguments=\"na\xefve\")", `warning not-utf8 2 the text is not UTF-8`},
		{"Executable = \"/bin/ls\";\n// \xfc", `warning not-utf8 2 the text is not UTF-8`},
		{"Executable = \"/bin/ls\"; // \ufffd", ``},
		{`&(executable=/bin/ls)(|(queue=q1)(queue=q2))`, ``},
		{`&(executable=/bin/ls)(|(memory=1)(memory=2))`, `error xrsl 1 alternatives (|) of memory are not supported`},
		{open + "<FailIfExitCodeNotEqualTo>3</FailIfExitCodeNotEqualTo></Executable></Application></ActivityDescription>",
			`warning not-used 3 <FailIfExitCodeNotEqualTo> is not used`},
		{open + "<FailIfExitCodeNotEqualTo> 0 </FailIfExitCodeNotEqualTo></Executable></Application></ActivityDescription>", ``},
		{open + "</Executable></Application><Resources><WallTime>1h</WallTime></Resources></ActivityDescription>", `error adl 3 "1h" is no whole number`},
		{`<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl"/>`, `error adl 1 this is JSDL`},
		{open + "</Executable><PreExecutable><Path>/a</Path></PreExecutable>\n<PreExecutable><Path>/b</Path></PreExecutable></Application></ActivityDescription>",
			`warning not-used 4 only the first <PreExecutable> is run`},
		{open + "</Executable></Application><DataStaging><InputFile><Name>x</Name><Source><URI>https://h/x</URI></Source>\n<Source><URI>https://i/x</URI></Source></InputFile></DataStaging></ActivityDescription>",
			`warning not-used 4 x: only the first <Source> is used`},
		{open + "</Executable></Application><DataStaging><OutputFile><Name>x</Name><Target><URI>https://h/x</URI>\n<Mandatory>false</Mandatory></Target></OutputFile></DataStaging></ActivityDescription>",
			`warning not-used 4 <Mandatory> is not used`},
		{open + "</Executable></Application>\n<Resources><IndividualCPUTime>1</IndividualCPUTime><TotalCPUTime>2</TotalCPUTime></Resources></ActivityDescription>",
			`warning not-used 4 <TotalCPUTime> is not used beside`},
	} {
		found := Lint("f", []byte(c.src), jdl.WithRoot(allFiles{}), jdl.WithDir("/job"))
		var got []string
		for _, d := range found {
			got = append(got, strings.Join([]string{d.Severity.String(), d.Code, string(rune('0' + d.Pos.Line)), d.Msg}, " "))
		}
		if text := strings.Join(got, " | "); !strings.HasPrefix(text, c.want) || c.want == "" && text != "" || len(got) > 1 {
			t.Errorf("%s\n got %s\nwant %s", c.src, text, c.want)
		}
	}
}

func TestAlternativesOfQueues(t *testing.T) {
	j := parseTest(t, `&(executable=/bin/ls)(|(queue=q1)(queue="q 2"))`)
	if got := classad.Unparse(j.Requirements); !strings.HasPrefix(got, `(other.GlueCEName == "q1" || other.GlueCEName == "q 2")`) {
		t.Error(got)
	}
}

// TestAdjacentTexts: texts with nothing between them are one, as arcsub reads
// them, and values of variables may be made of others.
func TestAdjacentTexts(t *testing.T) {
	j := parseTest(t, `&(rsl_substitution=("T" "/home/n"))(rsl_substitution=("N" $(T)/y))(executable=/bin/echo)(arguments=$(N) $(T)/z a$(T) "q"$(T)"r" a"b" c # d $(T) / x)`)
	testbed.Equal(t, "arguments", strings.Join(j.Args, "|"), "/home/n/y|/home/n/z|a/home/n|q/home/nr|ab|cd|/home/n|/|x")
}

// TestQueuesLeftOut: queue!= leaves a queue out, and gridTime of one slot is
// both times, as arcsub has them.
func TestQueuesLeftOut(t *testing.T) {
	j := parseTest(t, `&(executable=/bin/ls)(queue!=short)(queue!=test)(gridTime="2 hours")`)
	if got := classad.Unparse(j.Requirements); !strings.HasPrefix(got, `(other.GlueCEName == "short") isnt true && (other.GlueCEName == "test") isnt true`) {
		t.Error(got)
	}
	testbed.Equal(t, "times", fmt.Sprint(j.Demand.WallTime, j.Demand.CPUTime), "2h0m0s 2h0m0s")
}

// TestWishes: platform, host and network of a node go through both of ARC's
// languages; of other clauses of Requirements it is said that they are left out.
func TestWishes(t *testing.T) {
	j := parseTest(t, `&(executable=/bin/ls)(architecture=x86_64)(cluster=ce.example.org)(nodeAccess=inbound outbound)(rerun=2)`)
	text, err := xrsl.Write(j, xrsl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := parseTest(t, string(text))
	testbed.Equal(t, "xrsl", classad.Unparse(again.Requirements), classad.Unparse(j.Requirements))
	testbed.Equal(t, "warnings of xrsl", len(j.BrokerOnly(xrsl.Written(j)...)), 0)
	if text, err = adl.Write(j, adl.Options{Alone: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "<nordugrid-adl:Rerun>2</nordugrid-adl:Rerun>") { // without its namespace's prefix A-REX passes it over
		t.Errorf("adl: %s", text)
	}
	again = parseTest(t, string(text))
	w, _ := again.Wishes()
	testbed.Equal(t, "adl", w, jdl.Wishes{Platform: "x86_64", Inbound: true, Outbound: true})
	testbed.Equal(t, "retries", again.RetryCount, 2)
	testbed.Equal(t, "warnings of adl", len(j.BrokerOnly(adl.Written(j)...)), 1) // the host
	j = parseTest(t, "Executable = \"/bin/ls\"; Requirements = other.GlueHostArchitecturePlatformType == \"x\" && other.GlueCEInfoTotalCPUs > 3;")
	testbed.Equal(t, "one that xRSL has no word for", len(j.BrokerOnly(xrsl.Written(j)...)), 1)
	testbed.Equal(t, "written by no other", len(j.BrokerOnly(condor.Written(j)...)), 1)
}

// TestOptionsOfEnvironments go through both languages.
func TestOptionsOfEnvironments(t *testing.T) {
	j := parseTest(t, `&(executable=/bin/ls)(runTimeEnvironment="R" "opt 1" "opt2")(runTimeEnvironment="S")`)
	check := func(what string, j *jdl.Job) {
		testbed.Equal(t, what, j.Demand.RuntimeEnvironments, []string{"R", "S"})
		testbed.Equal(t, what, j.Demand.RuntimeOptions, map[string][]string{"R": {"opt 1", "opt2"}})
	}
	check("xrsl", j)
	text, err := adl.Write(j, adl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check("adl", parseTest(t, string(text)))
	if text, err = xrsl.Write(j, xrsl.Options{}); err != nil {
		t.Fatal(err)
	}
	check("xrsl again", parseTest(t, string(text)))
	again, err := jdl.LoadJob(j.Text())
	if err != nil {
		t.Fatal(err)
	}
	check("jdl", again)
}

// TestLosses: what a language cannot say is an error that names the attribute
// and its place, and is left out when that is asked for.
func TestLosses(t *testing.T) {
	write := map[string]func(j *jdl.Job, lossy bool) ([]byte, error){
		"adl":    func(j *jdl.Job, lossy bool) ([]byte, error) { return adl.Write(j, adl.Options{Lossy: lossy}) },
		"xrsl":   func(j *jdl.Job, lossy bool) ([]byte, error) { return xrsl.Write(j, xrsl.Options{Lossy: lossy}) },
		"sbatch": func(j *jdl.Job, lossy bool) ([]byte, error) { return sbatch.Write(j, sbatch.Options{Lossy: lossy}) },
	}
	for _, c := range []struct{ attr, to, want string }{
		{"GPUNumber = 2;", "adl", "GPUNumber: ADL cannot ask for GPUs"},
		{"GPUNumber = 2;", "xrsl", "GPUNumber: xRSL cannot ask for GPUs"},
		{"GPUNumber = 2;", "sbatch", ""},
		{"VirtualMemory = 500;", "xrsl", "VirtualMemory: xRSL cannot ask for virtual memory"},
		{"VirtualMemory = 500;", "adl", ""},
		{"VirtualMemory = 500;", "sbatch", "VirtualMemory: Slurm cannot"},
		{"CPUTime = 3600;", "sbatch", "CPUTime: Slurm limits wall time alone"},
		{"CPUTime = 3600; WallTime = 7200;", "sbatch", ""},
		{`RunTimeEnvironment = "A";`, "sbatch", "RunTimeEnvironment: Slurm does not know A"},
		{"Disk = 5000;", "sbatch", ""},
	} {
		j := parseTest(t, "Executable = \"/bin/ls\";\n"+c.attr)
		_, err := write[c.to](j, false)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s to %s: %v", c.attr, c.to, err)
		}
		if _, err := write[c.to](j, true); err != nil {
			t.Errorf("%s to %s, lossy: %v", c.attr, c.to, err)
		}
	}
	j := parseTest(t, `Executable = "/bin/ls"; Rank = other.x; RetryCount = 1;`)
	testbed.Equal(t, "for the broker", len(j.BrokerOnly()), 2)
}

// TestBareProgram: A-REX wants a file, so that a bare name is looked up by env.
func TestBareProgram(t *testing.T) {
	j := parseTest(t, `Executable = "singularity"; Arguments = "exec x";`)
	text, err := adl.Write(j, adl.Options{})
	if err != nil || !strings.Contains(string(text), "<Path>/usr/bin/env</Path>\n      <Argument>singularity</Argument>") {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = xrsl.Write(j, xrsl.Options{})
	if err != nil || !strings.Contains(string(text), `(executable = "/usr/bin/env")`) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := jdl.ParseJob("again", []byte(j.Text())); err != nil {
		t.Errorf("its own text: %v", err)
	}
}
