package cli_test

import (
	"os"
	"strings"
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
