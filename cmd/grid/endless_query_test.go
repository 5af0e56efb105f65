package main_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

// newRecords is somebody with three jobs that have ended.
func newRecords(t *testing.T) *victim {
	t.Helper()
	v := newVictim(t)
	v.write("job.jdl", `JobType = "parametric"; Parameters = 3; Executable = "/bin/true";`)
	if h := v.grid(0, "submit", "--info", "local:", "--wait", "job.jdl"); h.code != 0 {
		t.Fatalf("%d\n%s%s", h.code, h.out, h.errs)
	}
	return v
}

// endlessWhere compares each of some numbers with all others, again and again.
const endlessWhere = "let x = 1..9000; all(x, all(x, all(x, # > 0)))"

// TestEndlessQueries: a program of --jq that takes memory without end is given up with an error that says so, whatever it does
// with it, and says that what the verb did is done; Ctrl-C ends one, and an expression of --where, at once.
func TestEndlessQueries(t *testing.T) {
	t.Parallel()
	v := newRecords(t)
	programs := []string{
		`[range(1e12)] | length`,
		`def f: 1 + f; f`,
		`reduce range(60) as $i ("x"; [., .]) | tojson`,
	}
	if os.Getenv("GRID_LONG") != "" {
		programs = append(programs,
			`[limit(1e12; repeat("x"))]`,
			`"0123456789" * 40000000`,
			`reduce range(1e12) as $i (0; [.])`,
			`reduce range(60) as $i ("x"; [., .])`,
			`[[range(2000)], [range(2000)], [range(2000)]] | [combinations]`)
	}
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			h := v.grid(0, "list", "--jq", program)
			t.Logf("exit code %d, %v of processor time, %v in all, %d MB: %s", h.code, h.processor, h.took, h.memory>>20, h.errs)
			const done = " (what this command did is done)"
			memory := strings.Contains(h.errs, "it takes more than 256 MiB of memory: given up"+done)
			late := h.took > 30*time.Second && strings.Contains(h.errs, "nothing came of it for 30s in all: given up"+done) // on a busy machine
			if h.code != 1 || !memory && !late || h.out != "" {
				t.Errorf("exit code %d\n%.500s%.2000s", h.code, h.out, h.errs)
			}
			if most := int64(1200 << 20); h.memory > most {
				t.Errorf("%d MB", h.memory>>20)
			}
		})
	}
	for _, args := range [][]string{
		{"--jq", "last(repeat(1))"},
		{"--jq", "repeat(1)"},
		{"--where", endlessWhere},
	} {
		t.Run("interrupted "+args[1], func(t *testing.T) {
			v := newRecords(t)
			v.interrupted(append([]string{"list"}, args...)...)
			if h := v.grid(time.Second, append([]string{"list"}, args...)...); h.code != 130 || !strings.Contains(h.errs, "grid: interrupted") {
				t.Errorf("exit code %d: %.2000s", h.code, h.errs)
			}
		})
	}
}

// TestQueriesAreReadFirst: a program that is none is refused before anything is done of which it is to tell.
func TestQueriesAreReadFirst(t *testing.T) {
	t.Parallel()
	v := newRecords(t)
	for _, program := range []string{".jobs[", "nothing_of_that_name", "$x", `include "x"; .`} {
		if h := v.grid(0, "submit", "--info", "local:", "--jq", program, "job.jdl"); h.code != 2 || !strings.Contains(h.errs, "--jq") {
			t.Errorf("%s: exit code %d, %s%s", program, h.code, h.out, h.errs)
		}
	}
	if h := v.grid(0, "submit", "--info", "local:", "--jq", ".jobs + 1", "job.jdl"); h.code != 1 || !strings.Contains(h.errs, "what this command did is done") {
		t.Errorf("exit code %d, %s%s", h.code, h.out, h.errs)
	}
	if h := v.grid(0, "list", "--jq", ".jobs | length, halt, 5"); h.out != "6\n" || h.code != 0 {
		t.Errorf("exit code %d, %s%s", h.code, h.out, h.errs)
	}
}

// TestQueriesTakeTheirTime: what makes nothing is given up after half a minute, with an error that says so.
func TestQueriesTakeTheirTime(t *testing.T) {
	if os.Getenv("GRID_LONG") == "" {
		t.Skip("two half minutes: GRID_LONG=1")
	}
	t.Parallel()
	v := newRecords(t)
	for flag, want := range map[string]struct {
		text string
		code int
	}{"--jq": {"last(repeat(1))", 1}, "--where": {endlessWhere, 2}} {
		h := v.grid(0, "list", flag, want.text)
		if h.code != want.code || !strings.Contains(h.errs, flag+": nothing came of it for 30s in all: given up") {
			t.Errorf("%s: exit code %d after %v: %.2000s", flag, h.code, h.took, h.errs)
		}
	}
}
