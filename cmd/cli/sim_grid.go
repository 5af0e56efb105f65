package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/forecast/sim"
)

// simGridOptions are those of grid sim grid.
type simGridOptions struct {
	policies        []string
	seeds           int
	csv, html, svg  string
	journal         string
	count, parallel int
	vary            string
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
policy, marked * where its interval does not hold zero and the policy leaves no jobs
undone that others run.

Policies: those of the broker (grid match --policy); replan (hybrid, and jobs that
wait for long are planned anew); gras, gras-paper (a central scheduler books slots
that the sites' agents publish: our planner, the published one); scheduler (the same
scheduler whole, with its database, outbox and agents); tree (managers of
sites and domains); independent (every job stays at its user's site); oracle (the
start of each job is known at every site, run times included; what comes later is
not). Where the scenario has failures, or life = true, jobs of the broker's policies
are recorded, followed and sent again as by the command.

--vary plays the scenario for several values of one key, and tells which policy has
the least mean wait at each: load, local-load, estimate (factor on the times that
users ask for), refresh (of every site's state), spread (speed of the fastest site
over that of the slowest), max-procs, loss.`,
		Example: `  grid sim grid testdata/scenarios/hybrid.toml
  grid sim grid testdata/scenarios/hybrid.toml --policy random,hybrid --seeds 10 --html report.html
  grid sim grid testdata/scenarios/hybrid.toml --vary load=0.1,0.3,0.5,0.7 --html winners.html
  grid sim grid scenario.toml --json`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "seeds", "count"); err != nil {
				return err
			}
			return runSimGrid(cmd.Context(), d, f, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.policies, "policy", nil, "compare these `POLICIES` instead of the scenario's")
	fl.IntVar(&f.seeds, "seeds", 0, "`N`: seeds 1 to N instead of the scenario's")
	fl.IntVar(&f.count, "count", 0, "`N` global jobs instead of the scenario's")
	fl.IntVarP(&f.parallel, "jobs", "j", runtime.NumCPU(), "play `N` runs at once")
	fl.StringVar(&f.csv, "csv", "", "write the figures to `FILE`")
	fl.StringVar(&f.html, "html", "", "write a report to `FILE`, which needs no other file")
	fl.StringVar(&f.svg, "svg", "", "write the distributions of waits to `FILE`")
	fl.StringVar(&f.vary, "vary", "", "`KEY=V1,V2,...`: compare for each of these values")
	fl.StringVar(&f.journal, "resume", "", "keep runs in `FILE`, and play only those that it does not have")
	return cmd
}

// notZero refuses numbers that stand for the scenario's own where they are not given.
func notZero(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "0" {
			return usageError(fmt.Errorf("--%s 0: say how many", name))
		}
	}
	return nil
}

// garbage is how much of the heap, in per cent of what is in use, may be garbage
// while grids are simulated: a plan for every job makes much of it, and little stays.
const garbage = 400

// loadScenario reads a scenario. A pipe in its place is not waited for without end.
func loadScenario(path string) (*sim.Scenario, error) {
	f, err := openWithin(path, pipeWait)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := sim.Load(path, spoken{f, pipeWait})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = unwritten(path, pipeWait)
	}
	return s, err
}

func runSimGrid(ctx context.Context, d *deps, f simGridOptions, name string) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	s, err := loadScenario(abs(d, name))
	if err == nil {
		err = f.apply(s)
	}
	if err == nil && f.parallel < 1 {
		err = fmt.Errorf("--jobs %d: say how many runs at once", f.parallel)
	}
	if err != nil {
		return usageError(err)
	}
	if err := errors.Join(namedTwice(d, name, f.journal, f.csv, f.html, f.svg), writable(d, f.csv, f.html, f.svg)); err != nil {
		return err
	}
	for _, line := range s.Left() {
		sayErr(d, "%s", line)
	}
	if f.vary != "" {
		return f.runVaried(ctx, d, s)
	}
	bar, stop := showProgress(d)
	began := d.env.Now()
	options := sim.Options{Parallel: f.parallel, Done: func(r *sim.Run) {
		if bar != nil {
			bar.Step(r.Policy, 1, int64(len(s.Policies)*s.Seeds))
		}
	}}
	result, err := f.compare(ctx, d, s, options)
	stop()
	if err != nil {
		return err
	}
	if d.verbose > 0 {
		sayErr(d, "played %d runs in %s", len(result.Runs), d.env.Now().Sub(began).Round(10*time.Millisecond))
	}
	if err := errors.Join(writeTo(d, f.csv, result.WriteCSV), writeTo(d, f.html, result.WriteHTML), writeTo(d, f.svg, result.WriteSVG)); err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "sim.grid", *result)
	}
	return printGrid(d, result)
}

// compare plays what the journal, if there is one, does not have.
func (f simGridOptions) compare(ctx context.Context, d *deps, s *sim.Scenario, o sim.Options) (*sim.Result, error) {
	if f.journal == "" {
		result, err := s.Compare(ctx, o)
		return result, cutShort(ctx, err, "nothing is kept; with --resume FILE finished runs are")
	}
	j, err := sim.OpenJournal(abs(d, f.journal), s)
	if err != nil {
		return nil, usageError(err)
	}
	o.Have, o.Keep = j.Have, j.Keep
	result, err := s.Compare(ctx, o)
	err = cutShort(ctx, err, "finished runs are in "+f.journal+", from where the same command goes on")
	return result, errors.Join(err, j.Close())
}

// cutShort says of a run that was interrupted what is left of it.
func cutShort(ctx context.Context, err error, left string) error {
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	return &exitError{interruption(ctx), fmt.Errorf("interrupted: %s", left)}
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

// namedTwice refuses to write a file that is read, or that another result goes to.
func namedTwice(d *deps, names ...string) error {
	var before []string
	for _, name := range names {
		if name == "" {
			continue
		}
		name = abs(d, name)
		info, err := os.Stat(name)
		for _, other := range before {
			is, otherErr := os.Stat(other)
			if name == other || err == nil && otherErr == nil && os.SameFile(info, is) && info.Mode().IsRegular() {
				return usageError(fmt.Errorf("%s is named twice: it would be overwritten", name))
			}
		}
		before = append(before, name)
	}
	return nil
}

// writable tells before hours of simulation which of the files that are to be
// written after it, where they are named, cannot be.
func writable(d *deps, names ...string) (errs error) {
	for _, name := range names {
		if name == "" {
			continue
		}
		_, before := os.Lstat(abs(d, name))
		out, err := os.OpenFile(abs(d, name), os.O_WRONLY|os.O_CREATE, 0o666)
		if err == nil {
			err = out.Close()
		}
		if err == nil && errors.Is(before, fs.ErrNotExist) {
			err = os.Remove(abs(d, name))
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

func printGrid(d *deps, r *sim.Result) error {
	heads := []string{"policy"}
	for _, c := range r.Shown() {
		heads = append(heads, ">"+c.Title, ">±")
	}
	heads = append(heads, ">wait against "+r.Policies[0].Policy, ">±", "sure")
	var rows [][]string
	for i, p := range r.Policies {
		row := []string{p.Policy}
		for _, c := range r.Shown() {
			row = append(row, c.Text(p.Figures[c.Name].Mean), r.HalfText(c, p.Figures[c.Name].Half))
		}
		f, star := p.Figures["wait_mean"], ""
		if f.Significant() && !r.Undone(i) {
			star = "*"
		}
		rows = append(rows, append(row, fmt.Sprintf("%+.0f", f.Diff), r.HalfText(sim.Column{}, f.DiffHalf), star))
	}
	return table(d, columns(heads...), rows)
}
