package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/spf13/cobra"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/sim/tree"
)

// treeOptions are those of grid sim tree.
type treeOptions struct {
	set, sweep []string
	seeds      int
	protocol   string
	jobs       string
	starts     string
	html       string
	job        int
}

// treeParams are all parameters of grid sim tree, by their names in JSON.
type treeParams struct {
	tree.Work
	tree.Config
}

func simTreeCmd(d *deps) *cobra.Command {
	var f treeOptions
	cmd := &cobra.Command{
		Use:   "tree",
		Short: "Simulate systems under a tree of managers, a star, a dispatcher, or alone",
		Long: `Tree draws streams of jobs for a number of computing systems and runs them under
managers that know of others only what flows over the links of a tree. It prints
the share of jobs done by the horizon, waits, node time used, and messages per
job: means over the seeds 1 to N.

Parameters (--set, --sweep); times of jobs in units, of links in ticks of 1/1000 unit:
  jobs 1658, horizon 5000, systems 4, nodes 10 (of each, or [10,20,...]), load 1.505,
  share [1] (of the jobs, by system), width uniform:10 (one, inverse:N, powers:N), run exp (const, hyper), prios 1
  mode tree (independent, dispatch, full), fanout 4 (as many as systems: a star), discipline firstfit (fcfs)
  latency 100, service 0 (a manager's time per message), scan 0 (per queue entry), handshake true
  mark ack (none, take), fit best (worst), coalesce 0 (least interval between changes), refresh 0, loss 0
  max_hops 0, place_bound false, block false, req_first false, pool false, silent false, alongside false, paced false, calm false, keep 0, max_age 0
  fail_at 0, fail_who (systems count from 0, then domains level by level), detect, heal, resubmit false

--protocol ours sets pool, silent, alongside, paced, calm, place_bound, coalesce and max_age to what the managers use;
paper leaves the protocol as it was published.`,
		Example: `  grid sim tree --sweep mode=independent,tree,full --seeds 20
  grid sim tree --set horizon=500 --set jobs=2652 --set systems=64 --sweep fanout=4,8,64 --sweep service=0,50,200
  grid sim tree --protocol ours --set systems=256 --set jobs=10611 --set horizon=500 --set fanout=8
  grid sim tree --protocol ours --set systems=16 --set jobs=1326 --set horizon=1000 --html way.html
  grid sim tree --jobs list.csv --set mode=full --starts starts.csv`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSimTree(cmd.Context(), d, f) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE`: a parameter; may be repeated")
	fl.StringArrayVar(&f.sweep, "sweep", nil, "`KEY=V1,V2,...`: compare these values; several sweeps give every combination")
	fl.IntVar(&f.seeds, "seeds", 10, "`N`: mean over the seeds 1 to N")
	fl.StringVar(&f.protocol, "protocol", "paper", "`protocol` of the managers: paper or ours")
	fl.StringVar(&f.jobs, "jobs", "", "job list `FILE` (CSV: id,home,submit,run,width,priority in ticks) instead of drawn jobs")
	fl.StringVar(&f.starts, "starts", "", "write every job's system and start to `FILE`; for one combination and seed")
	fl.StringVar(&f.html, "html", "", "write a page with the tree, its tables and a job's way through it to `FILE`; for one combination, seed 1")
	fl.IntVar(&f.job, "job", 0, "`N`: the job whose way --html shows (default the one that went farthest)")
	return cmd
}

// treePoint is the mean outcome of one setting.
type treePoint struct {
	Work    tree.Work             `json:"work"`
	Config  tree.Config           `json:"config"`
	Seeds   int                   `json:"seeds"`
	Metrics map[string][2]float64 `json:"metrics"` // mean and standard deviation
	swept   []string
}

func (f treeOptions) points() (points []*treePoint, names []string, err error) {
	base := treeParams{
		Work: tree.Work{Jobs: 1658, Horizon: 5000, Nodes: tree.PerSystem{10}, Share: []float64{1}, Width: "uniform:10",
			Run: "exp", Load: 1.505, Prios: 1, Systems: 4},
		Config: tree.Config{Mode: "tree", Fanout: 4, Discipline: "firstfit", Latency: 100, Handshake: true,
			Mark: managers.MarkAck, Fit: "best"},
	}
	switch f.protocol {
	case "paper":
	case "ours":
		base.Config = tree.Ours(base.Config)
	default:
		return nil, nil, fmt.Errorf("--protocol %q: want paper or ours", f.protocol)
	}
	if f.seeds < 1 || f.seeds > 1e6 {
		return nil, nil, fmt.Errorf("--seeds %d: want a number from 1 to 1000000", f.seeds)
	}
	swept, names, err := sweepPoints(base, f.set, f.sweep)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range swept {
		if err := errors.Join(s.params.Work.Check(), s.params.Config.Check()); err != nil {
			return nil, nil, err
		}
		points = append(points, &treePoint{Work: s.params.Work, Config: s.params.Config, swept: s.swept})
	}
	if (f.starts != "" || f.html != "") && len(points) > 1 {
		return nil, nil, fmt.Errorf("--starts and --html are for one combination, not %d", len(points))
	}
	if f.job < 0 || f.job > 0 && f.html == "" {
		return nil, nil, fmt.Errorf("--job %d: want the number of a job whose way --html shows", f.job)
	}
	return points, names, nil
}

func runSimTree(ctx context.Context, d *deps, f treeOptions) error {
	points, names, err := f.points()
	if err != nil {
		return usageError(err)
	}
	var list []tree.Job
	if f.jobs != "" {
		if list, err = readTreeJobs(d, f.jobs); err != nil {
			return usageError(err)
		}
		f.seeds = 1
	}
	if err := writable(d, f.html, f.starts); err != nil {
		return err
	}
	bar, stop := showProgress(d)
	defer stop()
	for _, p := range points {
		last, jobs, err := p.run(ctx, list, f.seeds, func(hundredths int64) {
			if bar != nil {
				bar.Step("hundredths of runs", hundredths, 100*int64(len(points)*f.seeds))
			}
		})
		if err != nil {
			return usageError(err)
		}
		if f.starts != "" {
			if err := writeTreeStarts(abs(d, f.starts), jobs, last.Starts); err != nil {
				return err
			}
		}
	}
	stop()
	if f.html != "" {
		if err := points[0].page(ctx, d, f, list); err != nil {
			return err
		}
	}
	if d.json {
		return printJSON(d, "sim.tree", simTreeDocument{points})
	}
	return printTree(d, points, names)
}

// page writes the tree with its tables and a job's way through it.
func (p *treePoint) page(ctx context.Context, d *deps, f treeOptions, jobs []tree.Job) (err error) {
	if jobs == nil {
		if jobs, err = p.Work.Draw(1); err != nil {
			return usageError(err)
		}
	}
	v, err := tree.Watch(ctx, p.Config, p.Work.NodesOf(), jobs, p.Work.Horizon, 1, f.job)
	if err != nil {
		return usageError(err)
	}
	return writeTo(d, f.html, v.WriteHTML)
}

func readTreeJobs(d *deps, name string) ([]tree.Job, error) {
	in, err := openWithin(abs(d, name), pipeWait)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	jobs, err := tree.ReadJobs(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return jobs, nil
}

func writeTreeStarts(name string, jobs []tree.Job, starts []tree.Start) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(tree.WriteStarts(out, jobs, starts), out.Close())
}

// run fills in the means and returns the last run; step is told how many hundredths of each are done since the last time.
func (p *treePoint) run(ctx context.Context, list []tree.Job, seeds int, step func(hundredths int64)) (last *tree.Result, jobs []tree.Job, err error) {
	sum, squares := map[string]float64{}, map[string]float64{}
	for seed := 1; seed <= seeds; seed++ {
		if jobs = list; jobs == nil {
			if jobs, err = p.Work.Draw(uint64(seed)); err != nil {
				return nil, nil, err
			}
		}
		done := int64(0)
		told := func(hundredths int64) {
			if hundredths > done || hundredths == 0 {
				step(hundredths - done)
				done = hundredths
			}
		}
		if last, err = tree.Follow(ctx, p.Config, p.Work.NodesOf(), jobs, p.Work.Horizon, uint64(seed), told); err != nil {
			return nil, nil, err
		}
		told(100)
		for k, v := range last.Metrics() {
			sum[k] += v
			squares[k] += v * v
		}
	}
	n := float64(seeds)
	p.Seeds, p.Metrics = seeds, map[string][2]float64{}
	for k := range sum {
		sd := 0.0
		if seeds > 1 {
			sd = math.Sqrt(max(0, squares[k]-sum[k]*sum[k]/n) / (n - 1))
		}
		p.Metrics[k] = [2]float64{sum[k] / n, sd}
	}
	return last, jobs, nil
}

func printTree(d *deps, points []*treePoint, names []string) error {
	heads := append([]string(nil), names...)
	heads = append(heads, ">done", ">sd", ">mean wait", ">used %", ">away %", ">changes/job", ">requests/job", ">busiest/job", ">hops", ">lost")
	var rows [][]string
	for _, p := range points {
		m := func(k, format string, by float64) string { return fmt.Sprintf(format, by*p.Metrics[k][0]) }
		rows = append(rows, append(append([]string(nil), p.swept...),
			m("ratio", "%.3f", 1), fmt.Sprintf("%.3f", p.Metrics["ratio"][1]), m("mean_wait", "%.1f", 1), m("utilisation", "%.1f", 100),
			m("away", "%.1f", 100), m("changes_per_job", "%.2f", 1), m("requests_per_job", "%.2f", 1),
			m("busiest_messages_per_job", "%.2f", 1), m("max_hops", "%.1f", 1), m("lost_jobs", "%.1f", 1)))
	}
	return table(d, columns(heads...), rows)
}
