package condor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/formats"
	"gridbroker/testdata/testbed"
)

const diamond = `# made by hand
CONFIG dagman.config
JOB A a.sub
Job B b.sub DIR sub
JOB C {
  executable = /bin/echo
  arguments = $(dag_node_name)
}
PARENT A CHILD B
PARENT B CHILD C
VARS A x="1 \"\"2\"\" \\" y = "in $(JOB)"
VARS A APPEND z="last"
RETRY B 2
`

// readDAG reads a file for DAGMan beside some submit files.
func readDAG(t *testing.T, src string) (*jdl.JobSet, []string, error) {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"a.sub":      "executable = a.sh\ny = own\nz = own\narguments = \"'$(x)' $(y) $(z)\"\nqueue",
		"sub/b.sub":  "executable = b.sh\ntransfer_input_files = in, /abs/in2\narguments = $(Process)\nqueue 2",
		"bad.sub":    "executable = b.sh\nqueue x from none",
		"none.sub":   "executable = b.sh\n",
		"more.dag":   "JOB D a.sub\nPARENT A CHILD D\n",
		"loop.dag":   "INCLUDE loop.dag\n",
		"in.dag":     "JOB X a.sub\nJOB Y a.sub DIR sub\nPARENT X CHILD Y\n",
		"deep.dag":   "JOB M sub/b.sub\nSCRIPT PRE M p\nSCRIPT POST M p\n",
		"skips.dag":  "JOB X a.sub\nSCRIPT PRE X p\nPRE_SKIP X 2\n",
		"begun.dag":  "JOB X a.sub DONE\nJOB Y a.sub\nPARENT X CHILD Y\n",
		"part.dag":   "JOB X a.sub DONE\nJOB Y a.sub\nJOB Z a.sub DONE\nJOB W a.sub\nPARENT X CHILD Y\nPARENT Y CHILD Z\n",
		"over.dag":   "JOB X a.sub DONE\nSCRIPT POST X p\n",
		"nest.dag":   "SPLICE T in.dag\nJOB Z a.sub\nPARENT Z CHILD T\n",
		"self.dag":   "JOB A a.sub\nSPLICE S self.dag\n",
		"none.dag":   "# nothing\n",
		"many.sub":   "executable = a.sh\ntransfer_output_files = o\ntransfer_output_remaps = \"o=o.$(Process)\"\nqueue 2",
		"cat.dag":    "JOB X a.sub\nJOB Y a.sub\nCATEGORY X cat\nCATEGORY Y +all\nMAXJOBS cat 3\n",
		"end.dag":    "SPLICE E ends.dag\nJOB Z a.sub\n",
		"ends.dag":   "JOB X a.sub\nABORT-DAG-ON X 3\n",
		"fin.dag":    "JOB A a.sub\nFINAL F a.sub\n",
		"pin.dag":    "JOB X a.sub\nJOB Y a.sub\nPARENT X CHILD Y\nPIN_IN X 1\nPIN_OUT Y 1\n",
		"orphan.dag": "JOB X a.sub\nJOB Y a.sub\nJOB Z a.sub\nPARENT X CHILD Y\nPIN_IN X 1\nPIN_OUT Y 1\n",
		"two.dag":    "JOB X a.sub\nJOB Y a.sub\nPIN_IN X 1\nPIN_IN Y 2\nPIN_OUT Y 1\n",
		"gap.dag":    "JOB X a.sub\nPIN_IN X 2\nPIN_OUT X 1\n",
		"sub/s.dag":  "JOB X b.sub\n",
		"sub/a.sub":  "executable = sub.sh\nqueue",
	} {
		files["job/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	var warnings []string
	near := jdl.NewNearby("t.dag", jdl.WithRoot(files), jdl.WithDir("/job"))
	ads, err := condor.ReadDAG("t.dag", []byte(src), near, func(d *classad.Diagnostic) { warnings = append(warnings, d.Error()) })
	if err != nil {
		return nil, warnings, err
	}
	set, err := jdl.FromRecords("t.dag", []byte(src), ads, jdl.WithoutFiles(), jdl.WithDir("/job"), jdl.WithDialect(jdl.GLite))
	return set, warnings, err
}

// TestDAGMan: nodes with their files, order, variables and retries; a node whose
// description queues two jobs is two.
func TestDAGMan(t *testing.T) {
	set, warnings, err := readDAG(t, diamond)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range set.Jobs {
		var in []string
		for _, f := range j.InputSandbox {
			in = append(in, f.Source)
		}
		got = append(got, fmt.Sprintf("%s after %v: %s %q, %v, %d %v", j.Node, j.After, j.Executable, j.Args, in, j.RetryCount, j.RetryAnyExit))
	}
	want := []string{
		`A after []: a.sh ["1 \"2\" \\" "own" "last"], [/job/a.sh], 3 false`,
		`B.0 after [A]: b.sh ["0"], [/job/sub/b.sh /job/sub/in /abs/in2], 2 true`,
		`B.1 after [A]: b.sh ["1"], [/job/sub/b.sh /job/sub/in /abs/in2], 2 true`,
		`C after [B.0 B.1]: echo ["C"], [/bin/echo], 3 false`,
	}
	if set.Kind != jdl.DAG || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s, got\n%s\nwant\n%s", set.Kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "t.dag:2:1: CONFIG is not used") {
		t.Errorf("warnings %q", warnings)
	}
	set, _, err = readDAG(t, diamond+"DONE A\nINCLUDE more.dag\n")
	if err != nil || len(set.Jobs) != 4 || set.Jobs[0].Node != "B.0" || set.Jobs[0].After != nil || set.Jobs[3].After != nil {
		t.Errorf("with A done: %v, %+v", err, set)
	}
	if condor.LooksDAG([]byte("executable = a\nqueue")) || condor.LooksDAG([]byte("Job = 1;")) || !condor.LooksDAG([]byte("\n# x\nsubdag external a b")) {
		t.Error("a file for DAGMan is mistaken")
	}
}

