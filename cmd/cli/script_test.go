package cli_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gridbroker/cmd/cli"
	"gridbroker/testdata/testbed"
)

// quickExit is GORACE of the commands: each would sleep for a second as it exits.
const quickExit = "atexit_sleep_ms=10"

// TestMain gives the scripts a command "grid" that is this very binary.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "grid" { // the tests themselves, not the command they run
		testbed.Independent()
	}
	testscript.Main(workshopTests{m}, map[string]func(){"grid": func() {
		ctx, stop := cli.Signals(os.Exit)
		defer stop()
		os.Exit(strictly(func(env cli.Env) int {
			env.Release = stop
			return cli.Main(ctx, env, os.Args[1:])
		}))
	}})
}

// TestScripts runs the scripts of testdata/script, each in an empty home, but for simulations. The race detector, which
// makes every start of a command three times as long, watches those of programs that do several things at once.
func TestScripts(t *testing.T) {
	t.Parallel()
	testbed.Whole(t)
	runScripts(t, false)
}

// atOnce are the scripts whose programs do several things at once: servers and what asks them, and the following of jobs.
var atOnce = []string{"cache", "follow", "manager", "run", "scheduler", "wiki", "wiki_policies", "wiki_source"}

// TestSimScripts runs the scripts of simulations, sim_*: programs that compute. What of them runs side by side the race
// detector sees in forecast/sim, and their verbs in the script json.
func TestSimScripts(t *testing.T) {
	testbed.Computes(t)
	runScripts(t, true)
}

// runScripts runs the scripts of simulations, or all others.
func runScripts(t *testing.T, simulations bool) {
	files, err := filepath.Glob("../../testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	seen := t.TempDir()
	if !testbed.Racing && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") { // every script has run
		t.Cleanup(func() {
			missing, err := unseen(seen)
			missing = slices.DeleteFunc(missing, func(schema string) bool { return strings.HasPrefix(schema, "grid.sim.") != simulations })
			if err != nil || len(missing) > 0 {
				t.Errorf("no script prints %v: %v", missing, err)
			}
		})
	}
	files = slices.DeleteFunc(files, func(file string) bool {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		return strings.HasPrefix(name, "sim_") != simulations || testbed.Racing && !slices.Contains(atOnce, name)
	})
	if testbed.Racing && len(files) != len(atOnce) {
		t.Fatalf("the race detector watches %d scripts and not %d", len(files), len(atOnce))
	}
	testscript.Run(t, testscript.Params{
		Files:         files,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "rogue": rogue, "fill": fill, "launcher": launcher},
		Condition: func(cond string) (bool, error) { // [file:PATH]
			path, ok := strings.CutPrefix(cond, "file:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			_, err := os.Stat(path)
			return err == nil, nil
		},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("TESTDATA", samples) // the repository's testdata
			env.Setenv(schemasSeen, seen)
			env.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
			env.Setenv("GORACE", quickExit)
			return os.MkdirAll(home, 0o700)
		},
	})
}

// exits runs a command that must end with the given exit code:
// "exits 3 grid match job.jdl".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = e.ExitCode()
	}
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}
