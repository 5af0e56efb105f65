package condor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/testdata/testbed"
)

// abc is three nodes; what a case says of them stands behind it.
const abc = "JOB A a.sub\nJOB B a.sub\nJOB C a.sub\n"

// dagmanCases are texts with the answers of condor_dagman 23.9.6 (-DumpRescue, and
// condor_submit_dag -no_submit) and ours: "" where we take them.
var dagmanCases = []struct {
	text string
	real bool   // DAGMan takes it
	ours string // what our error says
}{
	{abc + "PARENT A CHILD B C", true, ""},
	{abc + "PARENT A,B CHILD C", false, "no JOB is called A,B"},
	{"job A a.sub\njob B a.sub\nparent A child B", true, ""},
	{abc + "PARENT a CHILD B", false, "no JOB is called a"},
	{"  # x\n\tJOB A a.sub # behind", false, "JOB: # is not understood"},
	{abc + "PARENT A CHILD B # behind", false, "no JOB is called #"},
	{"JOB A a.sub\nJOB B a.sub\nPARENT A \\\n  CHILD B", true, ""},
	{"# x \\\nJOB A a.sub\nJOB B a.sub", true, ""},
	{"# x \\\nJOB A a.sub\nJOB B a.sub\nPARENT A CHILD B", true, ""},
	{"JOB A a.sub\nJOB B a.sub\nPARENT A \\\n# zz \\\n CHILD B", true, ""},
	{"JOB A a.sub\nJOB B a.sub\nPARENT A \\\n# CHILD B", false, "a comment ends the line"},
	{"JOB A a.sub\nJOB B a.sub\nPARENT A \\\n\n  CHILD B", false, "PARENT is not understood"},
	{"PARENT A CHILD B\nVARS A x=\"1\"\nRETRY A 2\nJOB A a.sub\nJOB B a.sub", true, ""},
	{"# nothing", false, "the DAG has no JOB"},
	{"CONFIG\n" + abc, false, "CONFIG is not understood"},
	{abc + "DOT d.dot DONT-OVERWRITE INCLUDE h.dot\nJOBSTATE_LOG j.log\nNODE_STATUS_FILE s 60", true, ""},
	{abc + "NODE_STATUS_FILE", false, "NODE_STATUS_FILE is not understood"},
	{abc + "SAVE_POINT_FILE A f\nSET_JOB_ATTR a = 1", true, ""},
	{abc + "SAVE_POINT_FILE", false, "SAVE_POINT_FILE is not understood"},
	{abc + "SET_JOB_ATTR", false, "SET_JOB_ATTR is not understood"},
	{abc + "PRIORITY ALL_NODES -5\nPRIORITY A 1.5", true, ""},
	{abc + "PRIORITY A high", false, "PRIORITY: high is no number"},
	{abc + "PRIORITY A", false, "PRIORITY is not understood"},
	{abc + "PRIORITY A 1 2", false, "PRIORITY is not understood"},
	{abc + "PRIORITY X 5", false, "no JOB is called X"},
	{abc + "CATEGORY A cat\nMAXJOBS cat 2\nMAXJOBS none 2", true, ""},
	{abc + "CATEGORY A cat\nCATEGORY B +all\nCATEGORY ALL_NODES x\nMAXJOBS x 1\nMAXJOBS x 2", true, ""},
	{abc + "CATEGORY X cat", false, "no JOB is called X"},
	{abc + "CATEGORY A a b", false, "CATEGORY is not understood"},
	{abc + "MAXJOBS cat two", false, "MAXJOBS: two is no count"},
	{abc + "MAXJOBS cat -1", false, "MAXJOBS: -1 is no count"},
	{abc + "RETRY A 0\nRETRY B 3 unless-exit 2\nRETRY ALL_NODES 1", true, ""},
	{abc + "RETRY A -1", false, "-1 is no number of times"},
	{abc + "RETRY A 3 UNLESS-EXIT", false, "RETRY: UNLESS-EXIT is not understood"},
	{abc + "RETRY A 3 4", false, "RETRY: 4 is not understood"},
	{abc + "DONE", false, "DONE is not understood"},
	{abc + "DONE A B", false, "DONE is not understood"},
	{abc + "DONE ALL_NODES", false, "no JOB is called ALL_NODES"},
	{"JOB A a.sub DIR sub NOOP DONE\nJOB B a.sub", true, ""},
	{"JOB A a.sub DONE DIR sub\nJOB B a.sub", false, "JOB: DIR is not understood"},
	{"JOB A a.sub NOOP DIR sub\nJOB B a.sub", false, "JOB: DIR is not understood"},
	{"JOB A a.sub DIR a DIR b", false, "JOB: DIR is not understood"},
	{"JOB A a.sub more", false, "JOB: more is not understood"},
	{"JOB A", false, "JOB is not understood"},
	{"JOB child a.sub", false, "a node cannot be called child"},
	{"JOB ALL_NODES a.sub", false, "a node cannot be called ALL_NODES"},
	{"JOB A+B a.sub", false, "A+B: a + joins"},
	{"JOB A.B a.sub\nJOB __A a.sub\nJOB 1 a.sub\nJOB \u00e9t\u00e9 a.sub", true, ""},
	{"JOB A \"a.sub\" DIR \"sub\"", true, ""},
	{"JOB A 'a b.sub'", false, "JOB: b.sub' is not understood"},
	{"JOB A a.sub\nJOB A a.sub", false, "two nodes are called A"},
	{"SPLICE S in.dag\nJOB A a.sub\nPARENT A CHILD S", true, ""},
	{"PARENT A CHILD S\nSPLICE S nest.dag\nJOB A a.sub", true, ""},
	{"SPLICE S s.dag DIR sub", true, ""},
	{"SPLICE S in.dag\nRETRY ALL_NODES 2\nVARS ALL_NODES x=\"1\"", true, ""},
	{"SPLICE S in.dag\nRETRY S 2", false, "S is a DAG of its own"},
	{"SPLICE S in.dag\nVARS S+X y=\"1\"", false, "no JOB is called S+X"},
	{"SPLICE A in.dag\nJOB A a.sub", false, "two nodes are called A"},
	{"SPLICE S in.dag\nSPLICE S in.dag", false, "two nodes are called S"},
	{"SPLICE S none.dag\nJOB A a.sub\nPARENT S CHILD A", false, "the DAG has no JOB"},
	{"SPLICE S self.dag", false, "more than 8 texts include each other"},
	{"SPLICE S no.dag", false, "SPLICE no.dag: file does not exist"},
	{"SPLICE S in.dag more", false, "SPLICE: more is not understood"},
	{"SUBDAG EXTERNAL S s.dag DIR sub\nsubdag external D in.dag DONE\nPARENT S CHILD D", true, ""},
	{"SUBDAG A in.dag", false, "SUBDAG is not understood"},
	{"INCLUDE more.dag\nJOB A a.sub", true, ""},
	{abc + "INCLUDE", false, "INCLUDE is not understood"},
	{abc + "INCLUDE a b", false, "INCLUDE is not understood"},
	{"JOB A s\nSUBMIT-DESCRIPTION s {\n executable=/bin/true\n}\nSUBMIT-DESCRIPTION s {\n executable=/bin/false\n}", true, ""},
	{"SUBMIT-DESCRIPTION s {\n executable=/bin/true\nqueue 2\n}\nJOB A s", false, "must have no queue statement"},
	{"JOB A {\n executable=/bin/true\nqueue 2\n}", false, "must have no queue statement"},
	{"JOB A {\n executable=/bin/true\n} DIR sub DONE\nJOB B a.sub", true, ""},
	{"JOB A @=end DIR sub\n executable=/bin/true\n@end DONE\nSUBMIT-DESCRIPTION d @=x y\n", false, "SUBMIT-DESCRIPTION is not understood"},
	{"JOB A @=end\n executable=/bin/true\n@endless\n", false, "the description is not closed by @end"},
	{"JOB A{\n executable=/bin/true\n}", false, "JOB is not understood"},
	{abc + `VARS A x="1"y = "two words" My.Attr="1" +Attr="1" 1x="" a.b="a\"b\\c"`, true, ""},
	{abc + "VARS A x=1", false, "VARS: x=1 is not understood"},
	{abc + "VARS A x='1'", false, "VARS: x='1' is not understood"},
	{abc + `VARS A x="a\nb"`, false, `VARS: \n in the value of x is not understood`},
	{abc + `VARS A queue_x="1"`, false, "begins with queue"},
	{abc + `VARS A x-y="1"`, false, `VARS: x-y="1" is not understood`},
	{abc + `VARS A x="1", y="2"`, false, `VARS: , y="2" is not understood`},
	{abc + `VARS A B x="1"`, false, `VARS: B x="1" is not understood`},
	{abc + "VARS A", false, "VARS is not understood"},
	{abc + "PARENT A B", false, "PARENT is not understood"},
	{abc + "PARENT A CHILD", false, "PARENT is not understood"},
	{abc + "PARENT CHILD B", false, "PARENT is not understood"},
	{abc + "PARENT A CHILD B CHILD C", false, "no JOB is called CHILD"},
	{abc + "PARENT A CHILD B\nPARENT A CHILD B", true, ""},
	{abc + "REJECT", false, "REJECT is not supported"},
	{abc + "FOO A", false, "FOO is no statement of DAGMan"},
	{"JOB A a.sub\r\nJOB B a.sub\r\nPARENT A CHILD B\r\n", true, ""},
	{"JOB A a.sub \\", false, "is not understood"},

	{abc + "ABORT-DAG-ON A 3\nABORT-DAG-ON B 4 RETURN 0\nABORT-DAG-ON C 0", true, ""},
	{abc + "ABORT-DAG-ON A 3 RETURN 256", false, "RETURN 256 is not understood"},
	{abc + "ABORT-DAG-ON A 3 RETURN", false, "ABORT-DAG-ON is not understood"},
	{abc + "ABORT-DAG-ON A x", false, "ABORT-DAG-ON: x is not understood"},
	{abc + "ABORT-DAG-ON ALL_NODES 3\nRETRY ALL_NODES 2\nFINAL F a.sub", true, ""},
	{abc + "FINAL F a.sub\nABORT-DAG-ON F 3", false, "nothing is left to end"},
	{abc + "FINAL F a.sub\nRETRY F 3", false, "is tried once"},
	{abc + "FINAL F a.sub\nDONE F", false, "cannot be DONE"},
	{abc + "FINAL F a.sub DONE", true, ""},
	{abc + "FINAL F a.sub DIR sub\nVARS F x=\"1\"", true, ""},
	{abc + "FINAL F a.sub NOOP", true, ""},
	{"FINAL F a.sub", true, ""},
	{abc + "FINAL A a.sub", false, "two nodes are called A"},
	{abc + "FINAL F a.sub\nFINAL G a.sub", false, "there is a FINAL node already: F"},
	{abc + "FINAL F a.sub\nPARENT A CHILD F", false, "comes after all others by itself"},
	{abc + "SPLICE S fin.dag", false, "a DAG within another one has none"},
	{"SPLICE S pin.dag\nSPLICE T pin.dag\nCONNECT S T", true, ""},
	{"SPLICE S pin.dag\nSPLICE T pin.dag\nCONNECT S T\nCONNECT S T\n" + abc + "PARENT A CHILD T", true, ""},
	{"SPLICE S pin.dag\nSPLICE T orphan.dag\nCONNECT S T", false, "node T+Z of splice T comes after nothing"},
	{"SPLICE S pin.dag\nSPLICE T two.dag\nCONNECT S T", false, "S has 1 outgoing pins and T has 2 incoming ones"},
	{"SPLICE S pin.dag\nSPLICE T gap.dag\nCONNECT S T", false, "splice T has no PIN_IN 1"},
	{"SPLICE S in.dag\nSPLICE T pin.dag\nCONNECT S T", false, "splice S has no PIN_OUT"},
	{"SPLICE S pin.dag\nCONNECT S", false, "CONNECT is not understood"},
	{abc + "SPLICE S pin.dag\nCONNECT S A", false, "no SPLICE is called A"},
	{abc + "PIN_IN A 0", false, "0 is no number of a pin"},
	{abc + "PIN_IN A", false, "PIN_IN is not understood"},
	{abc + "PIN_IN Z 1", false, "no JOB is called Z"},
	{abc + "PIN_IN A 1\nPIN_IN A 1\nPIN_OUT A 3", true, ""},

	{abc + "SCRIPT PRE A pre.sh\nscript post B p.sh $JOB", true, ""},
	{abc + "SCRIPT PRE A", false, "SCRIPT PRE A is not understood"},
	{abc + "SCRIPT PRE X pre.sh", false, "no JOB is called X"},
	{abc + "SCRIPT A pre p.sh", false, "SCRIPT A pre p.sh is not understood"},
	{abc + "SCRIPT MID A p.sh", false, "SCRIPT MID A p.sh is not understood"},
	{abc + "SCRIPT DEFER 4 1800 PRE A p.sh a", true, ""},
	{abc + "SCRIPT DEFER 4 1800 DEBUG f ALL PRE A p.sh", true, ""},
	{abc + "SCRIPT DEBUG f ALL DEFER 4 1800 PRE A p.sh", false, "SCRIPT DEFER 4 1800 PRE A p.sh is not understood"},
	{abc + "SCRIPT DEFER 0 5 PRE A p.sh", false, "DEFER 0 5 is not understood"},
	{abc + "SCRIPT DEFER x 1800 PRE A p.sh", false, "DEFER x 1800 is not understood"},
	{abc + "SCRIPT DEFER 4 PRE A p.sh", false, "DEFER 4 PRE is not understood"},
	{abc + "SCRIPT DEBUG f BOTH POST A p", false, "DEBUG BOTH: it is STDOUT, STDERR or ALL"},
	{abc + "SCRIPT HOLD A p.sh\nSCRIPT POST ALL_NODES p.sh", true, ""},
	{abc + "PRE_SKIP A 1\nSCRIPT PRE A p", true, ""},
	{abc + "PRE_SKIP A x", false, "PRE_SKIP: x is no exit code"},
	{abc + "PRE_SKIP A 300", false, "PRE_SKIP: 300 is no exit code"},
	{abc + "ENV GET PATH\nENV SET A=1;B=2\nENV SET |A=1|B=2", true, ""},
	{"SUBDAG EXTERNAL S in.dag\nVARS S x=\"1\"\nPRIORITY S 1\nRETRY S 2\nCATEGORY S c", true, ""},

	// DAGMan takes these and we cannot, or it says only when it runs them.
	{"JOB A a.sub\nJOB a a.sub", true, "a differs from another node in capitals alone"},
	{abc + "RETRY A 3x", true, "3x is no number of times"},
	{abc + "ABORT-DAG-ON A 300", true, "300 is no exit code of a job"},
	{abc + "ABORT-DAG-ON A -3", true, "-3 is no exit code of a job"},
	{abc + "FINAL F sub/b.sub", true, "the FINAL node F queues 2 jobs"},
	{abc + "FINAL F a.sub\nVARS F x=\"$(DAG_STATUS)\"", true, "$(DAG_STATUS) is known only when the DAG has ended"},
	{abc + "SERVICE S a.sub\nVARS S x=\"1\"\nPROVISIONER P a.sub\nRETRY P 2", true, ""},
	{abc + "SERVICE S a.sub\nPARENT A CHILD S", false, "S is a SERVICE or PROVISIONER"},
	{abc + "PROVISIONER P a.sub\nPROVISIONER Q a.sub", false, "there is a PROVISIONER already"},
	{"SUBDAG EXTERNAL S in.dag\nSCRIPT PRE S pre.sh", true, ""},
	{"SUBDAG EXTERNAL S in.dag\nABORT-DAG-ON S 1", true, "S is a DAG of its own"},
	{"JOB A sub/b.sub\nSCRIPT POST A p", true, ""},
	{"JOB A sub/b.sub\nSCRIPT PRE A p\nPRE_SKIP A 3", true, ""},
	{abc + "CATEGORY A cat\nMAXJOBS cat 0", true, "no node of it would ever run"},
	{abc + "ENV SET A", true, "ENV: A is not understood"},
	{abc + "ENV", true, "ENV is not understood"},
	{"SUBDAG EXTERNAL S no.dag", true, "SUBDAG no.dag: file does not exist"},
	{abc + "PARENT A CHILD B\nPARENT B CHILD A", true, "Dependencies go in a circle"},
	{"JOB A a.sub;", true, "node A: a.sub;: file does not exist"},

	// It does not take these, and we do: later versions know NODE, marks of an editor
	// and quotes mean no harm, and of DONE the installed one stops by a fault of its own.
	{"NODE A a.sub", false, ""},
	{"JOB A @=end DIR sub\n executable=/bin/true\n@end DONE\nSUBMIT-DESCRIPTION d @=x\nexecutable=/bin/true\n@x\nJOB B d", false, ""},
	{"\ufeffJOB A a.sub", false, ""},
	{"INCLUDE \"more.dag\"\nJOB A a.sub", false, ""},
	{abc + "DONE A", false, ""},
}