// TestDAGManErrors: what would be another DAG without it is refused, by its line.
func TestDAGManErrors(t *testing.T) {
	for add, want := range map[string]string{
		"SCRIPT PRE D x.sh":        "t.dag:14:1: no JOB is called D",
		"SUBDAG EXTERNAL E e.dag":  "t.dag:14:1: SUBDAG e.dag: file does not exist",
		"PARENT A CHILD X":         "t.dag:14:1: no JOB is called X",
		"PARENT ALL_NODES CHILD B": "t.dag:14:1: no JOB is called ALL_NODES",
		"PARENT B CHILD ALL_NODES": "t.dag:14:1: no JOB is called ALL_NODES",
		"PARENT A":                 "PARENT is not understood",
		"RETRY A 3 UNLESS-EXIT x":  "t.dag:14:1: RETRY: UNLESS-EXIT x is not understood",
		"RETRY A x":                "x is no number of times",
		"VARS A x=1":               "VARS: x=1 is not understood",
		`VARS A x="1`:              "the quote of x is not closed",
		"JOB A a.sub":              "two nodes are called A",
		"JOB E a.sub DONE NOOP":    "JOB: NOOP is not understood",
		"JOB E {\nexecutable = a":  "is not closed by }",
		"JOB E no.sub":             "t.dag:14:1: node E: no.sub: file does not exist",
		"JOB E bad.sub":            "bad.sub:2:1: queue from none: file does not exist",
		"JOB E none.sub":           "none.sub:1:1: the submit description queues no job",
		"PARNT A CHILD B":          "PARNT is no statement of DAGMan",
		"INCLUDE loop.dag":         "loop.dag:1:1: more than 8 texts include each other",
		"PARENT C CHILD A":         "t.dag:3:1: Dependencies go in a circle",
		"JOB E a.sub DIR":          "DIR without a directory",
		"RETRY ALL_NODES 1\nx = 3": "x is no statement of DAGMan",
	} {
		if _, _, err := readDAG(t, diamond+add+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", add, err, want)
		}
	}
	if _, _, err := readDAG(t, "CONFIG x"); err == nil || !strings.Contains(err.Error(), "the DAG has no JOB") {
		t.Error(err)
	}
}

