package jdl

import (
	"fmt"
	"strings"
	"testing"
)

// handed is a DAG a -> b -> c, with d beside it; c takes something. Its InputSandbox begins in column 45 of line 5.
const handed = `Type = "dag"; Nodes = [
a = [ Executable = "/bin/a"; StdOutput = "a.log"; OutputSandbox = {"out.txt", "sub/x.root", "*.dat", "far"};
      OutputSandboxDestURI = {"gsiftp://localhost", "gsiftp://localhost", "gsiftp://localhost", "gsiftp://se.org/far"} ];
b = [ Description = [ Executable = "/bin/b"; OutputSandbox = {"one", "two"} ] ];
c = [ Executable = "/bin/c"; InputSandbox = %s ];
d = [ Executable = "/bin/d"; OutputSandbox = "d.txt" ] ];
Dependencies = { {a, b}, {b, c} };`

// inputsOf are the input files of a job, with who makes them.
func inputsOf(j *Job) string {
	var out []string
	for _, f := range j.InputSandbox {
		text := f.Name
		if f.From.Node != "" {
			text += "<" + f.From.Node + ":" + f.From.File
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestNodeInputs: a node takes the files that a node before it leaves, as gLite writes it and by NodeInputs; what nobody
// can give is refused where it stands.
func TestNodeInputs(t *testing.T) {
	for _, c := range [][2]string{
		{`{"own", root.nodes.a.description.OutputSandbox[0]}`, "own out.txt<a:out.txt"},
		{`root.Nodes.A.Description.StdOutput`, "a.log<a:a.log"},
		{`{root.nodes.a.OutputSandbox[1]}; Executable = "x.root"`, "x.root<a:sub/x.root"},
		{`{root.nodes.b.description.OutputSandbox}`, "one<b:one two<b:two"},
		{`{root.nodes.b.description.OutputSandbox[1], "own"}; InputSandboxDestFileName = {"in/2", "o"}`, "o in/2<b:two"},
		{`{"own"}; NodeInputs = { [ Node = "a"; File = "h.dat"; Name = "in.dat" ], [ Node = "B"; File = "./one" ] }`, "own in.dat<a:h.dat one<b:one"},
		{`{"own"}; StdInput = "out.txt"; NodeInputs = [ Node = "a"; File = "out.txt" ]`, "own out.txt<a:out.txt"},

		{`{root.nodes.d.description.OutputSandbox[0]}`, "5:46: InputSandbox: node c takes output of node d and does not come after it (Dependencies = { {d, c} };)"},
		{`{root.nodes.c.description.OutputSandbox[0]}`, "5:46: InputSandbox: node c cannot take its own output"},
		{`{"own", root.nodes.bb.description.OutputSandbox[0]}`, "5:53: InputSandbox: no node is called bb"},
		{`{root.nodes.a.description.OutputSandbox[4]}`, "5:46: InputSandbox: node a has 4 in its OutputSandbox, and no [4] (the first is [0])"},
		{`{root.nodes.a.description.OutputSandbox[2]}`, "5:46: InputSandbox: *.dat of node a means any number of files"},
		{`{root.nodes.a.description.OutputSandbox[3]}`, "5:46: InputSandbox: node a sends far to gsiftp://se.org/far and keeps none"},
		{`{root.nodes.a.description.StdError}`, "5:46: InputSandbox: node a has no StdError"},
		{`{root.nodes.a.description.Arguments}`, "5:46: InputSandbox: of another node its OutputSandbox, StdOutput and StdError can be taken, not its Arguments"},
		{`{root.nodes.a.description.OutputSandbox[0], "out.txt"}`, "both be called out.txt"},
		{`"own"; Arguments = root.nodes.a.description.OutputSandbox[0]`, "Arguments: nothing is taken from node a here"},
		{`"own"; FinalNode = true; NodeInputs = [ Node = "a"; File = "out.txt" ]`, "is the FinalNode"},
		{`"own"; NodeInputs = [ Node = "a"; File = "far" ]`, `NodeInputs: "far" is not among the files that node a keeps`},
		{`"own"; NodeInputs = "a"`, "NodeInputs must be records with Node and File"},
	} {
		set, err := ParseJobs("h.jdl", fmt.Appendf(nil, handed, c[0]), WithoutFiles(), WithDir("/job"))
		if err != nil {
			if !strings.Contains(err.Error(), c[1]) {
				t.Errorf("%s: %v, want %s", c[0], err, c[1])
			}
			continue
		}
		if got := inputsOf(set.Jobs[2]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
			continue
		}
		again, err := ParseJobs("h.jdl", []byte(set.Text()), WithoutFiles(), WithDir("/job"))
		if err != nil || inputsOf(again.Jobs[2]) != c[1] {
			t.Errorf("%s: written and read again: %v\n%s", c[0], err, set.Text())
		}
	}
	if _, err := ParseJob("h.jdl", []byte(`Executable = "/bin/c"; NodeInputs = [ Node = "a"; File = "x" ];`)); err == nil || !strings.Contains(err.Error(), "only the nodes of a DAG") {
		t.Error(err)
	}
}

// TestNodesFileByItsNameAlone: who names a file of another node as if it were here is told how it is taken.
func TestNodesFileByItsNameAlone(t *testing.T) {
	dir := t.TempDir()
	text := `Type = "dag"; Nodes = [
	a = [ description = [ Executable = "/bin/a"; OutputSandbox = {"log", "%s"}; ] ];
	b = [ description = [ Executable = "/bin/b"; InputSandbox = {"a.out"}; ] ];
]; Dependencies = { {a, b} };`
	for made, want := range map[string]string{
		"./a.out": "InputSandbox: a.out does not exist (node a leaves one: root.nodes.a.description.OutputSandbox[1], without quotes)",
		"b.out":   "InputSandbox: a.out does not exist (names are relative to " + dir + ")",
	} {
		if _, err := ParseJobs("h.jdl", fmt.Appendf(nil, text, made), WithDir(dir)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", made, err)
		}
	}
}

// TestNodeInputsAreKept: the recorded description knows whose file it is and where it will lie; there, a program that
// knows nothing of other nodes' files finds none and cannot send the job without it.
func TestNodeInputsAreKept(t *testing.T) {
	set, err := ParseJobs("h.jdl", fmt.Appendf(nil, handed, `{"own", root.nodes.a.description.OutputSandbox[1]}`), WithoutFiles(), WithDir("/job"))
	if err != nil {
		t.Fatal(err)
	}
	job := set.Jobs[2]
	job.BringTo("/state/1", func(node string) string { return "id-" + node })
	again, err := LoadJob(job.Text())
	if err != nil {
		t.Fatal(err)
	}
	want := InputFile{Source: "/state/1/x.root", Name: "x.root", From: Made{Node: "a", File: "sub/x.root", Job: "id-a"}}
	if got := again.Taken(); len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(again.Text(), `InputSandbox = { "/job/own","/state/1/x.root" };`) || again.Text() != job.Text() {
		t.Errorf("%s\n%s", job.Text(), again.Text())
	}
}
