package jdl

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// TestOwnClauses: what Requirements are made of by names of the user's own is
// judged clause by clause, at the place where it is written; each name once.
func TestOwnClauses(t *testing.T) {
	src := "Executable = \"/bin/ls\";\nsites = member(other.GlueSiteUniqueID, {\"A\", \"B\"});\nenough = other.GlueCEPolicyMaxCPUTime > n && sites;\n" +
		"n = 60;\nflag = true;\nRequirements = enough && flag && !sites && enough;"
	j, err := ParseJob("t.jdl", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := classad.Unparse(j.Requirements), `other.GlueCEPolicyMaxCPUTime > n && member(other.GlueSiteUniqueID,{ "A","B" }) && flag &&  !sites && enough && other.GlueCEStateStatus == "Production"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if line := firstPos(classad.Conjuncts(j.Requirements)[0]).Line; line != 3 {
		t.Errorf("the first clause stands in line %d", line)
	}
	var b strings.Builder
	for i := range 60 { // each names the next twice: 2^60 without a bound
		fmt.Fprintf(&b, "a%d = a%d && a%d; ", i, i+1, i+1)
	}
	b.WriteString(`a60 = other.GlueCEStateFreeCPUs > 1; Executable = "/bin/ls"; Requirements = a0;`)
	if _, err := ParseJob("t.jdl", []byte(b.String())); err != nil {
		t.Error(err)
	}
	Lint("t.jdl", []byte(b.String()))
}

// TestAsWritten has descriptions as people write them: what Lint must say of
// each, as "error" or "warning", code and a part of the message or its hint. An
// empty list: nothing.
func TestAsWritten(t *testing.T) {
	files := fstest.MapFS{"job/run.sh": {Data: []byte("x")}, "home/here.dat": {Data: []byte("x")},
		"job/pbs.sh": {Data: []byte("#!/bin/sh\n#PBS -l nodes=1:ppn=8\nhostname\n")}, "job/slurm.sh": {Data: []byte("#!/bin/sh\n#SBATCH -n 8\nhostname\n")}}
	for _, c := range []struct{ src, want string }{
		{`Executable = "singularity"; Arguments = "exec img cmd";`, `warning not-in-sandbox the node must have it in its PATH`},
		{`Executable = "run.sh";`, `error not-in-sandbox Executable "run.sh" is not in the InputSandbox it lies beside the description: add it`},
		{`Executable = "run.sh"; Site = "LCG.CERN.ch";`, `warning not-in-sandbox Executable "run.sh" is not in the InputSandbox: the node must have it in its PATH a file of that name lies beside`},
		{`Executable = "start.sh";`, `error not-in-sandbox write its absolute path`},
		{`Executable = "pbs.sh"; InputSandbox = {"pbs.sh"};`, `warning batch-options Executable: pbs.sh has options for PBS, which nobody reads there say in the description what the job needs`},
		{`Executable = "slurm.sh"; InputSandbox = {"slurm.sh"};`, `warning batch-options Executable: slurm.sh has options for Slurm, which nobody reads there grid submit slurm.sh reads them`},
		{`Executable = "pbs.sh"; InputSandbox = {"pbs.sh"}; CPUNumber = 8;`, ``},
		{`Executable = "/bin/sh"; Arguments = "pbs.sh"; InputSandbox = {"pbs.sh"};`, ``},
		{`Executable = "$(CMS)/bin/sum.exe";`, `error relative-path let a shell do it`},
		{`Executable = "/bin/ls"; InputSandbox = {"here.dat"};`, `warning other-directory /home/here.dat is taken`},
		{`Executable = "/bin/ls"; InputSandbox = {"file://run.sh"};`, `warning file-url names a host; the file run.sh is taken`},
		{`Executable = "/bin/ls"; InputSandbox = {"file://job/run.sh", "file://localhost/home/here.dat"};`, ``},
		{`Executable = "/bin/ls"; InputSandbox = {"nowhere.dat"};`, `error no-file does not exist`},
		{`Executable = "/bin/ls"; OutputSandbox = {"a", ""};`, `warning empty-name OutputSandbox: an empty name is ignored`},
		{`Executable = "/bin/ls"; JobName = "x\ny";`, `error bad-name holds a control character`},
		{`Executable = "/bin/ls"; Environment = {"A='x y'"};`, `warning no-shell the quotes are part of the value of A`},
		{`Executable = "/bin/ls"; Environment = {"PATH=/opt/bin:$PATH"};`, `warning no-shell $PATH in the value of PATH is not replaced`},
		{`Executable = "/bin/sh"; Arguments = "run.sh $PICAS_DB"; InputSandbox = "run.sh";`, `warning no-shell $PICAS_DB reaches the program as it is`},
		{"Executable = \"/bin/echo\"; Arguments = \"\\\"`date`\\\"\";", "warning no-shell `date` reaches the program as it is"},
		{`Executable = "/bin/sh"; Arguments = "-c 'echo $HOME'";`, ``},
		{`Executable = "/bin/ls"; InputSandbox = {"LFN:/grid/x"};`, `error logical-name write lfn:/grid/x`},
		{`Executable = "/bin/ls"; InputSandbox = {"https://h.example/a b"};`, `error uri write https://h.example/a%20b`},
		{`Executable = "/bin/ls"; InputSandbox = {"SB:Store|/SandBox/x"};`, `error dirac-sandbox which only DIRAC can fetch`},
		{`Executable = "/bin/echo"; Arguments = "-i "my name"";`, `error syntax a quote inside a string is written \"`},
		{`Executable = "/bin/ls"; InputSandbox = "a", "b";`, `error syntax a list is written in braces: InputSandbox = {..};`},
		{`Executable = "/bin/ls"; JobType = "MPI";`, `error type JobType = "mpich"; CPUNumber = 4;`},
		{`Executable = "/bin/ls"; MaxCPUTime = 100;`, `warning unknown-attribute did you mean CPUTime?`},
		{`Executable = "/bin/ls"; Requirements = other.GlueCEPolicyMaxWallTime > 600;`, `warning unknown-glue-name no schema has an attribute GlueCEPolicyMaxWallTime did you mean other.GlueCEPolicyMaxWallClockTime?`},
		{`Executable = "/bin/ls"; Environment = "A=1;B_2=2";`, `warning joined Environment: B_2= is part of the value of A several are a list`},
		{`Executable = "/bin/ls"; Environment = "A=1, B=2";`, `warning joined Environment: B= is part of the value of A several are a list`},
		{`Executable = "/bin/ls"; Environment = {"A=1;b=2", "C=x,y"};`, ``},
		{`Executable = "/bin/ls"; Tags = {"long"};`, `warning tag Tag "long" is asked for as a runtime environment`},
		{"// web\nentity Job {\n  name String\n}", `error format JHipster`},
		{"#!/bin/bash\n#SBATCH -n 4\nsrun hostname\n", `error format this is a script for Slurm`},
		{"#SBATCH -n 4\nsrun hostname\n", `error format its first line has to be #!/bin/bash`},
		{"#BSUB -n 4\n./a.out\n", `error format begin it with #!/bin/sh, name it as the Executable`},
		{"##!/bin/bash\n\n# of our group\n#$ -S /bin/bash\n#$ -cwd\n./a.out x\n", `error format this is a script for Grid Engine`},
		{"  #### preamble\n  #PBS -N x\n  #PBS -l nodes=1\n./a.out\n", `error format this is a script for PBS`},
		{"#! /bin/bash\n\n#JDL JobName = x\n./a.out\n", `error format this is a script for DIRAC's dsub`},
		{"#!/bin/bash\n# @author me\n./a.out\n", `error format this is a program (#!/bin/bash)`},
		{"#!/bin/bash\n# @ job_type = parallel\n# @ queue\n./a.out\n", `error format this is a script for LoadLeveler`},
		{"#!/bin/sh\n#PBS -l nodes=1\n./a.out\n", `error format this is a script for PBS`},
		{"#!/usr/bin/env python3\nfrom x import y\n", `error format this is a program (#!/usr/bin/env python3), not a description`},
		{"#!/bin/sh\nmodule load x\n./a.out\n", `error format grid run -- ./PROGRAM runs one`},
		{"", `error missing the description is empty grid jdl new`},
		{"# nothing yet\n", `error missing the description is empty`},
		{"rule all:\n    input: \"x.txt\"\n", `error format this is a workflow for Snakemake`},
		{"nextflow.enable.dsl=2\nprocess x {\n}\n", `error format this is a workflow for Nextflow | warning dotted-name nextflow.enable.dsl`},
		{"// ours\nprocess align {\n", `error format this is a workflow for Nextflow`},
		{"#!/usr/bin/env nextflow\nparams.x = 1\nprocess align {\n  script: true\n}\n", `error format this is a workflow for Nextflow, not a description | warning dotted-name params.x`},
		{"version 1.0\nworkflow x {\n}\n", `error format this is a workflow in WDL`},
		{"cwlVersion: v1.2\nclass: Workflow\n", `error format this is a workflow in CWL`},
		{"FROM debian:12\nRUN true\n", `error format this is a recipe for container images`},
		{"Bootstrap: docker\nFrom: debian:12\n", `error format this is a recipe for images of Apptainer`},
		{"# ours\nstages:\n  - build\n", `error format this is a file in YAML`},
		{"FROM = 1;", `error missing the job has no Executable | warning unknown-attribute FROM`},
		{`Executable = "aliroot"; Packages = {"VO_ALICE@AliRoot::v4"}; Split = "file";`, `error alien the JDL of AliEn`},
		{`Executable = "/bin/ls"; InputFile = {"LF:/alice/x"};`, `error alien the JDL of AliEn`},
		{`Executable = "/bin/ls"; InputData = {/lhcb/data/x}; Site = "LCG.CERN.ch";`, `warning no-effect InputData is not brought | warning unquoted write "/lhcb/data/x"`},
		{`Executable = "/bin/cat"; Arguments = ".BrokerInfo";`, ``},
		{`Executable = "/bin/cat"; Arguments = ".BrokerInfo"; Site = "LCG.CERN.ch";`, `warning broker-info in gLite's dialect only`},
		{`Executable = "/bin/ls"; RetryOnExit = {1, 137}; AutoOutput = true; PerusalTimeInterval = "10 min";`, ``},
		{`Executable = "/bin/ls"; RetryOnExit = 300;`, `error range they are 1 to 255`},
		{`Executable = "/bin/ls"; RetryOnExit = "always";`, `error type RetryOnExit must be true, an exit code or a list of them`},
		{`Executable = "/bin/ls"; WallTime = "1:30:00"; CPUTime = "2d";`, ``},
	} {
		found := Lint("t.jdl", []byte(c.src), WithRoot(files), WithDir("/job"), WithFallbackDir("/home"))
		var got []string
		for _, d := range found {
			got = append(got, d.Severity.String()+" "+d.Code+" "+d.Msg+" "+d.Hint)
		}
		want := strings.Split(c.want, " | ")
		ok := c.want == "" && len(got) == 0 || c.want != "" && len(got) == len(want)
		for i := range min(len(got), len(want)) {
			head := strings.SplitN(want[i], " ", 3)
			ok = ok && (c.want == "" || strings.HasPrefix(got[i], head[0]+" "+head[1]+" ") && strings.Contains(got[i], head[2]))
		}
		if !ok {
			t.Errorf("%s\n got %s\nwant %s", c.src, strings.Join(got, " | "), c.want)
		}
	}
}

