package cli

import (
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// TestWhoseVerdict: the exit code of a job that asked for an environment is not said to be its program's where it may be that
// of the launcher.
func TestWhoseVerdict(t *testing.T) {
	t.Parallel()
	const programs, launchers = "that is the program's verdict", "whose runtime environment the site could not make"
	inside := []string{"VEE-Small (RunTimeEnvironment, 1:1) is cached there"}
	for _, c := range []struct {
		at           string
		code         int
		environments []string
		want         string
	}{
		{glue.InterfaceARCREST, 125, inside, launchers},
		{glue.InterfaceARCREST, 3, inside, programs},
		{glue.InterfaceARCREST, 125, []string{"memory: no limit is published"}, programs},
		{glue.InterfaceSlurm, 125, inside, programs}, // which tells the launcher's failures apart
	} {
		code := c.code
		o := &jobs.Outcome{Record: &jobs.Record{ID: "1m8phfm8meg2yf0", State: plugins.Done, At: "ce", Attempts: 1, ExitCode: &code, Environments: c.environments,
			Handle: plugins.Handle{Interface: c.at, ID: "x"}}}
		text := strings.Join(whyEnded(&deps{env: Env{Now: time.Now}}, o), " ")
		if !strings.Contains(text, c.want) {
			t.Errorf("%s, %d, %v: %s", c.at, c.code, c.environments, text)
		}
	}
}
