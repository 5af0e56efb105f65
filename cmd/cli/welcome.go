package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/jobs"
)

// welcome is what the command says without a verb: what it found on this machine, and what to type next.
func runWelcome(d *deps, cmd *cobra.Command) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	path, _ := configPath(d)
	from := "no configuration (" + path + " is not there)"
	if c.path != "" {
		from = path
	}
	if d.json {
		return printJSON(d, "welcome", welcomeDocument{Version: version(), Settings: c.path, Sources: c.sourcesOrDefault(), Credential: credentialLine(d),
			Jobs: jobsLine(d, cmd, c), Next: []string{"grid resources", "grid run -- hostname", "grid --help"}})
	}
	say := func(label, text string) { sayOut(d, "  %-12s %s", label, text) }
	sayOut(d, "%s %s: finds the best computing element for a job, runs it there, brings its output back.\n", styled(d, bold, "grid"), version())
	say("settings", from)
	say("sources", strings.Join(c.sourcesOrDefault(), " "))
	say("credential", credentialLine(d))
	say("jobs", jobsLine(d, cmd, c))
	next := func(command, text string) { sayOut(d, "  %-20s  %s", command, text) }
	sayOut(d, "\nUsage: grid VERB [flags] [arguments]. Next:")
	next("grid resources", "what the sources publish now")
	next("grid run -- hostname", "run a command at the best of them")
	next("grid --help", "all verbs; each has --help with examples")
	return nil
}

// credentialLine tells which credential would be used, or why none would.
func credentialLine(d *deps) string {
	env, now := credentialEnv(d), d.env.Now()
	x, err := credential.FindX509(env, credential.Options{})
	if err == nil && x != nil {
		if err = x.Valid(now); err == nil {
			return x.Identity()
		}
	}
	t, wrong := credential.FindToken(env, credential.Options{})
	if wrong == nil && t != nil {
		if wrong = t.Valid(now); wrong == nil {
			return "a token"
		}
	}
	for _, err := range []error{err, wrong} {
		f, ok := errors.AsType[*credential.Finding](err)
		if ok && f.Subject != "" { // of what was looked for and is not there none is named
			return fmt.Sprintf("none: %s: %s; %s", f.Subject, f.What, f.Mend)
		}
	}
	return "none (this machine and SSH need none; grid auth doctor helps with grids)"
}

func jobsLine(d *deps, cmd *cobra.Command, c config) string {
	store, err := openRecords(d, c)
	if err != nil && jobs.Unwritable(err) { // what there is can be told all the same
		if kept, none := jobs.OpenCopy(stateDir(d, c), d.env.Now); none == nil {
			store, err = kept, nil
		}
	}
	if err != nil {
		return err.Error()
	}
	defer store.Close()
	live, err := store.Select(cmd.Context(), jobs.Query{Live: true})
	if err != nil {
		return err.Error()
	}
	if len(live) == 0 {
		return "none under way"
	}
	text := counted(len(live), "job") + " under way: grid status"
	if store.Alive(followLease) {
		text += " (grid follow is at work)"
	}
	return text
}
