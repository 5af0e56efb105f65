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

// deps is what every verb is given: the environment and the global flags.
type deps struct {
	env     Env
	json    bool
	jq      string // --jq: a program over the JSON
	said    bool   // a document was printed
	version bool   // --version
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
	a := &deps{env: env}
	guard(a)
	if !filepath.IsAbs(env.Getenv("HOME")) {
		fmt.Fprintf(a.env.Err, "grid: %v\n", errHomeless)
		return exitUsage
	}
	root := rootCmd(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	if err = remedied(err); err != nil {
		failedJSON(a, err, code)
	}
	if err != nil && !errors.Is(err, errReported) {
		fmt.Fprintf(a.env.Err, "grid: %s\n", foreign.Message(err.Error()))
	}
	return code
}

func rootCmd(d *deps) *cobra.Command {
	root := &cobra.Command{
		Use:           "grid",
		Short:         "Find the best computing element for a job, run it there, bring its output back",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.version {
				return sayVersion(d)
			}
			return runWelcome(d, cmd)
		},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			d.json = d.json || d.jq != ""
			return nil
		},
	}
	root.SetIn(d.env.In)
	root.SetOut(d.env.Out)
	root.SetErr(d.env.Err)
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%s: %w\n  see: %s --help", cmd.CommandPath(), err, cmd.CommandPath()))
	})
	f := root.PersistentFlags()
	root.Flags().BoolVar(&d.version, "version", false, "print the version")
	f.BoolVar(&d.json, "json", false, "print JSON for machines instead of text")
	f.StringVar(&d.jq, "jq", "", "print what this jq `program` makes of the JSON")
	f.CountVarP(&d.verbose, "verbose", "v", "say more on standard error; twice: every request")
	f.StringVar(&d.config, "config", "", "configuration `file` (default ~/.config/grid/grid.toml)")
	f.StringVar(&d.state, "state-dir", "", "`directory` of the job records (default ~/.local/state/grid)")
	root.AddCommand(verbs(d)...)
	root.AddCommand(helperCmds(d)...)
	for _, verb := range root.Commands() {
		completeFlags(d, verb)
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
func verbs(d *deps) []*cobra.Command {
	return []*cobra.Command{
		authCmd(d),
		jdlCmd(d),
		manCmd(d),
		simCmd(d),
		resourcesCmd(d),
		submitCmd(d),
		matchCmd(d),
		statusCmd(d),
		listCmd(d),
		showCmd(d),
		whyCmd(d),
		catCmd(d),
		runCmd(d),
		followCmd(d),
		configCmd(d),
		watchCmd(d),
		adoptCmd(d),
		logCmd(d),
		outputCmd(d),
		cancelCmd(d),
		cleanCmd(d),
		resubmitCmd(d),
		refreshCmd(d),
		pingCmd(d),
		probeCmd(d),
		healthCmd(d),
		agentCmd(d),
		cacheCmd(d),
		environmentCmd(d),
		tagsCmd(d),
		storeCmd(d),
		managerCmd(d),
		schedulerCmd(d),
		budgetCmd(d),
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
