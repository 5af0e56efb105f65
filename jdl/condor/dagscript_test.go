package condor_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
)

// TestDAGScripts: commands that DAGMan runs on the user's machine are the PreScript and PostScript of their nodes; where what the
// job leaves is wanted before the second, that says so.
func TestDAGScripts(t *testing.T) {
	set, warnings, err := readDAG(t, abc+`JOB S sub/b.sub DIR .
JOB N none NOOP
JOB M none NOOP
ENV SET |X=a b|Y=2
SCRIPT DEFER 4 1800 DEBUG log.txt STDERR PRE A pre.sh $JOB ".gz"
SCRIPT POST A post.sh $RETURN
SCRIPT PRE N /bin/check
SCRIPT PRE S pre.sh
PRE_SKIP A 7
RETRY S 2
PARENT A CHILD N
PARENT N CHILD B
PARENT M CHILD C
PARENT B CHILD S
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, j := range set.Jobs {
		got[j.Node] = fmt.Sprintf("%v %v", j.After, j.NoJob)
		for _, s := range []*jdl.Script{j.Pre, j.Post} {
			if s != nil {
				got[j.Node] += fmt.Sprintf(" [%s in %s, env %v, again %d %v, skip %d, log %s %v %v, %v %s]", s, s.Dir, s.Env, s.Again, s.AgainAfter, s.Skip, s.Log, s.LogOut, s.LogErr, s.Files, s.Rest)
			}
		}
		again, err := jdl.LoadJob(j.Text())
		if err != nil || !reflect.DeepEqual(again.Pre, j.Pre) || !reflect.DeepEqual(again.Post, j.Post) || again.NoJob != j.NoJob {
			t.Errorf("%s is not what it was when it is read again: %v", j.Node, err)
		}
	}
	for node, want := range map[string]string{
		"A":     `[] false [pre.sh $JOB ".gz" in /job, env [{X a b} {Y 2}], again 4 30m0s, skip 7, log /job/log.txt false true, map[] ] [post.sh $RETURN in /job, env [{X a b} {Y 2}], again 0 0s, skip 0, log  false false, map[] /job]`,
		"N":     `[A] true [/bin/check in /job, env [{X a b} {Y 2}], again 0 0s, skip 0, log  false false, map[] ]`,
		"B":     "[N] false",
		"C":     "[] false",
		"S.pre": `[B] true [pre.sh in /job, env [{X a b} {Y 2}], again 0 0s, skip 0, log  false false, map[] ]`,
		"S.0":   "[S.pre] false",
		"S.1":   "[S.pre] false",
	} {
		if got[node] != want {
			t.Errorf("node %s: %s\nwant %s", node, got[node], want)
		}
	}
	if _, known := got["M"]; known || len(set.Jobs) != 7 {
		t.Errorf("%d jobs: %v", len(set.Jobs), got)
	}
	if text := strings.Join(warnings, "\n"); !strings.Contains(text, "node A: pre.sh is not here yet") || strings.Contains(text, "check") {
		t.Errorf("warnings: %s", text)
	}
	if a := set.Jobs[0]; a.Post.AgainAfter != 0 || a.Pre.AgainAfter != 30*time.Minute {
		t.Error("DEFER is of one script alone")
	}
}

// TestDAGWithinRetried: RETRY of a SUBDAG goes on where it failed, which its nodes' own tries do; an exit code of 0 may end a DAG.
func TestDAGWithinRetried(t *testing.T) {
	set, _, err := readDAG(t, "SUBDAG EXTERNAL D in.dag\nJOB A a.sub\nRETRY D 2\nABORT-DAG-ON A 0\nPARENT A CHILD D")
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range set.Jobs {
		switch within := strings.HasPrefix(j.Node, "D+"); {
		case within && (j.RetryCount != 2 || !j.RetryAnyExit):
			t.Errorf("%s: %d tries", j.Node, j.RetryCount)
		case !within && fmt.Sprint(j.AbortOn) != "[0]":
			t.Errorf("%s ends the DAG on %v", j.Node, j.AbortOn)
		}
	}
}
