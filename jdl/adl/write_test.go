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
