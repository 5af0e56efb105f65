package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
	"gridbroker/plugins/all"
)

// app is what the verbs share: the environment and the global flags.
type app struct {
	env     Env
	json    bool
	jq      string // --jq: a program over the JSON
	verbose int
	config  string // --config: path of the configuration file
	state   string // --state-dir
	nonce   string // random, in our own marks for escape sequences
	rawErr  io.Writer
}

// errReported is returned by verbs that have already said what went wrong.
var errReported = errors.New("already reported")

// Main runs the command and returns its exit code.
func Main(ctx context.Context, env Env, args []string) int {
	if env.Backends == nil {
		env.Backends = all.Backends()
	}
	a := &app{env: env}
	a.guard()
	if !filepath.IsAbs(env.Getenv("HOME")) {
		fmt.Fprintf(a.env.Err, "grid: %v\n", errHomeless)
		return exitUsage
	}
	root := a.rootCmd()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintf(a.env.Err, "grid: %s\n", foreign.Message(err.Error()))
	}
	return exitCode(ctx, err)
}

func (a *app) rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "grid",
		Short:         "Find the best computing element for a job, run it there, bring its output back",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.welcome(cmd) },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.json = a.json || a.jq != ""
			return nil
		},
	}
	root.SetIn(a.env.In)
	root.SetOut(a.env.Out)
	root.SetErr(a.env.Err)
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("grid {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%s: %w\n  see: %s --help", cmd.CommandPath(), err, cmd.CommandPath()))
	})
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print JSON for machines instead of text")
	f.StringVar(&a.jq, "jq", "", "print what this jq `program` makes of the JSON")
	f.CountVarP(&a.verbose, "verbose", "v", "say more on standard error; twice: every request")
	f.StringVar(&a.config, "config", "", "configuration `file` (default ~/.config/grid/grid.toml)")
	f.StringVar(&a.state, "state-dir", "", "`directory` of the job records (default ~/.local/state/grid)")
	root.AddCommand(a.verbs()...)
	root.AddCommand(a.helperCmds()...)
	for _, verb := range root.Commands() {
		a.complete(verb)
	}
	return root
}

// knownVerb refuses a word that is no verb, and says which it may have been meant for.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return usageError(fmt.Errorf("%s\n  see: grid --help", text))
}

// verbs lists every verb, in the order of the help text.
func (a *app) verbs() []*cobra.Command {
	return []*cobra.Command{
		a.authCmd(),
		a.jdlCmd(),
		a.manCmd(),
		a.simCmd(),
		a.resourcesCmd(),
		a.submitCmd(),
		a.matchCmd(),
		a.statusCmd(),
		a.listCmd(),
		a.showCmd(),
		a.whyCmd(),
		a.catCmd(),
		a.runCmd(),
		a.followCmd(),
		a.configCmd(),
		a.watchCmd(),
		a.logCmd(),
		a.outputCmd(),
		a.cancelCmd(),
		a.cleanCmd(),
		a.resubmitCmd(),
		a.refreshCmd(),
		a.pingCmd(),
		a.probeCmd(),
		a.healthCmd(),
		a.agentCmd(),
		a.cacheCmd(),
		a.environmentCmd(),
		a.tagsCmd(),
		a.storeCmd(),
		a.managerCmd(),
		a.schedulerCmd(),
		a.budgetCmd(),
	}
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError(fmt.Errorf("%s: %w\n  see: %s --help", cmd.CommandPath(), err, cmd.CommandPath()))
		}
		return nil
	}
}
