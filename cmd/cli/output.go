package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type outputDocument struct {
	Jobs []jobOutput `json:"jobs"`
	unfoundIDs
}

type jobOutput struct {
	ID    string        `json:"id"`
	Name  string        `json:"name"`
	State plugins.State `json:"state"`
	Dir   string        `json:"dir"`
	Files []string      `json:"files"`
	Error string        `json:"error,omitempty"`
}

type outputOptions struct {
	sel     selection
	dir     string   // below which the jobs' directories are made
	files   []string // names or patterns; empty: all
	attempt int      // 0: the last
	most    string   // of bytes in all
}

func outputCmd(d *deps) *cobra.Command {
	o := outputOptions{sel: selection{asking: always, reads: true}}
	cmd := &cobra.Command{
		Use:   "output ID...",
		Short: "Bring the output files of jobs back",
		Long: `Output downloads the output files of each job into a directory of its own,
NAME-ID, below the working directory or --dir. What an earlier call has left
unfinished is resumed. Jobs that have not ended give what they have so far;
one named by its id that has nothing yet is an error. What earlier attempts of a
job that was sent again left behind stays reachable, with --attempt, and goes to
NAME-ID.attemptN. A file that is listed with more than the disk has room for, or
than --max-size leaves, is not brought; the others are, and the exit code is 5.

` + selectionHelp,
		Example: `  grid output 1m7y8
  grid output --state done --dir results
  grid output --file '*.log' --since 1h`,
	}
	o.sel.register(cmd)
	cmd.Flags().StringVar(&o.dir, "dir", ".", "`directory` below which the jobs' directories are made")
	cmd.Flags().IntVar(&o.attempt, "attempt", 0, "output of the job's attempt `N`, the first is 1 (default: the last that reached a back-end)")
	cmd.Flags().StringArrayVar(&o.files, "file", nil, "only files of this `name` or pattern; may be repeated")
	cmd.Flags().StringVar(&o.most, "max-size", "", "bring so much in all (`SIZE`: 500MB, 2TB); default: nine tenths of what is free on the disk")
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error { return runOutput(ctx, d, o) })
}

func runOutput(ctx context.Context, d *deps, o outputOptions) error {
	if o.attempt < 0 {
		return usageError(fmt.Errorf("--attempt %d: the first is 1", o.attempt))
	}
	most, ok := jdl.ParseSize(o.most)
	if o.most != "" && (!ok || most <= 0) {
		return usageError(fmt.Errorf("--max-size %s: say a size, such as 2GB or 500MB; a number alone counts in MB", o.most))
	}
	return withJobs(ctx, d, o.sel, func(s *session, rs []*jobs.Outcome) error {
		got, err := s.jobs.Output(ctx, rs, jobs.Wanted{Dir: abs(d, o.dir), Files: o.files, Attempt: o.attempt, MaxBytes: most << 20})
		if err != nil {
			return err
		}
		return printOutput(d, rs, got, len(o.sel.ids) > 0 && len(o.files) == 0)
	})
}

// printOutput tells what was brought. That a job of which a file was asked for by
// name or pattern has none is told by its back-end; that one has nothing yet is an
// error where the job was named.
func printOutput(d *deps, rs []*jobs.Outcome, got map[string]jobs.Fetched, named bool) error {
	failed := func(r *jobs.Outcome) error {
		if named && r.Err == nil && len(got[r.ID].Files) == 0 && !r.Final() {
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
		return outputOutcome(d, rs, got, failed)
	}
	sayNoneToPeople(d, rs)
	for _, o := range doc.Jobs {
		for _, f := range o.Files {
			sayOut(d, "%s", relative(d, filepath.Join(o.Dir, f)))
		}
	}
	reportBy(d, rs, func(r *jobs.Outcome) error {
		err := failed(r)
		switch {
		case err != nil || len(got[r.ID].Files) > 0:
			return err
		case !r.Final():
			return errNotYet(r)
		}
		return fmt.Errorf("job %s has no output files", r.ID)
	})
	return outputOutcome(d, rs, got, failed)
}

// outputOutcome is outcomeOf, for which a job's files count as well: where some were
// brought, not all failed.
func outputOutcome(d *deps, rs []*jobs.Outcome, got map[string]jobs.Fetched, failed func(*jobs.Outcome) error) error {
	err := outcomeOf(d, rs, failed)
	brought := slices.ContainsFunc(rs, func(r *jobs.Outcome) bool { return len(got[r.ID].Files) > 0 })
	large := slices.ContainsFunc(rs, func(r *jobs.Outcome) bool { return errors.Is(r.Err, plugins.ErrNoRoom) })
	if errors.Is(err, errReported) && (brought || large) && exitCode(context.Background(), err) != exitUncertain {
		return &exitError{exitPartial, err}
	}
	return err
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