func TestRetriesExit(t *testing.T) {
	j := parseTest(t, `Executable = "/bin/ls"; RetryOnExit = {1, 137};`)
	testbed.Equal(t, "codes", []bool{j.RetriesExit(1), j.RetriesExit(137), j.RetriesExit(2), j.RetriesExit(0)}, []bool{true, true, false, false})
	j = parseTest(t, `Executable = "/bin/ls"; RetryOnExit = true;`)
	testbed.Equal(t, "any", []bool{j.RetriesExit(1), j.RetriesExit(0)}, []bool{true, false})
	again, err := LoadJob(j.Text())
	if err != nil {
		t.Fatal(err)
	}
	testbed.Equal(t, "any, read again", again.RetryAnyExit, true)
}

// TestParentFilesOfNodeFiles: the parent's files lie beside the parent's file,
// wherever the nodes' files lie, and what is wrong with them is said there.
func TestParentFilesOfNodeFiles(t *testing.T) {
	root := fstest.MapFS{
		"job/common.dat": {Data: []byte("right")}, "job/nodes/common.dat": {Data: []byte("wrong")}, "job/nodes/own.dat": {Data: []byte("x")},
		"job/nodes/a.jdl": {Data: []byte(`Executable = "/bin/ls"; InputSandbox = {"own.dat", root.InputSandbox[0]};`)},
	}
	src := `Type = "collection"; InputSandbox = {"common.dat"}; Nodes = { [ File = "nodes/a.jdl" ], [ File = "nodes/no.jdl" ], [ File = "nodes/neither.jdl" ] };`
	_, err := ParseJobs("all.jdl", []byte(src), WithRoot(root), WithDir("/job"))
	if text := errText(err); !strings.Contains(text, "nodes/no.jdl") || !strings.Contains(text, "nodes/neither.jdl") {
		t.Errorf("not every missing node is named: %s", text)
	}
	for _, name := range []string{"no", "neither"} {
		root["job/nodes/"+name+".jdl"] = &fstest.MapFile{Data: []byte(`Executable = "/bin/ls";`)}
	}
	set, err := ParseJobs("all.jdl", []byte(src), WithRoot(fs.FS(root)), WithDir("/job"))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range set.Jobs {
		if last := j.InputSandbox[len(j.InputSandbox)-1]; last.Source != "/job/common.dat" {
			t.Errorf("%s: %s", j.Node, last.Source)
		}
	}
	_, err = ParseJobs("all.jdl", []byte(strings.Replace(src, "common.dat", "gone.dat", 1)), WithRoot(root), WithDir("/job"))
	if text := errText(err); !strings.HasPrefix(text, "all.jdl:1:38: InputSandbox: gone.dat does not exist") {
		t.Errorf("got %s", text)
	}
}

