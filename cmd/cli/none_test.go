package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/plugins/all"
)

// Who types a verb for which there are no jobs is told so; cron, which mails every word, is not (the script life). A name that
// no job has is a mistake, and told to both.
func TestNoJobsAtATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, verb := range []string{"output", "clean", "cancel"} {
		for _, terminal := range []bool{true, false} {
			var out, errs syncBuffer
			env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, ErrTerminal: terminal, Dir: dir, Now: time.Now, UID: os.Getuid(), Exe: "/nonexistent",
				Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }, Backends: all.Backends()}
			code := cli.Main(t.Context(), env, []string{verb, "--name", "nothing*"})
			if said := strings.Contains(errs.String(), "grid: no jobs"); code != 0 || out.String() != "" || said != (terminal || verb == "cancel") {
				t.Errorf("%s, at a terminal %v: %d %q %q", verb, terminal, code, out.String(), errs.String())
			}
		}
	}
}

// Where no records are and none can be made, as in a container with a read-only home, verbs that read them say that there are no
// jobs, and where they looked. A verb that would record something fails.
func TestNoRecordsWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const state = "/sys/grid-none" // nobody makes a directory there, root included
	if err := os.Mkdir(state, 0o700); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		t.Skip("it takes a Linux with /sys")
	}
	for _, c := range []struct{ args, out, errs string }{
		{"list", "", "there are none in this one\ngrid: no jobs\n"},
		{"list --json --jq .jobs|length", "0\n", "there are none in this one\n"},
		{"status", "", "grid: no jobs that have not ended; grid list shows all\n"},
		{"health --json --jq .resources|length", "0\n", ""},
		{"store check", "0 records are well\n", "there are none in this one\n"},
	} {
		code, out, errs := oneShotWith(t, dir, all.Backends(), append([]string{"--state-dir", state}, strings.Fields(c.args)...)...)
		if code != 0 || out != c.out || !strings.HasSuffix(errs, c.errs) || c.errs != "" && !strings.Contains(errs, state) {
			t.Errorf("%s: code %d, %q %q", c.args, code, out, errs)
		}
	}
	if code, out, _ := oneShotWith(t, dir, all.Backends(), "--state-dir", state); code != 0 || !strings.Contains(out, "jobs         none under way\n") {
		t.Errorf("the first words: code %d\n%s", code, out)
	}
	code, _, errs := oneShotWith(t, dir, all.Backends(), "--state-dir", state, "run", "--", "true")
	if code != 125 || !strings.Contains(errs, "--state-dir") {
		t.Errorf("run: code %d, %q", code, errs)
	}
}
