package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gridbroker/asked"
	"gridbroker/jdl/classad"
	"gridbroker/plugins/all"
)

// deps is what every verb is given: the environment and the global flags.
type deps struct {
	env     Env
	json    bool
	jq      string // --jq: a program over the JSON
	query   *query // the same, read
	said    bool   // a document was printed
	unfound unfoundIDs
	version bool // --version
	verbose int
	config  string // --config: path of the configuration file
	state   string // --state-dir
	nonce   string // random, in our own marks for escape sequences
	rawErr  io.Writer
}

// errReported is returned by verbs that have already said what went wrong.
var errReported = errors.New("already reported")

// said is an error that has been told already.
type said struct{ error }

// Unwrap returns it.
func (s said) Unwrap() error { return s.error }

// Is tells that it is an errReported.
func (said) Is(target error) bool { return target == errReported }

// reported is what went wrong and has been told: only documents still tell it.
func reported(err error) error { return said{err} }

// Main runs the command and returns its exit code.
func Main(ctx context.Context, env Env, args []string) int {
	if env.Backends == nil {
		env.Backends = all.Backends()
	}
	out := &written{to: env.Out}
	if !env.Terminal { // which is never full, and is asked for its size
		env.Out = out
	}
	a := &deps{env: env}
	guard(a)
	if !filepath.IsAbs(env.Getenv("HOME")) {
		sayErr(a, "%v", errHomeless)
		return exitUsage
	}
	root := rootCmd(a)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		plainUsages(root)
	}
	root.SetArgs(args)
	safeFish(root)
	err := oneDash(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		err = out.lost()
	}
	code := exitCode(ctx, err)
	a.json = a.json || code == exitUsage && asksJSON(args)
	if err = remedied(inWords(ctx, err, code)); err != nil {
		failedJSON(a, err, code)
	}
	if err != nil && !errors.Is(err, errReported) {
		sayErr(a, "%s", err)
	}
	return code
}

// asksJSON is whether a command line asks for JSON, whose flags before that may be none and kept it from being read.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
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
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			if d.verbose > 1 {
				cmd.SetContext(asked.Telling(cmd.Context(), func(what string) { say(d, d.env.Err, "%s\n", what) }))
			}
			if d.jq != "" {
				d.json = true
				d.query, err = newQuery(cmd.Context(), d.jq)
			}
			return err
		},
	}
	root.SetIn(d.env.In)
	root.SetOut(d.env.Out)
	root.SetErr(d.env.Err)
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			return unknownFlag(cmd, unknown)
		}
		return misused(cmd, wantedValue(err), "")
	})
	f := root.PersistentFlags()
	root.Flags().BoolVar(&d.version, "version", false, "print the version")
	f.BoolVar(&d.json, "json", false, "print JSON for machines instead of text")
	f.StringVar(&d.jq, "jq", "", "print what this jq `program` makes of the JSON")
	f.CountVarP(&d.verbose, "verbose", "v", "say more on standard error; twice: every request to others, and what came of it")
	f.StringVar(&d.config, "config", "", "configuration `file` (default ~/.config/grid/grid.toml)")
	f.StringVar(&d.state, "state-dir", "", "`directory` of the job records (default ~/.local/state/grid)")
	addVerbs(d, root)
	root.AddCommand(helperCmds(d)...)
	knownTopics(root)
	for _, verb := range root.Commands() {
		completeFlags(d, verb)
	}
	return root
}

// misused is a mistake on the command line of a verb.
func misused(cmd *cobra.Command, err error, hint string) error {
	return usageError(fmt.Errorf("%s: %w%s\n  see: %s --help", cmd.CommandPath(), err, hint, cmd.CommandPath()))
}

// wantedValue says of a value that is no number, and the like, what the flag wants, where
// the parser of flags passes on the words of a function of its own.
func wantedValue(err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if _, parsed := errors.AsType[*strconv.NumError](err); !ok || !parsed {
		return err
	}
	want, found := map[string]string{"float64": "a number", "bool": "true or false", "uint64": "a whole number from 0"}[bad.GetFlag().Value.Type()]
	if !found {
		want = "a whole number"
	}
	return fmt.Errorf("%q for --%s: want %s", bad.GetValue(), bad.GetFlag().Name, want)
}

// unknownFlag refuses a flag, and says which it may have been meant for.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	if words := cmd.Flags().Args(); !cmd.HasParent() && len(words) > 0 {
		return knownVerb(cmd, words) // the flag is that of a verb that there is not
	}
	if unknown.GetSpecifiedShortnames() != "" {
		return noFlag(cmd, "-", unknown.GetSpecifiedName())
	}
	return noFlag(cmd, "--", unknown.GetSpecifiedName())
}

