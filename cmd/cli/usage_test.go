package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// TestUsageOfTheTimeAskedFor: what a user's jobs used of the time that they asked for
// is learned as they are followed, and counts for kinds of jobs that are new.
func TestUsageOfTheTimeAskedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0), WallTime: 6 * time.Minute}}
	describe := func(i int) string {
		file := filepath.Join(dir, fmt.Sprintf("job%d.jdl", i))
		text := fmt.Sprintf("Executable = \"/bin/kind%d\"; WallTime = \"1 h\";\n", i)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	terms := func() string {
		t.Helper()
		code, out, errs := atLiarIn(t, dir, l, "match", "--terms", describe(1000))
		if code != 0 {
			t.Fatalf("exit code %d\n%s%s", code, out, errs)
		}
		return out
	}
	if out := terms(); strings.Contains(out, "usage") {
		t.Errorf("before any job has ended:\n%s", out)
	}
	for i := range 5 {
		if code, out, errs := atLiarIn(t, dir, l, "submit", "--wait", describe(i)); code != 0 {
			t.Fatalf("exit code %d\n%s%s", code, out, errs)
		}
	}
	// Five jobs that used a tenth weigh as much as the first guess, that all is used.
	out := terms()
	usage, run := "", ""
	for line := range strings.Lines(out) {
		switch f := strings.Fields(line); {
		case strings.Contains(line, " usage "):
			usage = line
		case len(f) > 1 && strings.Contains(line, " run "):
			run = line
		}
	}
	if !strings.Contains(usage, "0.55") || !strings.Contains(usage, "history") || !strings.Contains(run, "1980") {
		t.Errorf("after five jobs that used a tenth of what they asked for:\n%s", out)
	}
}
