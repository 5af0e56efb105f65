package jdl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// TestSamples reads the sample files of the project as they are.
func TestSamples(t *testing.T) {
	want := map[string]int{
		"hello.jdl": 1, "sandbox.jdl": 1, "parametric.jdl": 4, "parametric-dirac.jdl": 3, "collection.jdl": 3,
		"dag.jdl": 4, "mpi.jdl": 1, "rte.jdl": 1,
	}
	for name, n := range want {
		path := filepath.Join("..", "testdata", "jdl", name)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set, err := ParseJobs(path, src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(set.Jobs) != n || len(set.Warnings) > 0 {
			t.Errorf("%s: %d jobs, warnings %v", name, len(set.Jobs), set.Warnings)
		}
		for _, j := range set.Jobs {
			again, err := LoadJob(j.Text())
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, j.Text())
			}
			testbed.Equal(t, name, view(again), view(j))
		}
	}
}

func parseSet(t *testing.T, src string, opts ...Option) *JobSet {
	t.Helper()
	set, err := ParseJobs("test.jdl", []byte(src), append([]Option{WithDir("/job"), WithRoot(testbed.JobFiles("run.sh", "a", "b"))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func argsOf(set *JobSet) string {
	var out []string
	for _, j := range set.Jobs {
		out = append(out, JoinArgs(j.Args))
	}
	return strings.Join(out, ",")
}

func TestParametricCounting(t *testing.T) {
	const glite = `JobType = "parametric"; Executable = "/bin/echo"; Arguments = "_PARAM_"; `
	const dirac = `JobName = "%n"; Executable = "/bin/echo"; Arguments = "%s"; `
	for _, c := range []struct{ src, want string }{
		{glite + `Parameters = 3;`, "0,1,2"},
		{glite + `Parameters = 10; ParameterStart = 1; ParameterStep = 2;`, "1,3,5,7,9"},
		{glite + `Parameters = 3; ParameterStart = 0.;`, "0,1,2"},
		{glite + `Parameters = {alpha, "beta", 3}; `, "alpha,beta,3"},
		{glite + `Parameters = {"a", "b", "c", "d", "e"}; ParameterStart = 1; ParameterStep = 2;`, "b,d"},
		{dirac + `Parameters = 3; ParameterStart = 1; ParameterStep = 2;`, "1,3,5"},
		{dirac + `Parameters = 3; ParameterStart = 2; ParameterFactor = 2; ParameterStep = 1;`, "2,5,11"},
		{dirac + `Parameters = 3; ParameterStart = 0.5; ParameterStep = 0.25;`, "0.5,0.75,1"},
		{dirac + `Parameters = {"x", "y"};`, "x,y"},
		{`JobName = "%(a)s"; Executable = "/bin/echo"; Arguments = "%(a)s %(b)s %n"; Parameters.a = {1, 2}; Parameters.b = 2; ParameterStart.b = 5; ParameterStep.b = 1;`, "1 5 0,2 6 1"},
	} {
		if got := argsOf(parseSet(t, c.src)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
	same := `Parameters = 3; ParameterStart = 1; Executable = "/bin/echo"; JobType = "parametric";`
	testbed.Equal(t, "gLite counts to a bound", len(parseSet(t, same, WithDialect(GLite)).Jobs), 2)
	testbed.Equal(t, "DIRAC counts jobs", len(parseSet(t, same, WithDialect(DIRAC)).Jobs), 3)
}

func TestParametricSubstitution(t *testing.T) {
	set := parseSet(t, `JobType = {"parametric"}; Parameters = {"a", "b"}; Executable = "/bin/cat"; InputSandbox = {"_PARAM_"};
	  n_PARAM_ = 5; RetryCount = n_PARAM_; Requirements = other.x_PARAM_ > 1; StdOutput = "o_PARAM_";`)
	j := set.Jobs[1]
	testbed.Equal(t, "files", []string{j.InputSandbox[0].Source, j.StdOutput}, []string{"/job/b", "ob"})
	testbed.Equal(t, "names", []any{j.RetryCount, classad.Unparse(j.Requirements)}, []any{5, `other.xb > 1 && other.GlueCEStateStatus == "Production"`})
	testbed.Equal(t, "environment", j.Environment, []EnvVar{{"ParameterValue", "b"}})
	testbed.Equal(t, "node", []string{j.Node, j.Name}, []string{"b", "cat-b"})
}

func TestCollection(t *testing.T) {
	set := parseSet(t, `[ Type = "collection"; InputSandbox = {"run.sh"}; RetryCount = 1; DefaultNodeShallowRetryCount = 4;
	  Rank = other.r; MyProxyServer = "p.example"; NodesCollocation = false;
	  Nodes = {
	    [ NodeName = "one"; Executable = "run.sh"; InputSandbox = {"a"}; MyProxyServer = "q.example"; ],
	    [ Executable = "/bin/cat"; InputSandbox = {root.InputSandbox[0], "b"}; RetryCount = 7; Rank = 0; ]
	  }; ]`)
	one, two := set.Jobs[0], set.Jobs[1]
	testbed.Equal(t, "one's files", one.InputSandbox, []InputFile{{Source: "/job/a", Name: "a", Executable: false}, {Source: "/job/run.sh", Name: "run.sh", Executable: true}})
	testbed.Equal(t, "two's files", two.InputSandbox, []InputFile{{Source: "/job/run.sh", Name: "run.sh", Executable: false}, {Source: "/job/b", Name: "b", Executable: false}})
	testbed.Equal(t, "retries", []int{one.RetryCount, one.ShallowRetry, two.RetryCount}, []int{1, 4, 7})
	testbed.Equal(t, "ranks", []string{classad.Unparse(one.Rank), classad.Unparse(two.Rank)}, []string{"other.r", "0"})
	testbed.Equal(t, "names", []string{one.Node, two.Node, one.MyProxyServer}, []string{"one", "Node_1", "p.example"})
}

func TestDAG(t *testing.T) {
	set := parseSet(t, `[ Type = "dag"; Max_Nodes_Running = 2;
	  Nodes = [ a = [ Description = [ Executable = "/bin/a"; ]; ]; b = [ Executable = "/bin/b"; ]; c = [ File = "n.jdl"; NodeName = "C"; ];
	    Dependencies = { {{a, b}, c} } ]; ]`,
		WithRoot(fstest.MapFS{"job/n.jdl": {Data: []byte(`Executable = "/bin/c";`)}}))
	testbed.Equal(t, "kind", []any{set.Kind, set.MaxRunning, len(set.Jobs)}, []any{DAG, 2, 3})
	testbed.Equal(t, "after", set.Jobs[2].After, []string{"a", "b"})
	testbed.Equal(t, "first", set.Jobs[0].After, []string(nil))
}

func TestSetErrors(t *testing.T) {
	const two = `Type = "dag"; Nodes = [ a = [ Executable = "/bin/a"; ]; b = [ Executable = "/bin/b"; ] ]; `
	for _, c := range []struct{ src, want string }{
		{two + `Dependencies = { {a, b}, {b, a} };`, `Dependencies go in a circle: a before b before a`},
		{two + `Dependencies = { {a, bb} };`, `Dependencies: no node is called bb`},
		{two + `Dependencies = { {a, b, a} };`, `a dependency must be a pair`},
		{`Type = "collection"; Nodes = { [ Executable = "/bin/a"; JobType = "parametric"; Parameters = 2; ] };`, `node Node_0 must be one job, and it is a parametric`},
		{`Type = "collection"; Nodes = { [ File = "none.jdl" ] };`, `node Node_0: none.jdl: file does not exist`},
		{`Type = "collection"; Nodes = {};`, `the collection has no nodes`},
		{`Type = "collection";`, `a collection without Nodes`},
		{`Nodes = { [ Executable = "/bin/a" ] };`, `Nodes without a Type`},
		{`Type = "collection"; NodesCollocation = true; Nodes = { [ Executable = "/bin/a"; Rank = 1; ] };`, `a node has no Rank or Requirements of its own`},
		{`Type = "collection"; Nodes = { [ Executable = "a/b" ], [ Executable = "/b" ] };`, `node Node_0: `},
		{`JobType = "parametric"; Executable = "/bin/a";`, `a parametric job needs Parameters`},
		{`JobType = "parametric"; Executable = "/bin/a"; Parameters = 3; ParameterStart = 3;`, `no job: ParameterStart 3 is not below Parameters 3`},
		{`JobType = "parametric"; Executable = "/bin/a"; Parameters = 3; ParameterStep = 0;`, `ParameterStep must be at least 1`},
		{`JobType = "parametric"; Executable = "/bin/a"; Parameters = 2; VirtualOrganisation = "vo_PARAM_";`, `VirtualOrganisation may not depend on the parameter`},
		{`JobType = "parametric"; Executable = "/bin/a"; Parameters = 2000000000;`, `more than 100000 jobs`},
		{`JobName = "%s"; Executable = "/bin/a"; Parameters.a = {1}; Parameters.b = {1, 2};`, `values where another sequence has`},
	} {
		_, err := ParseJobs("test.jdl", []byte(c.src), WithRoot(fstest.MapFS{}), WithDir("/"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.src, err, c.want)
		}
	}
	_, err := ParseJob("x", []byte(`JobType = "parametric"; Parameters = 2; Executable = "/bin/a";`))
	if err == nil || !strings.Contains(err.Error(), "the file describes 2 jobs (parametric), and one is wanted") {
		t.Errorf("ParseJob of two: %v", err)
	}
}

// The JobName of a collection, DAG or sweep is the set's, and no node's; like any other it holds no control characters.
func TestNamesOfSets(t *testing.T) {
	const nodes = `Nodes = [ a = [ Description = [ Executable = "/bin/true"; ]; ]; b = [ Description = [ JobName = "own"; Executable = "/bin/true"; ]; ]; ];`
	for text, want := range map[string]string{
		`Type = "dag"; JobName = "chain"; ` + nodes: "chain", `Type = "dag"; ` + nodes: "",
		`Type = "collection"; JobName = "pair"; Nodes = { [ Executable = "/bin/true"; ], [ Executable = "/bin/true"; ] };`: "pair",
		`JobName = "one"; Executable = "/bin/true";`: "", `JobType = "Parametric"; JobName = "sweep"; Executable = "/bin/true"; Arguments = "_PARAM_"; Parameters = 2;`: "sweep",
		`JobType = "Parametric"; JobName = "at-_PARAM_"; Executable = "/bin/true"; Parameters = 2;`: "",
		`JobName = "tuned"; Executable = "/bin/true"; Arguments = "%(E)s"; Parameters.E = {1, 2};`:  "tuned",
	} {
		set, err := ParseJobs("t.jdl", []byte(text))
		if err != nil || set.Name != want {
			t.Errorf("%s: %v, %+v", text, err, set)
			continue
		}
		names := map[string]bool{want: want != ""}
		for _, j := range set.Jobs {
			if names[j.Name] && set.Kind != Collection {
				t.Errorf("%s: a node is called %s, too", text, j.Name)
			}
			names[j.Name] = true
		}
	}
	for _, name := range []string{`"a\nb"`, `"a\033[31m"`, `5`} {
		if set, err := ParseJobs("t.jdl", []byte(`Type = "dag"; JobName = `+name+`; `+nodes)); err == nil {
			t.Errorf("a DAG is called %s: %+v", name, set)
		}
	}
}