// TestFaultsOfInheritedAttributes: what is wrong with an attribute that a node has of its parent is said where it
// stands, in the parent's file; what is wrong with the node's own is said in the node's.
func TestFaultsOfInheritedAttributes(t *testing.T) {
	root := fstest.MapFS{"job/nodes/a.jdl": {Data: []byte("Executable = \"/bin/ls\";\n\nSMPGranularity = 4;")}, "job/nodes/b.jdl": {Data: []byte(`Executable = "/bin/ls"; WallTime = "x";`)}}
	_, err := ParseJobs("all.jdl", []byte("Type = \"collection\";\nHostNumber = 2;\nNodes = { [ File = \"nodes/a.jdl\" ], [ File = \"nodes/b.jdl\" ] };"), WithRoot(root), WithDir("/job"))
	text := errText(err)
	for _, want := range []string{"all.jdl:2:14: HostNumber and SMPGranularity exclude each other", " | HostNumber = 2;", "nodes/b.jdl:1:36: WallTime"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
	// A warning of a node's own text is said, though something of the parent stands at that place in its text.
	for _, name := range []string{"a", "b"} {
		root["job/nodes/"+name+".jdl"] = &fstest.MapFile{Data: []byte("Executable = \"/bin/ls\";\nNodeNumber = 2;")}
	}
	set, err := ParseJobs("all.jdl", []byte("Type = \"collection\";\nRetryCount = 2; Nodes = { [ File = \"nodes/a.jdl\" ], [ File = \"nodes/b.jdl\" ] };"), WithRoot(root), WithDir("/job"))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range set.Jobs {
		if !slices.ContainsFunc(j.Warnings, func(d *classad.Diagnostic) bool {
			return d.Code == "old-name" && strings.HasSuffix(d.File, ".jdl") && d.File != "all.jdl"
		}) {
			t.Errorf("%s: %v", j.Node, j.Warnings)
		}
	}
}

// TestDIRACSequences is DIRAC's own: the sequence A has no number of its own.
func TestDIRACSequences(t *testing.T) {
	set := parseSet(t, `Executable = "/bin/ls"; Arguments = "%(A)s %(B)s"; Parameters = 3;
		ParameterStart.A = 1; ParameterStep.A = 1; ParameterFactor.A = 2; Parameters.B = {"a","b","c"};`)
	testbed.Equal(t, "arguments", argsOf(set), "1 a,3 b,7 c")
}

// TestTextIsAccepted: what convert writes is read again, nothing lost.
func TestTextIsAccepted(t *testing.T) {
	for name, src := range map[string]string{
		"equal values": `JobType = "Parametric"; Parameters = {a, a, b}; Executable = "/bin/_PARAM_";`,
		"output data":  `Executable = "/bin/ls"; OutputData = { [ OutputFile = "a"; StorageElement = "se.example.org"; LogicalFileName = "lfn:/grid/x" ] };`,
		"collocated":   `Type = "collection"; NodesCollocation = true; Rank = other.x; Requirements = other.y > 1; Nodes = { [ Executable = "/a"; CPUNumber = 4 ], [ Executable = "/b"; ] };`,
	} {
		set := parseSet(t, src)
		again, err := ParseJobs("again", []byte(set.Text()), WithRoot(testbed.JobFiles()), WithDir("/job"))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, set.Text())
			continue
		}
		testbed.Equal(t, name+" collocated", again.Collocated, set.Collocated)
		testbed.Equal(t, name+", written twice", again.Text(), set.Text())
		for i, j := range set.Jobs {
			testbed.Equal(t, name+" requirements", clauses(again.Jobs[i]), clauses(j))
			testbed.Equal(t, name+" node", []any{again.Jobs[i].Node, again.Jobs[i].Rank == nil}, []any{j.Node, j.Rank == nil})
		}
	}
}

