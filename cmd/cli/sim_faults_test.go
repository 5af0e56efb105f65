package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/plugins/all"
	"gridbroker/testdata/testbed"
)

// mauiNodes and mauiJob are lines of Maui's traces.
const (
	mauiNodes = "VERSION 230\nCOMPUTENODE AVAILABLE 100 n1 DEFAULT 2048 1024 1000 2 1 1 1 linux x86 [NONE] [DEFAULT:2] [NONE] [NONE] [NONE] [NONE] [NONE]\n"
	mauiJob   = "%s 0 1 bob users 100 Completed [DEFAULT:1] %d %d %d %d [NONE] [NONE] [NONE] >= 0M >= 0M [NONE] %d 1 -1 " +
		"[NONE]:[NONE] [NONE] [NONE] [NONE] [NONE] 0 9.00 DEFAULT 1 0M 0M 0M 0 0 n1 [DEFAULT] [NONE] [NONE] [NONE] [NONE] [NONE]\n"
)

// mauiLine is a job that comes at a time and runs for so long.
func mauiLine(id string, queued, run int) string {
	return fmt.Sprintf(mauiJob, id, queued, queued, queued, queued+run, queued)
}

// TestTracesThatCannotBePlayed: what a trace says that no simulation can hold is
// told with its line or job, and nothing is printed that could be taken for a
// result; what it can hold is played.
func TestTracesThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	const head = "; MaxProcs: 8\n1 0 0 100 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1\n"
	for _, c := range []struct {
		args, trace string
		code        int
		says        string
	}{
		{"sim queue --trace t --nodes 2", head, 0, ""},
		{"sim queue --trace t --nodes 2", head + "7 5 0 20000000000 8 -1 -1 8 200 -1 1 1 1 -1 1 -1 -1 -1\n", 1, "line 3: job 7 takes 20000000000 s"},
		{"sim queue --trace t --nodes 2", head + "7 5 0 20 8 -1 -1 8 20000000000 -1 1 1 1 -1 1 -1 -1 -1\n", 1, "line 3: job 7 takes 20000000000 s"},
		{"sim queue --trace t", head + "7 5 0 20000000000 8 -1 -1 8 200 -1 1 1 1 -1 1 -1 -1 -1\n", 0, "1 limits raised"},
		{"sim queue --trace t", head + "x 5\n", 0, "t:3: "},
		{"sim queue --trace t", "x 5\n", 1, "t: no usable job in 0 lines of jobs, 1 unreadable"},
		{"sim queue --trace t --resources r --show start --at 0", "VERSION 230\n" + mauiLine("a", 100, 50) + mauiLine("b", 110, 50), 0, ""},
		{"sim queue --trace t --resources r --show start", "VERSION 230\n" + mauiLine("a", 100, 50) + mauiLine("a", 110, 50), 2, `t: job "a" is in the trace twice`},
		{"sim queue --trace t --resources r --show start", "VERSION 230\na b\n", 2, "line 2: 2 fields, want 44"},
		{"sim queue --trace t --resources t --show start", "VERSION 230\n" + mauiLine("a", 100, 50), 2, "line 2: 44 fields, want 21"},
		{"sim queue --trace t --resources r --show start", "VERSION 230\n", 1, "no job"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"t": c.trace, "r": mauiNodes} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, out, errs := oneShotWith(t, dir, all.Backends(), strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.says) || (out == "") != (code != 0) {
			t.Errorf("grid %s of\n%scode %d, want %d and %q\n%s%s", c.args, c.trace, code, c.code, c.says, out, errs)
		}
	}
}

// TestReportsOnAFullDisk: a report that cannot be written is an error, and no mistake
// in the command line, whichever simulation it is of.
func TestReportsOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scenario := "policies = [\"random\"]\nseeds = 1\n[jobs]\ncount = 3\nload = 0.5\n[[site]]\nname = \"a\"\nprocs = 4\n"
	trace := "; MaxProcs: 8\n1 0 0 100 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1\n"
	for name, text := range map[string]string{"s.toml": scenario, "t.swf": trace, "r": mauiNodes, "w": "VERSION 230\n" + mauiLine("a", 100, 50)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"sim grid s.toml --csv /dev/full", "sim grid s.toml --html /dev/full", "sim grid s.toml --svg /dev/full", "sim grid s.toml --vary load=0.1 --html /dev/full",
		"sim queue --trace t.swf --starts /dev/full", "sim queue --trace t.swf --nodes 2 --starts /dev/full", "sim queue --trace w --resources r --outcome /dev/full",
		"sim tree --set jobs=5 --set horizon=10 --html /dev/full", "sim tree --set jobs=5 --set horizon=10 --starts /dev/full",
	} {
		code, out, errs := oneShotWith(t, dir, all.Backends(), strings.Fields(line)...)
		if code != 1 || out != "" || !strings.Contains(errs, "/dev/full: no space left on device") {
			t.Errorf("grid %s: code %d\n%s%s", line, code, out, errs)
		}
	}
	code, _, errs := oneShotWith(t, dir, all.Backends(), "sim", "grid", "s.toml", "--resume", "/dev/full")
	if code == 0 || !strings.Contains(errs, "/dev/full: no plain file") {
		t.Errorf("a journal that is a device: code %d\n%s", code, errs)
	}
}