// noFlag is the refusal of a flag that was written with these dashes.
func noFlag(cmd *cobra.Command, dashes, name string) error {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	hint := ""
	if there := flagElsewhere(cmd.Name(), name); there != "" {
		hint = "; " + there
	} else if near := classad.Nearest(name, names); near != "" {
		hint = "; did you mean --" + near + "?"
	} else if there := flagElsewhere(cmd.Name(), name[:1]); dashes == "-" && there != "" { // one letter and its value
		hint = "; " + there
	}
	return misused(cmd, fmt.Errorf("unknown flag: %s%s", dashes, name), hint)
}

// knownVerb refuses a word that is no verb, and says which it may have been meant for.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if here := elsewhere(args[0]); here != "" {
		text += "; it is grid " + here + " here"
	} else if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return usageError(fmt.Errorf("%s\n  see: grid --help", text))
}

// knownTopics has "grid help" refuse a word that is no verb, as the word alone is refused.
func knownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return // there is none
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		verb, rest, err := root.Find(args)
		switch {
		case err != nil:
			return usageError(err)
		case len(rest) == 0 || !verb.HasSubCommands():
			return nil
		case verb == root:
			return knownVerb(root, rest)
		}
		return verb.Args(verb, rest)
	}
}

// group is a part of the list of verbs in the help text.
type group struct {
	title string
	verbs []*cobra.Command
}

// groups lists every verb, in the groups of the help text, which sorts those of
// a group by their names.
func groups(d *deps) []group {
	return []group{
		{"Find resources and send jobs:", []*cobra.Command{
			submitCmd(d), runCmd(d), matchCmd(d), resourcesCmd(d), jdlCmd(d),
		}},
		{"Follow and control jobs:", []*cobra.Command{
			statusCmd(d), listCmd(d), showCmd(d), whyCmd(d), logCmd(d), catCmd(d), outputCmd(d), watchCmd(d), followCmd(d),
			cancelCmd(d), holdCmd(d), releaseCmd(d), restartCmd(d), resubmitCmd(d), refreshCmd(d), cleanCmd(d), adoptCmd(d),
		}},
		{"Credentials, settings, records, and what is known of resources:", []*cobra.Command{
			authCmd(d), pingCmd(d), healthCmd(d), probeCmd(d), configCmd(d), storeCmd(d), budgetCmd(d),
		}},
		{"For sites, operators and planners:", []*cobra.Command{
			agentCmd(d), environmentCmd(d), tagsCmd(d), cacheCmd(d), managerCmd(d), schedulerCmd(d), simCmd(d),
		}},
		{"Help:", []*cobra.Command{manCmd(d)}},
	}
}

// addVerbs adds every verb, and cobra's own to the last group.
func addVerbs(d *deps, root *cobra.Command) {
	for _, g := range groups(d) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		root.SetHelpCommandGroupID(g.title)
		root.SetCompletionCommandGroupID(g.title)
		for _, verb := range g.verbs {
			verb.GroupID = g.title
			root.AddCommand(verb)
			listsVerbs(d, verb)
		}
	}
}

// listsVerbs has commands that are nothing but a list of verbs say so: to people by
// their help, to machines by an error, since help is no document.
func listsVerbs(d *deps, cmd *cobra.Command) {
	for _, verb := range cmd.Commands() {
		listsVerbs(d, verb)
	}
	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Args = usageArgs(cobra.NoArgs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if d.json || d.jq != "" {
			return misused(cmd, errors.New("it prints no JSON by itself"), ": name one of "+strings.Join(verbNames(cmd), ", "))
		}
		return cmd.Help()
	}
}

// verbNames are those of a command that has verbs of its own.
func verbNames(cmd *cobra.Command) (names []string) {
	for _, verb := range cmd.Commands() {
		if !verb.Hidden {
			names = append(names, verb.Name())
		}
	}
	return names
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch err := check(cmd, args); {
		case err == nil:
			return nil
		case len(args) == 0:
			return misused(cmd, errors.New("something is missing"), ": "+cmd.UseLine())
		case cmd.HasSubCommands():
			hint := ""
			if near := classad.Nearest(args[0], verbNames(cmd)); near != "" {
				hint = "; did you mean " + near + "?"
			}
			return misused(cmd, fmt.Errorf("unknown command %q", args[0]), hint)
		case len(args) == 1:
			return misused(cmd, errors.New("1 word is too many or too few"), ": "+cmd.UseLine())
		default:
			return misused(cmd, fmt.Errorf("%d words are too many or too few", len(args)), ": "+cmd.UseLine())
		}
	}
}
