package broker

import (
	"fmt"
	"testing"

	"gridbroker/jdl"
)

// TestNodesAreAlike: the nodes of a DAG as they are recorded, each with its own predecessors, are matched once, and services are
// asked once about them.
func TestNodesAreAlike(t *testing.T) {
	var nodes []*jdl.Job
	for i := range 5 {
		text := fmt.Sprintf(`[ Executable = "/bin/true"; NodeName = "n%d"; DependsOn = {"n%d"}; RetryOnExit = {%d}; AutoOutput = %t; ]`, i+1, i, i+1, i == 2)
		job, err := jdl.LoadJob(text)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, job)
	}
	larger, err := jdl.LoadJob(`[ Executable = "/bin/true"; NodeName = "big"; DependsOn = {"n1"}; Memory = 4000; ]`)
	if err != nil {
		t.Fatal(err)
	}
	got := classes(append(nodes, larger), nil)
	for i := range nodes {
		if got[i] != 0 {
			t.Errorf("classes %v: node %d is not like the first", got, i)
		}
	}
	if got[len(nodes)] != 1 {
		t.Errorf("classes %v: one that wants more memory is like the others", got)
	}
}

// TestJobsOfOtherDataAreOthers: jobs that read from elsewhere take other times to stage in, whether they name it as an input file
// or as data; what they bring from here makes no difference.
func TestJobsOfOtherDataAreOthers(t *testing.T) {
	var jobs []*jdl.Job
	for _, text := range []string{
		`InputSandbox = {"here"};`, `InputSandbox = {"there"};`,
		`InputSandbox = {"https://a.example.org/f"};`, `InputSandbox = {"https://b.example.org/f"};`,
		`InputData = {"lfn:/grid/a"}; DataAccessProtocol = "https";`, `InputData = {"lfn:/grid/b"}; DataAccessProtocol = "https";`,
	} {
		job, err := jdl.LoadJob(`[ Executable = "/bin/true"; ` + text + ` ]`)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	if got := fmt.Sprint(classes(jobs, nil)); got != "[0 0 1 2 3 4]" {
		t.Errorf("classes %s", got)
	}
}
