package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gridbroker/batch"
	"gridbroker/credential/voms"
	"gridbroker/environment/tags"
	"gridbroker/forecast/sim"
	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// completeFlags teaches the shell the values of a verb's flags and of those
// below it. What a verb has registered itself stays.
func completeFlags(d *deps, cmd *cobra.Command) {
	known := flagValues(d)
	_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
	chooses := cmd.Flags().Lookup("exit") != nil && cmd.Flags().Lookup("since") != nil
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		values := known[verb+" --"+f.Name]
		if values == nil && chooses {
			values = known["JOBS --"+f.Name]
		}
		if values == nil {
			values = known["--"+f.Name]
		}
		if values != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, values)
		}
	})
	for _, below := range cmd.Commands() {
		completeFlags(d, below)
	}
}

// flagValues are the values of flags: "VERB --FLAG" of one verb, "JOBS --FLAG"
// of those that choose among the jobs, "--FLAG" of all others. Names of resources
// come from the cache as far as it has them.
func flagValues(d *deps) map[string]cobra.CompletionFunc {
	queue := fixed(batch.PolicyNames()...)
	beginnings := func(of []plugins.Backend) cobra.CompletionFunc {
		return cobra.FixedCompletions(urlBeginnings(of), cobra.ShellCompDirectiveNoSpace)
	}
	agent := fixed(append([]string{autoPolicy}, batch.PolicyNames()...)...)
	return map[string]cobra.CompletionFunc{
		"--info":    beginnings(d.env.Backends),
		"--lrms":    beginnings(withQueues(d)),
		"--policy":  fixed(rank.Names()...),
		"--unknown": fixed("keep", "reject"),
		"--cas":     fixed("any", "grid", "system"),
		"--key":     fixed("rsa2048", "rsa3072", "rsa4096", "ecdsa", "ecdsa384", "ecdsa521"),
		"--dialect": fixed("any", "glite", "dirac"),
		"--start":   fixed("plain", "begin", "partition", "reservation"),
		"--via":     completeScheduler(d),
		"--vo":      completeVOs(d),
		"--voms":    completeVOs(d),
		"--site":    completeSites(d),
		"--rte":     ofResources(d, func(r *glue.Resource) []cobra.Completion { return r.RuntimeEnvironments }),

		"JOBS --state": listed(stateNames()...),
		"JOBS --at":    ofJobs(d, func(r *jobs.Record) []string { return []string{r.At, r.Site} }),
		"JOBS --name":  ofJobs(d, func(r *jobs.Record) []string { return []string{r.Name} }),
		"JOBS --group": ofJobs(d, func(r *jobs.Record) []string { return []string{r.Parent, r.ParentName} }),
		"JOBS --exit":  ofJobs(d, exitCodes),
		"JOBS --since": fixed("1h", "12h", "1d", "7d", "30d"),

		"output --attempt":   completeAttempts(d),
		"agent run --policy": agent, "agent doctor --policy": agent, "agent schedule --policy": queue,
		"sim queue --policy": queue, "sim forecast --policy": queue, "sim grid --policy": fixed(sim.PolicyNames()...),
		"sim queue --belief": fixed(batch.BeliefNames()...), "sim queue --show": fixed(shows...), "sim queue --plot-format": fixed("svg", "png"),
		"sim tree --protocol": fixed("paper", "ours"),
		"tags add --state":    fixed(tagStates()...),
	}
}

