package main_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestNestedNames: Requirements whose attributes name each other, so that texts and lists double from one to the next, or in a long chain,
// are given up before long, however many resources there are.
func TestNestedNames(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.write("ce.ldif", sharesOf(2000))
	for name, c := range map[string]struct {
		names                     int
		first, next, requirements string
	}{
		"texts":   {24, `"x"`, "strcat(BEFORE, BEFORE)", "A24 == other.GlueCEUniqueID"},
		"lists":   {24, "other.GlueCEUniqueID", "{ BEFORE, BEFORE }", "size(A24) > 0"},
		"ands":    {24, `other.GlueCEUniqueID == "x" || other.GlueCEStateStatus == "Production"`, "BEFORE && BEFORE", "A24"},
		"a chain": {9000, "other.GlueCEUniqueID", "BEFORE", `A9000 == "x"`},
	} {
		var job strings.Builder
		fmt.Fprintf(&job, "Executable = \"/bin/true\";\nA0 = %s;\n", c.first)
		for i := range c.names {
			fmt.Fprintf(&job, "A%d = %s;\n", i+1, strings.ReplaceAll(c.next, "BEFORE", fmt.Sprint("A", i)))
		}
		fmt.Fprintf(&job, "Requirements = %s;\n", c.requirements)
		v.write("job.jdl", job.String())
		h := v.grid(0, "match", "--anywhere", "--info", "file:ce.ldif", "job.jdl")
		v.bounded(h, "")
		if h.code != 3 {
			t.Errorf("%s: exit code %d: %.300s", name, h.code, h.out)
		}
	}
}