// TestInterruptedSimulationLeavesNoOutcome: half a simulation of Maui's traces is
// neither printed nor written as if it were the whole.
func TestInterruptedSimulationLeavesNoOutcome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"r": mauiNodes, "w": "VERSION 230\n" + mauiLine("a", 100, 50) + mauiLine("b", 120, 50)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
		Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: all.Backends()}
	code := cli.Main(ctx, env, strings.Fields("sim queue --trace w --resources r --show start --outcome o"))
	_, err := os.Stat(filepath.Join(dir, "o"))
	if code == 0 || out.Len() > 0 || !os.IsNotExist(err) {
		t.Errorf("code %d, printed %q, outcome: %v\n%s", code, out.String(), err, errs.String())
	}
}

// TestInterruptedComparison: who interrupts a comparison is told what is kept of it, and by what name.
func TestInterruptedComparison(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scenario := "policies = [\"random\"]\nseeds = 1\n[jobs]\ncount = 3\nload = 0.5\n[[site]]\nname = \"a\"\nprocs = 4\n"
	if err := os.WriteFile(filepath.Join(dir, "s.toml"), []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for line, want := range map[string]string{
		"sim grid s.toml": "nothing is kept; with --resume FILE", "sim grid s.toml --resume runs": "finished runs are in runs, from where",
	} {
		var out, errs strings.Builder
		env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
			Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: all.Backends()}
		code := cli.Main(ctx, env, strings.Fields(line))
		if code == 0 || out.Len() > 0 || !strings.Contains(errs.String(), "interrupted: "+want) {
			t.Errorf("grid %s: code %d, printed %q\n%s", line, code, out.String(), errs.String())
		}
	}
}

// TestReportsThatCannotBeWritten: where a report cannot be written is told before
// anything is played, and nothing is left of the trial.
func TestReportsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scenario := "policies = [\"scheduler\"]\nseeds = 1000\n[jobs]\ncount = 3000\nload = 0.5\n[[site]]\nname = \"a\"\nprocs = 4\n"
	if err := os.WriteFile(filepath.Join(dir, "s.toml"), []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"sim grid s.toml --csv good --html none/x", "sim grid s.toml --svg .", "sim grid s.toml --vary load=0.1,0.2 --html none/x",
		"sim tree --set jobs=2000000 --set systems=1000 --seeds 20 --html none/x", "sim tree --set jobs=2000000 --set systems=1000 --starts none/x",
	} {
		began := time.Now()
		code, out, errs := oneShotWith(t, dir, all.Backends(), strings.Fields(line)...)
		if took := time.Since(began); code != 1 || out != "" || !strings.Contains(errs, "no such file") && !strings.Contains(errs, "is a directory") || took > time.Minute {
			t.Errorf("grid %s: code %d after %s, %s%s", line, code, took, out, errs)
		}
	}
	for _, line := range []string{
		"sim grid s.toml --html s.toml", "sim grid s.toml --csv ./s.toml", "sim grid s.toml --csv x --svg x", "sim grid s.toml --resume j --html j",
		"sim grid s.toml --seeds 0", "sim grid s.toml --count 0",
	} {
		if code, out, errs := oneShotWith(t, dir, all.Backends(), strings.Fields(line)...); code != 2 || out != "" || !strings.Contains(errs, "named twice") && !strings.Contains(errs, "0: say how many") {
			t.Errorf("grid %s: code %d, %s%s", line, code, out, errs)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "s.toml")); err != nil || string(text) != scenario {
		t.Errorf("the scenario is %q now (%v)", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v are left, want the scenario alone", left, err)
	}
}

// TestSweepsWithoutEnd: combinations are counted before they are made.
func TestSweepsWithoutEnd(t *testing.T) {
	many := strings.Repeat("1,", 4_999) + "1"
	for _, verb := range []string{"tree", "cache"} {
		key := map[string]string{"tree": "jobs", "cache": "ops"}[verb]
		testbed.Within(t, 2*time.Second, 200<<20, func() {
			code, out, errs := oneShotWith(t, t.TempDir(), all.Backends(), "sim", verb, "--sweep", key+"="+many, "--sweep", key+"="+many)
			if code != 2 || out != "" || !strings.Contains(errs, "more than 100000 combinations") {
				t.Errorf("%s: code %d, %.200s%.200s", verb, code, out, errs)
			}
		})
	}
}
