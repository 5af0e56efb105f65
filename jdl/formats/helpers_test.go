package formats

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/jdl"
	"gridbroker/testdata/testbed"
)

// parseJob reads a description of one job; one of many jobs is an error.
func parseJob(file string, src []byte, opts ...jdl.Option) (*jdl.Job, error) {
	set, err := ParseJobs(file, src, opts...)
	if err != nil {
		return nil, err
	}
	return set.Only(file)
}

func parseTest(t *testing.T, src string, files ...string) *jdl.Job {
	t.Helper()
	j, err := parseJob("test.jdl", []byte(src), jdl.WithDir("/job"), jdl.WithRoot(testbed.JobFiles(files...)))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// allFiles is a file system in which every file exists; read as a
// description, each is a small job.
type allFiles struct{}

var anyFile = fstest.MapFS{"f": {Data: []byte(`Executable = "/bin/hostname";`)}}

func (allFiles) Open(string) (fs.File, error)     { return anyFile.Open("f") }
func (allFiles) Stat(string) (fs.FileInfo, error) { return anyFile.Stat("f") }

// TestBounds gives texts that would take for ever, or all memory, when taken
// at their word.
func TestBounds(t *testing.T) {
	testbed.Computes(t)
	double := `&(executable=/x)(rsl_substitution=(A 0123456789))`
	for i := range 40 {
		double += fmt.Sprintf("(rsl_substitution=(%c%d $(%c%d A)#$(%c%d A)))", 'B', i+1, 'B', i, 'B', i)
	}
	big := strings.Repeat("x", 1<<20)
	for name, src := range map[string]string{
		"xrsl doubling":   double,
		"xrsl depth":      "&(a=" + strings.Repeat("(", 5<<20),
		"xrsl values":     "&(a=" + strings.Repeat("b\n", 1<<18) + ")",
		"param growth":    `JobType = "parametric"; Executable = "/x"; Parameters = {"` + big + `"}; Arguments = "` + strings.Repeat("_PARAM_", 10000) + `";`,
		"unknown names":   `Executable = ls; ` + manyAttrs(20000),
		"same file twice": `Executable = "/x"; InputSandbox = {"h://x/a", "h://y/a"` + strings.Repeat(`, "h://z/a"`, 20000) + `};`,
		"nodes":           `Type = "collection"; Nodes = {` + strings.Repeat(`[NodeName = "a"],`, 20000) + `[]};`,
		"json depth":      strings.Repeat(`{"a":`, 1<<18),
		"adl elements":    "<ActivityDescriptions>" + strings.Repeat("<a/>", 1<<18),
	} {
		if _, err := ParseJobs(name, []byte(src), jdl.WithRoot(allFiles{})); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) > 1<<18 {
			t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
		}
		Lint(name, []byte(src), jdl.WithRoot(allFiles{}))
	}
}

func manyAttrs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Exekutable%d = 1;\n", i)
	}
	return b.String()
}
