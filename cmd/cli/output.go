package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type outputDocument struct {
	Jobs []jobOutput `json:"jobs"`
}

type jobOutput struct {
	ID    string        `json:"id"`
	Name  string        `json:"name"`
	State plugins.State `json:"state"`
	Dir   string        `json:"dir"`
	Files []string      `json:"files"`
	Error string        `json:"error,omitempty"`
}

func outputCmd(d *deps) *cobra.Command {
	sel := selection{asking: always}
	var dir string
	var want []string
	var attempt int
	cmd := &cobra.Command{
		Use:   "output ID...",
		Short: "Bring the output files of jobs back",
		Long: `Output downloads the output files of each job into a directory of its own,
NAME-ID, below the working directory or --dir. What an earlier call has left
unfinished is resumed. Jobs that have not ended give what they have so far;
one named by its id that has nothing yet is an error. What earlier attempts of a
job that was sent again left behind stays reachable, with --attempt, and goes to
NAME-ID.attemptN.

` + selectionHelp,
		Example: `  grid output 01k9x
  grid output --state done --dir results
  grid output --file '*.log' --since 1h`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeIDs(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, rs, err := openJobs(cmd, d, args, planning{}, sel, needs{})
			if err != nil {
				return err
			}
			defer s.close()
			got, err := s.jobs.Output(cmd.Context(), rs, jobs.Wanted{Dir: abs(d, dir), Files: want, Attempt: attempt})
			if err != nil {
				return err
			}
			return printOutput(d, rs, got, len(args) > 0)
		},
	}
	sel.register(cmd)
	cmd.Flags().StringVar(&dir, "dir", ".", "`directory` below which the jobs' directories are made")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "output of the job's attempt `N`, the first is 1 (default: the last that reached a back-end)")
	cmd.Flags().StringArrayVar(&want, "file", nil, "only files of this `name` or pattern; may be repeated")
	return cmd
}

func printOutput(d *deps, rs []*jobs.Outcome, got map[string]jobs.Fetched, named bool) error {
	failed := func(r *jobs.Outcome) error {
		if r.Err == nil && named && !r.Final() && len(got[r.ID].Files) == 0 {
			return errNotYet(r)
		}
		if missing := got[r.ID].Missing; r.Err == nil && len(missing) > 0 {
			return fmt.Errorf("job %s left no %s", r.ID, strings.Join(missing, ", "))
		}
		return r.Err
	}
	doc := outputDocument{Jobs: []jobOutput{}}
	for _, r := range rs {
		o := jobOutput{ID: r.ID, Name: r.Name, State: r.State, Dir: got[r.ID].Dir, Files: got[r.ID].Files}
		if err := failed(r); err != nil {
			o.Error = err.Error()
		}
		doc.Jobs = append(doc.Jobs, o)
	}
	if d.json {
		if err := printJSON(d, "output", doc); err != nil {
			return err
		}
		return outcomeOf(d, rs, failed)
	}
	for _, o := range doc.Jobs {
		for _, f := range o.Files {
			fmt.Fprintln(d.env.Out, foreign.Text(relative(d, filepath.Join(o.Dir, f))))
		}
	}
	reportBy(d, rs, func(r *jobs.Outcome) error {
		switch {
		case r.Err != nil || len(got[r.ID].Files) > 0:
			return failed(r)
		case !r.Final():
			return errNotYet(r)
		}
		return fmt.Errorf("job %s has no output files", r.ID)
	})
	return outcomeOf(d, rs, failed)
}

func errNotYet(r *jobs.Outcome) error {
	return fmt.Errorf("job %s is %s: it has no output files yet", r.ID, r.State)
}

// relative shortens a path below the working directory.
func relative(d *deps, path string) string {
	if rel, err := filepath.Rel(d.env.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
