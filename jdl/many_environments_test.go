package jdl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A job that asks for runtime environments without end is refused as their list grows.
func TestEnvironmentsWithoutEnd(t *testing.T) {
	testbed.Computes(t)
	var clauses []string
	for i := range 50_000 {
		clauses = append(clauses, fmt.Sprintf(`Member("T%d", other.GlueHostApplicationSoftwareRunTimeEnvironment)`, i))
	}
	ask := func(n int) error {
		_, err := ParseJob("j.jdl", []byte(`Executable = "/bin/true"; Requirements = `+strings.Join(clauses[:n], " && ")+";"))
		return err
	}
	testbed.Within(t, 2*time.Second, 200<<20, func() {
		if err := ask(len(clauses)); err == nil || !strings.Contains(err.Error(), "more than 1000 runtime environments") {
			t.Errorf("%.300v", err)
		}
	})
	if err := ask(1000); err != nil {
		t.Error(err)
	}
}
