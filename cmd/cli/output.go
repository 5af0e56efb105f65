package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"gridbroker/broker"
)

type outputDocument struct {
	Jobs []jobOutput `json:"jobs"`
}

type jobOutput struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
	Error string   `json:"error,omitempty"`
}

func (a *app) outputCmd() *cobra.Command {
	var sel selection
	var dir string
	var want []string
	cmd := &cobra.Command{
		Use:   "output ID...",
		Short: "Bring the output files of jobs back",
		Long: `Output downloads the output files of each job into a directory of its own,
NAME-ID, below the working directory or --dir. What an earlier call has left
unfinished is resumed.

` + selectionHelp,
		Example: `  grid output 01k9x
  grid output --state done --dir results
  grid output --file '*.log' --since 1h`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withJobs(cmd, planning{}, args, sel, false, func(ctx context.Context, s *session, rs []*broker.Record) error {
				if err := a.openServices(s); err != nil {
					return err
				}
				if err := s.broker.Refresh(ctx, rs); err != nil {
					return err
				}
				got, err := s.broker.Output(ctx, rs, a.abs(dir), want)
				if err != nil {
					return err
				}
				return a.printOutput(rs, got)
			})
		},
	}
	sel.register(cmd)
	cmd.Flags().StringVar(&dir, "dir", ".", "`directory` below which the jobs' directories are made")
	cmd.Flags().StringArrayVar(&want, "file", nil, "only files of this `name` or pattern; may be repeated")
	return cmd
}

func (a *app) printOutput(rs []*broker.Record, got map[string]broker.Fetched) error {
	doc := outputDocument{Jobs: []jobOutput{}}
	for _, r := range rs {
		o := jobOutput{ID: r.ID, Name: r.Name, Dir: got[r.ID].Dir, Files: got[r.ID].Files}
		if r.Err() != nil {
			o.Error = r.Err().Error()
		}
		doc.Jobs = append(doc.Jobs, o)
	}
	if a.json {
		if err := a.printJSON("output", doc); err != nil {
			return err
		}
		return a.outcome(rs, jobErr)
	}
	for _, o := range doc.Jobs {
		for _, f := range o.Files {
			fmt.Fprintln(a.env.Out, a.relative(filepath.Join(o.Dir, f)))
		}
		if o.Error == "" && len(o.Files) == 0 {
			fmt.Fprintf(a.env.Err, "grid: job %s has no output files\n", o.ID)
		}
	}
	a.report(rs)
	return a.outcome(rs, jobErr)
}

// relative shortens a path below the working directory.
func (a *app) relative(path string) string {
	if rel, err := filepath.Rel(a.env.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
