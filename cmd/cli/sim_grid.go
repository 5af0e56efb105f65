package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/forecast/sim"
)

// simGridOptions are those of grid sim grid.
type simGridOptions struct {
	policies        []string
	seeds           int
	csv, html       string
	count, parallel int
}

func simGridCmd(d *deps) *cobra.Command {
	var f simGridOptions
	cmd := &cobra.Command{
		Use:   "grid SCENARIO.toml",
		Short: "Play users and sites of a whole grid and compare brokering policies",
		Long: `Grid plays a scenario: sites with their own schedulers, local load, speeds and
habits of publishing, and a stream of global jobs. The real broker decides for
each job from what the sites publish at that time; the real batch engine runs
every site. Each policy runs on the same jobs; the table gives means over the
seeds with 95 % confidence intervals, and the paired difference to the first
policy, marked * where its interval does not hold zero.

Policies: those of the broker (grid match --policy), independent (every job stays
at its user's site), oracle (the start of each job is known at every site, run
times included; what comes later is not).`,
		Example: `  grid sim grid testdata/scenarios/hybrid.toml
  grid sim grid testdata/scenarios/hybrid.toml --policy random,hybrid --seeds 10 --html report.html
  grid sim grid scenario.toml --json`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runSimGrid(cmd.Context(), d, f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.policies, "policy", nil, "compare these `POLICIES` instead of the scenario's")
	fl.IntVar(&f.seeds, "seeds", 0, "`N`: seeds 1 to N instead of the scenario's")
	fl.IntVar(&f.count, "count", 0, "`N` global jobs instead of the scenario's")
	fl.IntVarP(&f.parallel, "jobs", "j", runtime.NumCPU(), "play `N` runs at once")
	fl.StringVar(&f.csv, "csv", "", "write the figures to `FILE`")
	fl.StringVar(&f.html, "html", "", "write a report to `FILE`, which needs no other file")
	return cmd
}

func runSimGrid(ctx context.Context, d *deps, f simGridOptions, name string) error {
	text, err := os.ReadFile(abs(d, name))
	if err != nil {
		return err
	}
	s, err := sim.Parse(name, text)
	if err == nil {
		err = f.apply(s)
	}
	if err != nil {
		return usageError(err)
	}
	bar, stop := showProgress(d)
	began := d.env.Now()
	options := sim.Options{Parallel: f.parallel, Done: func(r *sim.Run) {
		if bar != nil {
			bar.Step(r.Policy, 1, int64(len(s.Policies)*s.Seeds))
		}
	}}
	result, err := s.Compare(ctx, options)
	stop()
	if err != nil {
		return err
	}
	if d.verbose > 0 {
		fmt.Fprintf(d.env.Err, "grid: played %d runs in %s\n", len(result.Runs), d.env.Now().Sub(began).Round(10*time.Millisecond))
	}
	if err := errors.Join(writeTo(d, f.csv, result.WriteCSV), writeTo(d, f.html, result.WriteHTML)); err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "sim.grid", *result)
	}
	return printGrid(d, result)
}

// apply puts flags in the place of the scenario's values.
func (f simGridOptions) apply(s *sim.Scenario) error {
	if len(f.policies) > 0 {
		s.Policies = f.policies
	}
	if f.seeds != 0 {
		s.Seeds = f.seeds
	}
	if f.count != 0 {
		s.Jobs.Count = f.count
	}
	return s.Check()
}

// writeTo writes a file, if one is named.
func writeTo(d *deps, name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	out, err := os.Create(abs(d, name))
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Close())
}

func printGrid(d *deps, r *sim.Result) error {
	heads := []string{"policy"}
	for _, c := range r.Shown() {
		heads = append(heads, ">"+c.Title, ">±")
	}
	heads = append(heads, ">wait against "+r.Policies[0].Policy, ">±", "sure")
	var rows [][]string
	for _, p := range r.Policies {
		row := []string{p.Policy}
		for _, c := range r.Shown() {
			row = append(row, c.Text(p.Figures[c.Name].Mean), c.Text(p.Figures[c.Name].Half))
		}
		f, star := p.Figures["wait_mean"], ""
		if f.Significant() {
			star = "*"
		}
		rows = append(rows, append(row, fmt.Sprintf("%+.0f", f.Diff), fmt.Sprintf("%.0f", f.DiffHalf), star))
	}
	return table(d, columns(heads...), rows)
}