func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// listed completes the last of several values with commas between, by those that are not named yet.
func listed(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		named := strings.Split(before, ",")
		var list []cobra.Completion
		for _, v := range values {
			if !slices.Contains(named, v) {
				list = append(list, before+v)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// ordered completes one value, with the minus before it that turns an order round where one was typed.
func ordered(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list := slices.Clone(values)
		if strings.HasPrefix(typed, "-") {
			for i, v := range list {
				list[i] = "-" + v
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func described(name, text string) cobra.Completion {
	return cobra.CompletionWithDesc(strings.TrimSpace(name), text)
}

func stateNames() (names []string) {
	for _, s := range states {
		names = append(names, string(s))
	}
	return names
}

func tagStates() (names []string) {
	for _, s := range tags.States() {
		names = append(names, string(s))
	}
	return names
}

func exitCodes(r *jobs.Record) []string {
	if r.ExitCode == nil {
		return nil
	}
	return []string{strconv.Itoa(*r.ExitCode)}
}

// urlBeginnings are what the URLs of back-ends begin with.
func urlBeginnings(backends []plugins.Backend) []string {
	all := formsOf(backends)
	for i, form := range all {
		if head, _, ok := strings.Cut(form, "//"); ok {
			all[i] = head + "//"
		}
	}
	return all
}

// shellWords are what a shell acts on. Where several names begin alike the beginning
// is put on the command line as it is, and what stands there is evaluated by the
// scripts of bash and zsh at the next completion already, before Enter is pressed:
// braces make words there as well, patterns look through the disk, and ! puts in what
// was typed before.
const shellWords = "$`\\\"';&|<>(){}*?[!"

// messageWord is how what completion offers begins when it is not a word but a message.
const messageWord = "_activeHelp_"

// offered are values in order, each once, without empty ones, those that would be
// other than they look, those that a shell would act on, those that would be flags of
// their own and those that would be messages: what a site publishes ends up on a command
// line.
func offered(values []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	values = slices.DeleteFunc(values, func(v cobra.Completion) bool {
		name, text, _ := strings.Cut(v, "\t")
		return name == "" || strings.ContainsAny(name, shellWords) || strings.Contains(" "+name, " -") || strings.HasPrefix(name, messageWord) || foreign.Text(name) != name || foreign.Text(text) != text
	})
	slices.Sort(values)
	return slices.Compact(values), cobra.ShellCompDirectiveNoFileComp
}

// ofResources offers what the resources say that the last discovery has left, or
// that the sources answer within a second.
func ofResources(d *deps, say func(*glue.Resource) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		where := discovery{deadline: time.Second, maxAge: 24 * time.Hour}
		s, err := openSession(d, planning{discovery: where}, needs{})
		if err != nil {
			return offered(nil)
		}
		defer s.close()
		snap, err := discover(cmd.Context(), d, s.conf, s.backends, where)
		if err != nil {
			return offered(nil)
		}
		var out []cobra.Completion
		for i := range snap.Resources {
			out = append(out, say(&snap.Resources[i])...)
		}
		return offered(out)
	}
}

func completeSites(d *deps) cobra.CompletionFunc {
	return ofResources(d, func(r *glue.Resource) []cobra.Completion { return []cobra.Completion{described(r.Name, r.Site)} })
}

// completePins offers resources, then what may be said of one.
func completePins(d *deps, then ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return completeSites(d)(cmd, args, begun)
		}
		return then, cobra.ShellCompDirectiveNoFileComp
	}
}

// ofJobs offers what the records of jobs say and begins with what was begun: zsh leaves that to whoever it asks, where it
// is set up to match the middle of words.
func ofJobs(d *deps, say func(*jobs.Record) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, r := range recordsOf(cmd.Context(), d) {
			out = append(out, say(r)...)
		}
		return offered(slices.DeleteFunc(out, func(word cobra.Completion) bool { return !strings.HasPrefix(word, begun) }))
	}
}

// recordsOf are all records that can be read; none where there is no store.
func recordsOf(ctx context.Context, d *deps) []*jobs.Record {
	conf, err := loadConfig(d)
	if err != nil {
		return nil
	}
	store, err := openRecords(d, conf)
	if err != nil {
		return nil
	}
	defer store.Close()
	rs, _ := store.Select(ctx, jobs.Query{}) // the readable ones come beside the error, too
	return rs
}

// completeIDs offers the ids of jobs that are not named yet.
func completeIDs(d *deps) cobra.CompletionFunc {
	return func(cmd *cobra.Command, named []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return ofJobs(d, func(r *jobs.Record) []string {
			if slices.Contains(named, r.ID) {
				return nil
			}
			return []string{described(r.ID, r.Name+" "+string(r.State))}
		})(cmd, named, begun)
	}
}

// completeOneID offers the id of a job; which files it has nobody knows here.
func completeOneID(d *deps) cobra.CompletionFunc {
	return func(cmd *cobra.Command, named []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(named) > 0 {
			return offered(nil)
		}
		return completeIDs(d)(cmd, named, begun)
	}
}

// plainUsages takes the quotes off the texts of flags, by which help finds the name of
// a value: shells show the texts as they are.
func plainUsages(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) }
	cmd.Flags().VisitAll(plain)
	cmd.PersistentFlags().VisitAll(plain)
	for _, below := range cmd.Commands() {
		plainUsages(below)
	}
}

// completeAttempts offers the attempts of the job that was named, or of the one that has most.
func completeAttempts(d *deps) cobra.CompletionFunc {
	return func(cmd *cobra.Command, ids []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		most := 0
		for _, r := range recordsOf(cmd.Context(), d) {
			if len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(r.ID, id) }) {
				most = max(most, r.Attempts)
			}
		}
		var out []cobra.Completion
		for n := range most {
			out = append(out, strconv.Itoa(n+1))
		}
		return offered(out)
	}
}

// completeScheduler offers the scheduler of the configuration, or how the URLs of schedulers and trees of managers begin.
func completeScheduler(d *deps) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		conf, err := loadConfig(d)
		if err != nil {
			return offered(nil)
		}
		if conf.Scheduler != "" {
			return offered([]cobra.Completion{conf.Scheduler})
		}
		return offered([]cobra.Completion{"grid://", "tree://"})
	}
}

// completeVOs offers the VOs whose VOMS servers are known here.
func completeVOs(d *deps) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		servers, _ := voms.ReadVomses(credentialEnv(d).VOMSES()...)
		vos := map[cobra.Completion]bool{}
		for _, s := range servers {
			vos[s.VO] = true
		}
		return offered(slices.Collect(maps.Keys(vos)))
	}
}
