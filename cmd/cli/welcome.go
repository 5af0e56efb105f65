package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/jobs"
)

// welcome is what the command says without a verb: what it found on this machine, and what to type next.
func (a *app) welcome(cmd *cobra.Command) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	path, _ := a.configPath()
	from := "no configuration (" + path + " is not there)"
	if c.path != "" {
		from = path
	}
	say := func(label, text string) { fmt.Fprintf(a.env.Out, "  %-12s %s\n", label, text) }
	fmt.Fprintf(a.env.Out, "%s %s: finds the best computing element for a job, runs it there, brings its output back.\n\n", a.style(bold, "grid"), cmd.Root().Version)
	say("settings", from)
	say("sources", strings.Join(c.sourcesOrDefault(), " "))
	say("credential", a.credentialLine())
	say("jobs", a.jobsLine(cmd, c))
	fmt.Fprintf(a.env.Out, "\nUsage: grid VERB [flags] [arguments]. Next:\n")
	say("grid resources", "      what the sources publish now")
	say("grid run -- hostname", "run a command at the best of them")
	say("grid --help", "         all verbs; each has --help with examples")
	return nil
}

// credentialLine tells which credential would be used.
func (a *app) credentialLine() string {
	if x, err := credential.FindX509(a.credentialEnv(), credential.Options{}); err == nil && x != nil {
		return x.Identity()
	}
	if t, err := credential.FindToken(a.credentialEnv(), credential.Options{}); err == nil && t != nil {
		return "a token"
	}
	return "none (this machine and SSH need none; grid auth doctor helps with grids)"
}

func (a *app) jobsLine(cmd *cobra.Command, c config) string {
	s := &session{conf: c, jobs: &jobs.Controller{}}
	if err := a.openStore(s); err != nil {
		return err.Error()
	}
	defer s.jobs.Store.Close()
	live, err := s.jobs.Store.Select(cmd.Context(), jobs.Query{Live: true})
	if err != nil {
		return err.Error()
	}
	if len(live) == 0 {
		return "none under way"
	}
	text := counted(len(live), "job") + " under way: grid status"
	if followed(s) {
		text += " (grid follow is at work)"
	}
	return text
}