// TestAsDAGMan: what DAGMan refuses is not taken in silence, and the other way round.
func TestAsDAGMan(t *testing.T) {
	differ := 0
	for _, c := range dagmanCases {
		_, _, err := readDAG(t, c.text+"\n")
		if (err == nil) != (c.ours == "") || err != nil && !strings.Contains(err.Error(), c.ours) {
			t.Errorf("%q: %v, want %q", c.text, err, c.ours)
		}
		if c.real != (c.ours == "") {
			differ++
		}
	}
	if differ != 18 {
		t.Errorf("%d of %d answers are not DAGMan's", differ, len(dagmanCases))
	}
}

// TestDAGsInDAGs: the nodes of a SPLICE, and of a SUBDAG, stand between its parents
// and its children; behind a NOOP all waits for what it waits for.
func TestDAGsInDAGs(t *testing.T) {
	for text, want := range map[string]string{
		"JOB A a.sub\nSPLICE S nest.dag\nJOB B a.sub\nPARENT A CHILD S\nPARENT S CHILD B":                      "A[] S+T+X[S+Z] S+T+Y[S+T+X] S+Z[A] B[S+T+Y]",
		"SPLICE S in.dag\nSPLICE T in.dag\nPARENT S CHILD T":                                                   "S+X[] S+Y[S+X] T+X[S+Y] T+Y[T+X]",
		"SUBDAG EXTERNAL D s.dag DIR sub\nJOB A a.sub\nPARENT D CHILD A":                                       "D+X.0[] D+X.1[] A[D+X.0 D+X.1]",
		abc + "JOB N no.sub NOOP\nJOB M no.sub NOOP\nPARENT A B CHILD N\nPARENT N CHILD M\nPARENT M N CHILD C": "A[] B[] C[A B]",
		abc + "JOB N no.sub NOOP DONE\nPARENT A B CHILD N\nPARENT N CHILD C":                                   "A[] B[] C[]",
		// Each PARENT counts, of a splice too.
		"JOB A a.sub\nJOB B a.sub\nJOB C a.sub\nSPLICE S in.dag\nPARENT A CHILD S\nPARENT B CHILD S\nPARENT S CHILD C": "A[] B[] C[S+Y] S+X[A B] S+Y[S+X]",
		// A SUBDAG's turn is awaited by what stands behind DONE nodes of it, and all of it by what comes after; a splice is a part of the DAG.
		"JOB A a.sub\nJOB B a.sub\nSUBDAG EXTERNAL D part.dag\nPARENT A CHILD D\nPARENT D CHILD B":    "A[] B[D+Y D+W] D+Y[A] D+W[A]",
		"JOB A a.sub\nJOB B a.sub\nSUBDAG EXTERNAL D over.dag\nPARENT A CHILD D\nPARENT D CHILD B":    "A[] B[A]",
		"JOB A a.sub\nJOB B a.sub\nSPLICE D part.dag\nPARENT A CHILD D\nPARENT D CHILD B":             "A[] B[D+W] D+Y[] D+W[A]",
		"SUBDAG EXTERNAL D in.dag NOOP\nJOB A a.sub\nJOB B a.sub\nPARENT A CHILD D\nPARENT D CHILD B": "A[] B[A]",
	} {
		set, _, err := readDAG(t, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		for _, j := range set.Jobs {
			got = append(got, fmt.Sprintf("%s%v", j.Node, j.After))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
	_, _, err := readDAG(t, "JOB A a.sub\nJOB N x NOOP\nJOB M x NOOP\nPARENT N CHILD M\nPARENT M CHILD N\nPARENT N CHILD A")
	if err == nil || !strings.Contains(err.Error(), "Dependencies go in a circle: through ") {
		t.Error(err)
	}
}

// TestCategories: MAXJOBS of a CATEGORY limits its nodes; one of a splice is its own unless a + says otherwise. The
// names are those that DAGMan writes into the rescue file of this DAG.
func TestCategories(t *testing.T) {
	set, warnings, err := readDAG(t, abc+`SPLICE S cat.dag
JOB N none NOOP
SCRIPT PRE N /bin/check
CATEGORY N cat
CATEGORY A cat
MAXJOBS cat 1
MAXJOBS cat 2
CATEGORY B +all
MAXJOBS +all 4
MAXJOBS S+cat 7
CATEGORY C free
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range set.Jobs {
		again, err := jdl.LoadJob(j.Text())
		if err != nil || again.Category != j.Category || again.MaxInCategory != j.MaxInCategory {
			t.Errorf("%s is not what it was when it is read again: %v", j.Node, err)
		}
		got = append(got, fmt.Sprintf("%s %s %d", j.Node, j.Category, j.MaxInCategory))
	}
	if want := "A cat 2, B +all 4, C  0, S+X S+cat 7, S+Y +all 4, N cat 2"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	for _, want := range []string{"MAXJOBS cat was 1 before, and is 2", "MAXJOBS S+cat was 3 before, and is 7"} {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning %q among %q", want, warnings)
		}
	}
}

// TestUnlessExit: another try after each exit code but one.
func TestUnlessExit(t *testing.T) {
	set, _, err := readDAG(t, abc+"RETRY B 3 UNLESS-EXIT 2")
	if err != nil {
		t.Fatal(err)
	}
	if j := set.Jobs[1]; j.RetryCount != 3 || !j.RetriesExit(1) || j.RetriesExit(2) || !j.RetriesExit(255) {
		t.Errorf("%d %v %v", j.RetryCount, j.RetryAnyExit, j.RetryOnExit)
	}
}

// TestTooManyNodes: a DAG that is too long is refused where it begins to be.
func TestTooManyNodes(t *testing.T) {
	testbed.Computes(t)
	var text strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&text, "JOB N%d a.sub\n", i)
	}
	if _, _, err := readDAG(t, text.String()); err == nil || !strings.Contains(err.Error(), "t.dag:100001:1: more than 100000 nodes") {
		t.Error(err)
	}
}

// A DAG of which very much is to be warned is read in time that grows with its length.
func TestDAGOfManyWarnings(t *testing.T) {
	testbed.Computes(t)
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "JOB n%d a.sub\nABORT-DAG-ON n%d 1 RETURN 1\n", i, i)
	}
	testbed.Within(t, 2*time.Second, 200<<20, func() {
		_, warnings, err := readDAG(t, text.String())
		if err != nil || len(warnings) == 0 || len(warnings) > 300 {
			t.Errorf("%d warnings, %v", len(warnings), err)
		}
	})
}