// clauses are those of Requirements, in any order.
func clauses(j *Job) []string {
	var out []string
	for _, c := range classad.Conjuncts(j.Requirements) {
		out = append(out, classad.Unparse(c))
	}
	slices.Sort(out)
	return out
}

// TestFilesOfTheRoot: nodes take the parent's files as gLite's examples write it,
// among their own too; another node's output is refused by that name.
func TestFilesOfTheRoot(t *testing.T) {
	const text = `Type = "collection"; InputSandbox = %s; Nodes = { [ Executable = "b.sh"; InputSandbox = %s; ] };`
	for _, c := range [][3]string{
		{`{"a.sh", "c.sh"}`, `{root.InputSandbox, "b.sh"}`, "a.sh b.sh c.sh"},
		{`{"a.sh"}`, `{"b.sh", root.InputSandbox[0]}`, "a.sh b.sh"},
		{`"a.sh"`, `{"b.sh", root.InputSandbox[0]}`, "a.sh b.sh"},
		{`"a.sh"`, `{"b.sh", root.InputSandbox}`, "a.sh b.sh"},
		{`"a.sh"`, `{"b.sh", root.nodes.first.description.OutputSandbox[0]}`, "no node is called first"},
		{`"a.sh"`, `"b.sh,c.sh"`, `b.sh,c.sh does not exist (several names are a list: {"a", "b"})`},
	} {
		files := fstest.MapFS{}
		for _, name := range []string{"a.sh", "b.sh", "c.sh"} {
			files["job/"+name] = &fstest.MapFile{}
		}
		set, err := ParseJobs("c.jdl", fmt.Appendf(nil, text, c[0], c[1]), WithRoot(files), WithDir("/job"))
		if err != nil {
			if !strings.Contains(err.Error(), c[2]) {
				t.Errorf("%s in %s: %v", c[1], c[0], err)
			}
			continue
		}
		var names []string
		for _, f := range set.Jobs[0].InputSandbox {
			names = append(names, f.Name)
		}
		if slices.Sort(names); strings.Join(names, " ") != c[2] {
			t.Errorf("%s in %s: %v, want %s", c[1], c[0], names, c[2])
		}
	}
}
