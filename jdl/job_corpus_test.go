package jdl

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/testdata/testbed"
)

// allFiles is a file system in which every file exists; read as a
// description, each is a small job.
type allFiles struct{}

var anyFile = fstest.MapFS{"f": {Data: []byte(`Executable = "/bin/hostname";`)}}

func (allFiles) Open(string) (fs.File, error)     { return anyFile.Open("f") }
func (allFiles) Stat(string) (fs.FileInfo, error) { return anyFile.Stat("f") }

// verdict is what becomes of a file: jobs of a kind in a dialect, or the start
// of the message with which it is refused.
type verdict struct {
	kind    SetKind
	jobs    int
	dialect Dialect
	err     string
}

func ok(d Dialect) verdict                    { return verdict{SingleJob, 1, d, ""} }
func refused(err string) verdict              { return verdict{err: err} }
func set(k SetKind, n int, d Dialect) verdict { return verdict{k, n, d, ""} }

// corpus has a verdict, found by reading it, for each real file.
var corpus = map[string]verdict{
	"001-dirac-index.jdl":                 ok(DIRAC),
	"003-dirac-index.jdl":                 ok(GLite), // nothing in it is DIRAC's alone
	"005-dirac-index.jdl":                 ok(DIRAC),
	"007-dirac-index.jdl":                 set(Parametric, 20, DIRAC),
	"009-dirac-testWFSIO.jdl":             ok(DIRAC),
	"011-dirac-JDL-1.jdl":                 ok(DIRAC),
	"013-dirac-JDL-3.jdl":                 ok(DIRAC),
	"015-dirac-dirac-test.jdl":            ok(GLite),
	"017-glite-dag.jdl":                   set(DAG, 3, GLite),
	"019-glite-interactive.jdl":           refused(`019-glite-interactive.jdl:1:9: interactive jobs cannot be run`),
	"021-glite-100176.jdl":                ok(GLite),
	"023-glite-28642.jdl":                 ok(GLite),
	"025-glite-30900.jdl":                 ok(GLite),
	"027-glite-34510.jdl":                 set(Collection, 20, GLite),
	"029-glite-36145.jdl":                 set(DAG, 3, GLite),
	"031-glite-40982.jdl":                 set(Collection, 10, GLite),
	"033-glite-45883.jdl":                 ok(GLite),
	"035-glite-55814.jdl":                 ok(GLite),
	"037-glite-73699.jdl":                 ok(GLite),
	"039-glite-77004.jdl":                 ok(GLite),
	"041-glite-78047.jdl":                 ok(GLite),
	"043-glite-82687.jdl":                 ok(GLite),
	"045-glite-92922.jdl":                 ok(GLite),
	"047-glite-98279.jdl":                 ok(GLite),
	"049-glite-example.jdl":               ok(GLite),
	"051-glite-27215.jdl":                 ok(GLite),
	"053-glite-30896.jdl":                 ok(GLite),
	"055-glite-35250.jdl":                 set(DAG, 3, GLite),
	"057-glite-38359.jdl":                 ok(GLite),
	"059-glite-84155.jdl":                 ok(GLite),
	"061-glite-98279.jdl":                 ok(GLite),
	"063-glite-fake.jdl":                  refused(`063-glite-fake.jdl:2:1: the job has no Executable`), // it is commented out
	"065-glite-hostname.jdl":              ok(GLite),
	"067-glite-perusal.jdl":               ok(GLite),
	"069-glite-27215.jdl":                 ok(GLite),
	"071-glite-28235.jdl":                 ok(GLite),
	"073-glite-30308.jdl":                 ok(GLite),
	"075-glite-30900.jdl":                 ok(GLite),
	"077-glite-31669.jdl":                 set(Collection, 3, GLite),
	"079-glite-34508.jdl":                 set(Collection, 5, GLite),
	"081-glite-36536.jdl":                 ok(GLite),
	"083-glite-example.jdl":               ok(GLite),
	"085-glite-31278-no-sdj.jdl":          ok(GLite),
	"087-glite-echo.jdl":                  ok(GLite),
	"089-glite-ce-info.jdl":               refused(`089-glite-ce-info.jdl:1:1: the job has no Executable`), // no job at all
	"091-glite-inputclassad.jdl":          refused(`091-glite-inputclassad.jdl:26:14: StdInput "input.txt" is not in the InputSandbox`),
	"093-glite-inputclassad.jdl":          refused(`093-glite-inputclassad.jdl:26:14: StdInput "input.txt" is not in the InputSandbox`),
	"095-glite-inputclassad.jdl":          refused(`095-glite-inputclassad.jdl:24:14: StdInput "input.txt" is not in the InputSandbox`),
	"097-glite-test-cream.jdl":            ok(GLite),
	"099-glite-grid-job-requirements.jdl": refused(`099-glite-grid-job-requirements.jdl:2:1: the job has no Executable`),
	"101-glite-first-grid-job.jdl":        ok(GLite),
	"103-dirac-bootstrap-dirac.jdl":       ok(GLite),
	"105-dirac-gpu-jobs.jdl":              ok(DIRAC),
	"107-dirac-parametric-dirac.jdl":      set(Parametric, 3, DIRAC),
	"109-glite-wms2creamce.jdl":           ok(GLite),
}

// TestCorpus reads files that people wrote. They are not ours to ship.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("GRID_TESTDATA")
	if dir == "" {
		t.Skip("GRID_TESTDATA does not name the directory with jdl-corpus")
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "jdl-corpus", "*.jdl"))
	if len(paths) == 0 {
		t.Skip("GRID_TESTDATA has no jdl-corpus")
	}
	for _, path := range paths {
		name := filepath.Base(path)
		want, known := corpus[name]
		if !known {
			t.Errorf("%s: no verdict", name)
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseJobs(name, src, WithRoot(allFiles{}), WithDir("/job"))
		if want.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), want.err) {
				t.Errorf("%s: %v\nwant %s", name, err, want.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		testbed.Equal(t, name, verdict{got.Kind, len(got.Jobs), got.Jobs[0].Dialect, ""}, want)
		reload(t, name, got.Jobs[0])
	}
}

// reload checks that a job's text gives the job again.
func reload(t *testing.T, name string, j *Job) {
	t.Helper()
	again, err := LoadJob(j.Text())
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, j.Text())
		return
	}
	testbed.Equal(t, name, view(again), view(j))
}