// FuzzDAG: whatever stands in a file for DAGMan is a DAG or an error that names a line.
func FuzzDAG(f *testing.F) {
	f.Add("SPLICE S nest.dag\nSUBDAG EXTERNAL D s.dag DIR sub DONE\nJOB N none NOOP\nPARENT S CHILD N\nPARENT N CHILD D\n")
	f.Add(diamond)
	f.Add("JOB A a.sub\nPARENT ALL_NODES CHILD A\n")
	f.Add("SUBMIT-DESCRIPTION s {\nexecutable = a\nqueue 2\n}\nJOB A s DONE\nJOB B s\nPARENT A CHILD B\nRETRY ALL_NODES 2\nVARS ALL_NODES PREPEND x=\"1\"\nINCLUDE more.dag\n")
	f.Fuzz(func(t *testing.T, src string) {
		_, _, err := readDAG(t, src)
		if d, ok := errors.AsType[*classad.Diagnostic](err); err != nil && (!ok || d.Pos.Line < 1) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

// TestEnvironmentIsTold: what a description takes of the environment of whoever
// submits goes along, so it is told.
func TestEnvironmentIsTold(t *testing.T) {
	var told []string
	src := "executable = /bin/x\narguments = $ENV(HOME) $ENV(NOPE:none)\nqueue 2"
	if _, err := condor.Read("t.sub", []byte(src), near(), func(d *classad.Diagnostic) { told = append(told, d.Error()) }); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || !strings.Contains(told[0], "t.sub:2:1: arguments: $ENV(HOME) is replaced by what the variable holds here") {
		t.Errorf("told %q", told)
	}
}

// TestSecretsInTexts: whose description reads a secret by a link or out of a hidden directory, as its list of jobs, as a piece of
// its text or as a node's, or takes a variable of his by name, is told: what they hold would be in the jobs.
func TestSecretsInTexts(t *testing.T) {
	top := t.TempDir()
	testbed.WriteFile(t, filepath.Join(top, ".ssh/id"), []byte("x = a\n"), 0o600)
	testbed.WriteFile(t, filepath.Join(top, ".ssh/sub"), []byte("executable = /bin/sh\nqueue\n"), 0o600)
	testbed.WriteFile(t, filepath.Join(top, ".ssh/dag"), []byte("JOB B own.sub\n"), 0o600)
	testbed.WriteFile(t, filepath.Join(top, "d/own"), []byte("x = a\n"), 0o600)
	testbed.WriteFile(t, filepath.Join(top, "d/own.sub"), []byte("executable = /bin/sh\nqueue\n"), 0o600)
	if err := os.Symlink("../.ssh/id", filepath.Join(top, "d/list")); err != nil {
		t.Fatal(err)
	}
	const private = ", which nobody but its owner may read"
	for src, want := range map[string]string{
		"executable = /bin/sh\nqueue x from own":        "",
		"executable = /bin/sh\nqueue x from list":       "2:1: list is " + top + "/.ssh/id" + private,
		"executable = /bin/sh\nqueue x from ../.ssh/id": "2:1: ../.ssh/id is " + top + "/.ssh/id" + private,
		"include : list\nexecutable = /bin/sh\nqueue":   "1:1: list is " + top + "/.ssh/id" + private,
		"JOB A own.sub":                                    "",
		"JOB A ../.ssh/sub":                                "1:1: ../.ssh/sub is " + top + "/.ssh/sub" + private,
		"JOB A own.sub\nINCLUDE ../.ssh/dag":               "2:1: ../.ssh/dag is " + top + "/.ssh/dag" + private,
		"JOB A own.sub\nSPLICE S ../.ssh/dag":              "2:1: ../.ssh/dag is " + top + "/.ssh/dag" + private,
		"executable = /bin/sh\ngetenv = SECRET\nqueue":     "2:1: getenv: SECRET goes along with what it holds here",
		"executable = /bin/sh\ngetenv = NONE\nqueue":       "",
		"executable = /bin/sh\ninclude ifexist : n\nqueue": "",
	} {
		env := func(name string) string { return map[string]string{"SECRET": "x"}[name] }
		set, err := formats.ParseJobs(top+"/d/j", []byte(src), jdl.WithDir(top+"/d"), jdl.WithEnvironment(env))
		if err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		said := ""
		for _, w := range set.Warnings {
			said += w.Error()
		}
		if !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%q: %q, want %q", src, said, want)
		}
	}
}

// TestDAGEnds: pins join splices, the FINAL node comes after all others, and an exit code
// ends the DAG.
func TestDAGEnds(t *testing.T) {
	set, warnings, err := readDAG(t, "SPLICE S pin.dag\nSPLICE T pin.dag\nCONNECT S T\nJOB A a.sub\nFINAL F a.sub\nABORT-DAG-ON A 3 RETURN 1\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range set.Jobs {
		got = append(got, fmt.Sprintf("%s after %v %v %v", j.Node, j.After, j.Final, j.AbortOn))
	}
	want := []string{"S+X after [] false []", "S+Y after [S+X] false []", "T+X after [S+Y] false []", "T+Y after [T+X] false []",
		"A after [] false [3]", "F after [S+X S+Y T+X T+Y A] true []"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(strings.Join(warnings, "\n"), "RETURN is not used") {
		t.Errorf("warnings %q", warnings)
	}
}

// What ends a SUBDAG alone there ends the whole DAG here, which is told; a splice is part of its DAG there, too.
func TestEndOfASubdag(t *testing.T) {
	for text, told := range map[string]bool{"SPLICE S end.dag": false, "SUBDAG EXTERNAL S ends.dag": true, "SUBDAG EXTERNAL S end.dag": true, "SPLICE S ends.dag\nSUBDAG EXTERNAL T in.dag": false} {
		_, warnings, err := readDAG(t, text+"\nJOB A a.sub\n")
		if said := strings.Contains(strings.Join(warnings, "\n"), "ABORT-DAG-ON of a node of SUBDAG S: it ends the whole DAG"); err != nil || said != told {
			t.Errorf("%s: %v %q", text, err, warnings)
		}
	}
}
