package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// terminal runs a command as for a person at a terminal of 100 columns.
func terminal(t *testing.T, dir string, l *liar, args ...string) (out, errs string) {
	t.Helper()
	return terminalOf(t, 100, dir, l, args...)
}

func terminalOf(t *testing.T, width int, dir string, l *liar, args ...string) (out, errs string) {
	t.Helper()
	var o, e syncBuffer
	env := cli.Env{In: strings.NewReader(""), Out: &o, Err: &e, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
		Terminal: true, ErrTerminal: true, Width: width,
		Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: liars(l)}
	cli.Main(t.Context(), env, args)
	return o.String(), e.String()
}

// swept is a home with a job and a sweep of five that have ended, one with exit code 1.
func swept(t *testing.T) (dir string, l *liar) {
	t.Helper()
	dir, l = t.TempDir(), &liar{says: plugins.Status{State: plugins.Done, Native: "ended", ExitCode: glue.Some(0)}}
	for _, text := range []string{
		`Executable = "/bin/true"; JobName = "one";`,
		`[ JobType = "Parametric"; Parameters = 5; JobName = "scan"; Executable = "/bin/true"; Arguments = "_PARAM_"; ]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := atLiarIn(t, dir, l, "submit", "--wait", "j.jdl"); code != 0 {
			t.Fatal(code, out, errs)
		}
	}
	return dir, l
}

// TestListFoldsGroups: on a terminal the jobs of a sweep are one line with counts, which
// --expand, the group's id and any wish about what is shown take apart; in a pipe every
// job has a line.
func TestListFoldsGroups(t *testing.T) {
	t.Parallel()
	dir, l := swept(t)
	const scans = "scan"
	out, hint := terminal(t, dir, l, "list")
	folded := regexp.MustCompile(`(?m)^(1[0-9a-z]{14}) +scan +\x1b\[32m5 done\x1b\[0m +`).FindStringSubmatch(out)
	if folded == nil || strings.Count(out, scans) != 1 || !strings.Contains(out, "one") || !strings.Contains(hint, "--expand") {
		t.Fatalf("%s%s", out, hint)
	}
	group := folded[1]
	for _, args := range [][]string{{"list", "--expand"}, {"list", group}, {"list", "--group", group}, {"status", group},
		{"list", "--columns", "id,name"}, {"list", "--sort", "id"}, {"list", "--limit", "9"}, {"list", "-o", "csv"}} {
		if out, _ := terminal(t, dir, l, args...); strings.Count(out, scans) != 5 {
			t.Errorf("%v\n%s", args, out)
		}
	}
	if _, out, _ := atLiarIn(t, dir, l, "list"); strings.Count(out, scans) != 5 {
		t.Errorf("in a pipe\n%s", out)
	}
}

// TestNamesOnNarrowTerminals: what the user called a job is told on a terminal of 38 columns, where it is whether there is room
// for more or not.
func TestNamesOnNarrowTerminals(t *testing.T) {
	t.Parallel()
	dir, l := swept(t)
	for width, heads := range map[int]string{38: "ID NAME STATE", 60: "ID NAME STATE RESOURCE EXIT SUBMITTED", 100: "ID NAME STATE RESOURCE EXIT SUBMITTED RAN NOTE"} {
		out, _ := terminalOf(t, width, dir, l, "list")
		head, _, _ := strings.Cut(regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(out, ""), "\n")
		if got := strings.Join(strings.Fields(head), " "); got != heads || !strings.Contains(out, "scan") {
			t.Errorf("%d columns: %s, want %s\n%s", width, got, heads, out)
		}
	}
}

// TestColoursAreColours: on a terminal our own colours are sent as such, and nothing of
// ours is taken for text of others and written out.
func TestColoursAreColours(t *testing.T) {
	t.Parallel()
	dir, l := swept(t)
	_, id, _ := atLiarIn(t, dir, l, "list", "--name", "one", "--jq", ".jobs[].id")
	id = strings.TrimSpace(id)
	for _, args := range [][]string{{"list"}, {"status", id}, {"show", id}, {"why", id}, {"log", id}, {"health"}, {"resources"}, {"match", "j.jdl"},
		{"match", "--explain", "j.jdl"}, {"auth", "status"}, {"config", "show"}, {}} {
		out, errs := terminal(t, dir, l, args...)
		if out == "" || strings.Contains(out+errs, `\x1b`) {
			t.Errorf("%v\n%s%s", args, out, errs)
		}
	}
	if out, _ := terminal(t, dir, l, "show", id); !strings.Contains(out, "\x1b[32mdone\x1b[0m") {
		t.Errorf("the state has no colour\n%s", out)
	}
}
