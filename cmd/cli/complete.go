package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/rank"
)

// complete teaches the shell the values of the planning flags. Names of
// resources come from the cache as far as it has them.
func completeFlags(d *deps, cmd *cobra.Command) {
	fixed := func(flag string, values ...string) {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	for _, flag := range []string{"info", "lrms"} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(urlBeginnings(d), cobra.ShellCompDirectiveNoSpace))
		}
	}
	fixed("policy", rank.Names()...)
	fixed("unknown", "keep", "reject")
	var names []string
	for _, s := range states {
		names = append(names, string(s))
	}
	fixed("state", names...)
	if cmd.Flags().Lookup("site") != nil {
		_ = cmd.RegisterFlagCompletionFunc("site", completeSites(d))
	}
}

// urlBeginnings are what the URLs of all back-ends begin with.
func urlBeginnings(d *deps) []string {
	var all []string
	for _, b := range d.env.Backends {
		for _, form := range b.URLs {
			if head, _, ok := strings.Cut(form, "//"); ok {
				form = head + "//"
			}
			all = append(all, form)
		}
	}
	return all
}

func completeSites(d *deps) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		where := discovery{deadline: time.Second, maxAge: 24 * time.Hour}
		s, err := openSession(d, planning{discovery: where}, needs{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.close()
		snap, err := discover(cmd.Context(), d, s.conf, s.backends, where)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, r := range snap.Resources {
			if name := strings.TrimSpace(r.Name); name != "" {
				out = append(out, cobra.CompletionWithDesc(name, r.Site))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
