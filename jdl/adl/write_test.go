package adl

import (
	"slices"
	"strings"
	"testing"

	"gridbroker/jdl"
)

// Millions of arguments are refused before each is an element: they took a gigabyte, for what no system starts.
func TestManyArguments(t *testing.T) {
	j := &jdl.Job{Executable: "/bin/true", Args: slices.Repeat([]string{"a"}, maxArguments+1)}
	if _, err := Write(j, Options{}); err == nil || !strings.Contains(err.Error(), "more than any system starts a program with") {
		t.Errorf("%v", err)
	}
}

// TestLogicalNames: a file that is known by its logical name alone cannot be asked of a computing element; A-REX would say
// that it cannot read the description.
func TestLogicalNames(t *testing.T) {
	for _, c := range [][2]string{
		{"/dirac/LFN", `JobName = "a"; Executable = "/bin/cat"; InputSandbox = {"LFN:/vo/user/test.txt"}; OutputData = {"o"};`},
		{"lfn:", `Executable = "/bin/cat"; InputSandbox = {"lfn:/grid/vo/test.txt"};`},
	} {
		job, err := jdl.ParseJob("a.jdl", []byte(c[1]), jdl.WithoutFiles())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Write(job, Options{}); err == nil || !strings.Contains(err.Error(), "does not look up the logical name lfn:/") {
			t.Errorf("%s: %v", c[0], err)
		}
		if _, err = Write(job, Options{Lossy: true}); err != nil {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}
