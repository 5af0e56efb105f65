package jdl

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// Many jobs of one long text, and many of one name, are made in time that grows with their number and not with its square.
func TestManyJobsOfOneText(t *testing.T) {
	testbed.Computes(t)
	text := bytes.Repeat([]byte("# a long comment\n"), 300_000)
	ads := make([]*classad.Ad, 5_000)
	for i := range ads {
		ad, err := classad.ReadAd("", []byte(`Executable = "/bin/true";`))
		if err != nil {
			t.Fatal(err)
		}
		ads[i] = ad
	}
	testbed.Within(t, 2*time.Second, 200<<20, func() {
		set, err := FromRecords("j.xrsl", text, ads)
		if err != nil || len(set.Jobs) != len(ads) {
			t.Errorf("%v", err)
		}
	})
	same := fmt.Sprintf(`[Executable = "/bin/true"; Parameters = {%s"x"}; Arguments = "%%s"]`, strings.Repeat(`"x", "X", "x-7", `, 6_000))
	testbed.Within(t, 2*time.Second, 200<<20, func() {
		set, err := ParseJobs("j.jdl", []byte(same))
		if err != nil || len(set.Jobs) != 18_001 {
			t.Fatalf("%v", err)
		}
		names := map[string]bool{}
		for _, job := range set.Jobs {
			names[classad.Fold(job.Node)] = true
		}
		if len(names) != len(set.Jobs) {
			t.Errorf("%d names of %d jobs", len(names), len(set.Jobs))
		}
	})
}

// Nodes that each may end their DAG, and nodes that each have to be warned of, cost what their number is and not its square.
func TestManyNodesOfOneKind(t *testing.T) {
	testbed.Computes(t)
	for name, one := range map[string]string{"that end it": "AbortDAGOn = 1;", "to be warned of": "RetryCount = 999999;"} {
		var text strings.Builder
		text.WriteString(`Type = "Dag"; Nodes = [`)
		for i := range 20_000 {
			fmt.Fprintf(&text, "\nn%d = [Description = [Executable = \"/bin/true\"; %s]];", i, one)
		}
		text.WriteString("];")
		t.Run(name, func(t *testing.T) {
			testbed.Within(t, 3*time.Second, 200<<20, func() {
				set, err := ParseJobs("j.jdl", []byte(text.String()))
				if err != nil {
					t.Fatal(err)
				}
				long, warnings := 0, len(set.Warnings)
				for _, job := range set.Jobs {
					long, warnings = long+len(job.Text()), warnings+len(job.Warnings)
				}
				if long > 20_000*1_000 || warnings > 1_000 || strings.Contains(one, "Retry") && warnings == 0 {
					t.Errorf("%d bytes of text, %d warnings", long, warnings)
				}
			})
		})
	}
}

// What a few lines make of many jobs by placeholders, or by what all nodes have of their set, is refused before it is much,
// and what stands in the text may be as much as the text.
func TestSetsThatGrow(t *testing.T) {
	testbed.Computes(t)
	files := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"http://example.org/%d"`, i))
		}
		return strings.Join(list, ", ")
	}
	sites := strings.Repeat(`"LCG.A.ch", `, 20_000) + `"x"`
	var names strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&names, "Unknown%d = 1; ", i)
	}
	nodes := func(n int, one string) string { return "Nodes = {" + strings.Repeat(one+", ", n-1) + one + "};" }
	disk := fstest.MapFS{"node.jdl": {Data: []byte(`Executable = "/bin/true"; Note = "` + strings.Repeat("x", 15_000_000) + `";`)}}
	for name, text := range map[string]string{
		"placeholders":      `JobType = "Parametric"; Executable = "/bin/true"; Parameters = 10000; Arguments = "` + strings.Repeat("_PARAM_ ", 20_000) + `";`,
		"placeholders of %": `[Executable = "/bin/true"; Parameters = {` + strings.Repeat(`"x", `, 30_000) + `"x"}; Arguments = "` + strings.Repeat("%s", 20_000) + `"]`,
		"an argument":       `Type = "Collection"; Big = "` + strings.Repeat("x", 100_000) + `";` + nodes(10_000, `[Executable = "/bin/true"; Arguments = root.Big]`),
		"inherited files":   `Type = "Collection"; InputSandbox = {` + files(5_000) + `};` + nodes(5_000, `[Executable = "/bin/true"; InputSandbox = root.InputSandbox]`),
		"places":            `Executable = "/bin/true"; Parameters = 1000; Site = {` + sites + `}; BannedSite = {` + sites + `};`,
		"clauses":           `JobType = "Parametric"; Executable = "/bin/true"; Parameters = 10000; Requirements = ` + strings.Repeat("other.GlueCEStateFreeCPUs > 1 && ", 5_000) + `true;`,
		"names":             `Type = "Collection"; ` + names.String() + nodes(10_000, `[Executable = "/bin/true"]`),
		"names of a sweep":  `JobType = "Parametric"; Executable = "/bin/true"; Parameters = 10000; ` + names.String(),
		"a file":            `Type = "Collection"; ` + nodes(2_000, `[File = "node.jdl"]`),
		"files of all":      `JobType = "Parametric"; Executable = "/bin/true"; Parameters = 10000; InputSandbox = {` + files(5_000) + `};`,
	} {
		t.Run(name, func(t *testing.T) {
			testbed.Within(t, 2*time.Second, 200<<20, func() {
				if _, err := ParseJobs("j.jdl", []byte(text), WithDir("/"), WithRoot(disk)); err == nil || !strings.Contains(err.Error(), "the jobs take more than") {
					t.Errorf("%.300v", err)
				}
			})
		})
	}
	many := `JobType = "Parametric"; Executable = "/bin/true"; Arguments = "_PARAM_"; Parameters = 20000; Environment = {"A=1", "B=2"}; RunTimeEnvironment = {"A", "B"};
		OutputSandbox = {"a", "b"}; InputSandbox = {` + files(5) + `}; Requirements = ` + strings.Repeat("other.GlueCEStateFreeCPUs > 1 && ", 20) + `true;`
	if set, err := ParseJobs("j.jdl", []byte(many), WithDir("/")); err != nil || len(set.Jobs) != 20_000 {
		t.Errorf("an ordinary sweep: %.300v", err)
	}
	set, err := ParseJobs("j.jdl", []byte(`Type = "Collection";`+nodes(1_000, `[Executable = "/bin/true"; InputSandbox = {`+files(500)+`}]`)), WithDir("/"))
	if err != nil || len(set.Jobs) != 1_000 {
		t.Errorf("what stands in the text: %.300v", err)
	}
}
