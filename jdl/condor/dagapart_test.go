package condor_test

import (
	"fmt"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/testdata/testbed"
)

// TestScriptsApart: the scripts of a node that queues several jobs, and of a SUBDAG, are nodes of their own before and behind
// these; what comes after the node waits for its POST script, which has the tries of the whole and sees what its jobs left.
func TestScriptsApart(t *testing.T) {
	scripts := "SCRIPT PRE %[1]s pre.sh $JOB\nSCRIPT POST %[1]s post.sh $JOB $RETURN\n"
	for src, want := range map[string]string{
		"JOB S sub/b.sub DIR .\nJOB B a.sub\nRETRY S 2\nABORT-DAG-ON S 5\nPARENT S CHILD B\n" + fmt.Sprintf(scripts, "S"):                 "S.pre[] 2 <pre.sh S>; S.0[S.pre]; S.1[S.pre]; S.post[S.0 S.1] any 2 abort <post.sh S $RETURN>; B[S.post]",
		"JOB A a.sub\nSUBDAG EXTERNAL D in.dag\nJOB B a.sub\nRETRY D 2\nPARENT A CHILD D\nPARENT D CHILD B\n" + fmt.Sprintf(scripts, "D"): "A[]; D+X[D.pre]; D+Y[D+X]; B[D.post]; D.pre[A] 2 <pre.sh D>; D.post[D+X D+Y] any 2 <post.sh D $RETURN>",
		"JOB A a.sub\nSUBDAG EXTERNAL D in.dag\nRETRY D 2\nSCRIPT PRE D pre.sh\nPARENT A CHILD D\n":                                       "A[]; D+X[D.pre] 2; D+Y[D+X] 2; D.pre[A] 2 <pre.sh>",
		"SUBDAG EXTERNAL D begun.dag\nSCRIPT PRE D pre.sh\n":                                                                              "D+Y[D.pre]; D.pre[] <pre.sh>",
		"JOB A a.sub\nSUBDAG EXTERNAL D in.dag NOOP\nSCRIPT POST D post.sh\nPARENT A CHILD D\n":                                           "A[]; D.post[A] <post.sh>",
		"JOB A a.sub\nSUBDAG EXTERNAL D in.dag DONE\nSCRIPT POST D post.sh\nPARENT A CHILD D\n":                                           "A[]",
		"JOB A a.sub\nSUBDAG EXTERNAL D in.dag\nSCRIPT POST ALL_NODES post.sh\n":                                                          "A[] <post.sh>; D+X[]; D+Y[D+X]; D.post[D+X D+Y] any <post.sh>",
		"JOB A a.sub\nSERVICE V a.sub\nPROVISIONER P none.sub\nVARS V x=\"1\"\n":                                                          "A[]",
	} {
		set, warnings, err := readDAG(t, src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		var got []string
		for _, j := range set.Jobs {
			got = append(got, apartText(j))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s\n%s\nwant\n%s", src, text, want)
		}
		for _, word := range []string{"SERVICE V", "PROVISIONER P"} {
			if strings.Contains(src, word) != strings.Contains(strings.Join(warnings, "\n"), word+" is left out") {
				t.Errorf("warnings of %s: %s", word, warnings)
			}
		}
		again, err := jdl.LoadJob(set.Jobs[len(set.Jobs)-1].Text())
		if last := set.Jobs[len(set.Jobs)-1]; err != nil || again.AfterAny != last.AfterAny {
			t.Errorf("%s: read again %v: %v", last.Node, again.AfterAny, err)
		}
	}
	set, _, err := readDAG(t, "JOB S many.sub\nSCRIPT POST S post.sh\n")
	if err != nil {
		t.Fatal(err)
	}
	if post := set.Jobs[2].Post; fmt.Sprint(post.Files) != "map[S.0/o:/job/o.0 S.1/o:/job/o.1]" {
		t.Errorf("the script finds %v", post.Files)
	}
}

func apartText(j *jdl.Job) string {
	text := fmt.Sprintf("%s%v", j.Node, j.After)
	if j.AfterAny {
		text += " any"
	}
	if j.RetryAnyExit {
		text += fmt.Sprint(" ", j.RetryCount)
	}
	if len(j.AbortOn) > 0 {
		text += " abort"
	}
	for _, s := range []*jdl.Script{j.Pre, j.Post} {
		if s != nil {
			text += " <" + s.String() + ">"
		}
	}
	return text
}

// TestSkipOfSeveral: PRE_SKIP of a node that queues several jobs, and of a SUBDAG, is of the node of its script; the jobs, and
// the node of its POST script, are left out with that.
func TestSkipOfSeveral(t *testing.T) {
	for src, want := range map[string]string{
		"JOB A sub/b.sub\nPRE_SKIP A 3\n": "A.pre 3 false, A.0 0 true, A.1 0 true, A.post 0 true",
		"JOB A sub/b.sub\n":               "A.pre 0 false, A.0 0 false, A.1 0 false, A.post 0 false",
		"SUBDAG EXTERNAL A in.dag\nPRE_SKIP A 3\nJOB B a.sub\nPARENT A CHILD B\n": "A+X 0 true, A+Y 0 true, B 0 false, A.pre 3 false, A.post 0 true",
		"SUBDAG EXTERNAL A in.dag\n":                         "A+X 0 false, A+Y 0 false, A.pre 0 false, A.post 0 false",
		"SUBDAG EXTERNAL A deep.dag\nPRE_SKIP ALL_NODES 3\n": "A+M.pre 0 true, A+M.0 0 true, A+M.1 0 true, A+M.post 0 true, A.pre 3 false, A.post 0 true",
	} {
		set, _, err := readDAG(t, src+"SCRIPT PRE A p\nSCRIPT POST A p\n")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range set.Jobs {
			again, err := jdl.LoadJob(j.Text())
			if err != nil || again.SkipAlong != j.SkipAlong {
				t.Errorf("%s is not what it was when it is read again: %v", j.Node, err)
			}
			code := 0
			if j.Pre != nil {
				code = j.Pre.Skip
			}
			got = append(got, fmt.Sprintf("%s %d %v", j.Node, code, j.SkipAlong))
		}
		testbed.Equal(t, src, strings.Join(got, ", "), want)
	}
	_, _, err := readDAG(t, "SUBDAG EXTERNAL A skips.dag\nPRE_SKIP A 3\nSCRIPT PRE A p\n")
	if err == nil || !strings.Contains(err.Error(), "SUBDAG A has a PRE_SKIP, and so has node A+X within") {
		t.Errorf("of a node within, too: %v", err)
	}
}
