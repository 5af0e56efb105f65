package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gridbroker/batch"
	"gridbroker/batch/swf"
)

// queueOptions are those of grid sim queue.
type queueOptions struct {
	trace    string
	policies []string
	maui     []string
	procs    int
	load     float64
	belief   string
	starts   string
	plots    string
	format   string
	size     string
	slurm    []string
	nodes    int
	memory   int64
	queues   []string
	given    func(string) bool // whether a flag was given
	showOptions
}

const simQueueHelp = `Queue replays a trace in the Standard Workload Format (plain or gzip) over a
cluster of equal processors and prints waits, bounded slowdown and utilisation,
for all jobs and by width.

Policies: fcfs, easy, conservative, easy-sjbf, maui, slurm. Parameters of slurm
are bf_interval, bf_window, bf_resolution, bf_max_job_test, bf_max_job_user,
bf_max_job_part, bf_max_job_user_part, bf_max_job_start, bf_max_job_array_resv,
bf_min_age_reserve, bf_min_prio_reserve and bf_job_part_count_reserve, in the
units of slurm.conf. Parameters of maui are given by
Maui's own names: BACKFILLPOLICY, BACKFILLMETRIC, BACKFILLDEPTH,
BACKFILLSEARCH (ours, of GREEDY: ENUMERATION, ANNEALING, GENETIC, EXACT),
RESERVATIONDEPTH (a number or UNLIMITED), RESERVATIONPOLICY, and the weights
QUEUETIMEWEIGHT, XFACTORWEIGHT, PROCWEIGHT.

Cleaning: jobs with no run time or no processors (field 5, else 8), or wider
than the machine, are dropped, whatever their status; the limit is field 9 or the
run time if that is longer; jobs are sorted by submission and numbered from 1, the first submission
is time 0. --starts writes a line "job start" for each in this numbering.

With --nodes the processors are those of so many equal nodes, and jobs take
what the trace says they ask for of queue, memory (with --memory) and group.
--queue gives a queue (field 15) limits: priority, max-procs, max-wall (seconds),
max-running, and nodes (FIRST-LAST, from 1), for partitions of their own.

With --belief every job's start is also foretold when it is submitted, from
what the scheduler knows then and run times believed by one of: estimate (the
owner's), last-two (mean of the user's last two), history (similar past jobs), perfect.
The table compares this with the starts that came.

With --resources the traces are Maui's own (resource and workload trace, version
230) and are replayed by the rules of a real Maui on named nodes, with the
parameters of --maui-cfg. --show tells, --at seconds after the first submission,
what showbf (backfill), showstart (start) and diagnose -p (priority) would.`

func simQueueCmd(d *deps) *cobra.Command {
	var f queueOptions
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Replay a workload trace over one cluster's queue and compare policies",
		Long:  simQueueHelp,
		Example: `  grid sim queue --trace KTH-SP2-1996-2.1-cln.swf.gz --policy easy
  grid sim queue --trace ctc.swf.gz --policy fcfs,easy,conservative --load 0.8 --plots figures/
  grid sim queue --trace sdsc.swf --policy maui --maui BACKFILLPOLICY=BESTFIT --maui RESERVATIONDEPTH=4 --json
  grid sim queue --trace kth.swf.gz --policy easy --starts starts.txt
  grid sim queue --trace kth.swf.gz --policy easy --belief history
  grid sim queue --trace kth.swf.gz --policy slurm,easy --nodes 25 --queue 1:nodes=1-5,max-wall=3600 --plots figures --plot-format png`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSimQueue(cmd.Context(), d, f) },
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *queueOptions) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.trace, "trace", "", "trace `FILE` (SWF, plain or gzip); - is standard input")
	fl.StringSliceVar(&f.policies, "policy", []string{"easy"}, "scheduling `POLICY`, or several to compare")
	fl.StringArrayVar(&f.maui, "maui", nil, "`KEY=VALUE`: a parameter of the policy maui; may be repeated")
	fl.IntVar(&f.procs, "procs", 0, "processors of the cluster `N` (default: the trace's MaxProcs)")
	fl.Float64Var(&f.load, "load", 1, "divide the times of submission by `F`")
	fl.StringVar(&f.belief, "belief", "", "foretell every start with run times believed by `BELIEF`")
	fl.StringVar(&f.starts, "starts", "", "write every job's start to `FILE`")
	fl.StringVar(&f.plots, "plots", "", "draw figures into the directory `DIR`")
	fl.StringVar(&f.format, "plot-format", "svg", "`format` of the figures: svg or png")
	fl.StringVar(&f.size, "plot-size", "18x11", "size of the figures in centimetres `WIDTHxHEIGHT`")
	fl.StringArrayVar(&f.slurm, "slurm", nil, "`KEY=VALUE`: a parameter of the policy slurm; may be repeated")
	fl.IntVar(&f.nodes, "nodes", 0, "the processors are those of `N` equal nodes")
	fl.Int64Var(&f.memory, "memory", 0, "memory of each node `MB`; jobs take what the trace says")
	fl.StringArrayVar(&f.queues, "queue", nil, "`NUMBER:KEY=VALUE,...`: a queue of the trace and its limits; may be repeated")
	f.given = fl.Changed
	f.showOptions.register(fl)
}

// check finds mistakes before the first job is read.
func (f queueOptions) check() error {
	switch {
	case f.trace == "":
		return fmt.Errorf("no trace: give --trace FILE")
	case len(f.policies) == 0:
		return fmt.Errorf("no policy: give --policy, one of %s", strings.Join(batch.PolicyNames(), ", "))
	case f.trace == "-" && len(f.policies) > 1:
		return fmt.Errorf("standard input can be read for one policy only")
	case f.starts != "" && len(f.policies) > 1:
		return fmt.Errorf("--starts is for one policy, not %d", len(f.policies))
	case f.procs < 0 || f.procs > 1<<30:
		return fmt.Errorf("--procs %d: want a number from 1 to 2^30", f.procs)
	case !(f.load >= 0.001 && f.load <= 1000):
		return fmt.Errorf("--load %g: want a factor from 0.001 to 1000", f.load)
	case f.belief != "" && !slices.Contains(batch.BeliefNames(), f.belief):
		return fmt.Errorf("--belief %q: want one of %s", f.belief, strings.Join(batch.BeliefNames(), ", "))
	case f.format != "svg" && f.format != "png":
		return fmt.Errorf("--plot-format %q: want svg or png", f.format)
	case f.nodes < 0 || f.memory < 0:
		return fmt.Errorf("--nodes %d, --memory %d: want 0 or more", f.nodes, f.memory)
	}
	if _, err := parseFigureSize(f.size); err != nil {
		return err
	}
	return f.applies()
}

// queueRun is the outcome of one policy.
type queueRun struct {
	Policy      string                 `json:"policy"`
	Procs       int                    `json:"procs"`
	All         batch.Class            `json:"all"`
	Classes     []batch.Class          `json:"by_procs"`
	Makespan    int64                  `json:"makespan" unit:"seconds"`
	Utilisation float64                `json:"utilisation"`
	Trace       swf.Report             `json:"trace"`
	Unreadable  int                    `json:"unreadable_lines"`
	Elapsed     float64                `json:"-"` // seconds
	JobsPerSec  float64                `json:"-"`
	Belief      string                 `json:"belief,omitempty"`
	Forecast    *batch.AccuracyFigures `json:"forecast,omitempty"`
	Nodes       int                    `json:"nodes,omitempty"`
	Refused     map[batch.Cause]int    `json:"refused,omitempty"` // jobs, by cause
	summary     *batch.Summary
}

func runSimQueue(ctx context.Context, d *deps, f queueOptions) error {
	if f.on() {
		return simMaui(ctx, d, f)
	}
	if err := f.check(); err != nil {
		return usageError(err)
	}
	var runs []*queueRun
	for _, name := range f.policies {
		p, err := f.policy(name)
		if err != nil {
			return usageError(err)
		}
		run, err := simPolicy(ctx, d, f, p)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	if f.plots != "" {
		size, err := parseFigureSize(f.size)
		if err == nil {
			err = figures{trace: f.trace, load: f.load, format: f.format, size: size, runs: runs}.save(abs(d, f.plots))
		}
		if err != nil {
			return err
		}
	}
	if d.json {
		return printJSON(d, "sim.queue", simQueueDocument{f.trace, f.load, runs})
	}
	return printRuns(d, runs)
}

// simPolicy replays the trace once.
func simPolicy(ctx context.Context, d *deps, f queueOptions, p batch.Policy) (*queueRun, error) {
	in, err := openTrace(d, f.trace, f.procs, f.load)
	if err != nil {
		return nil, err
	}
	defer in.close()
	jobs, err := in.start()
	if err != nil {
		return nil, err
	}
	if f.nodes > 0 {
		return simNodes(ctx, d, f, p, in, jobs)
	}
	tasks := in.tasks(jobs)
	m, err := batch.NewMachine(in.cleaner.Procs, p)
	if err != nil {
		return nil, err
	}
	var starts []int64 // by job
	replay := m.Replay(tasks)
	var acc *batch.Accuracy
	if f.belief != "" {
		belief, err := batch.NewBelief(f.belief)
		if err != nil {
			return nil, usageError(err)
		}
		acc, replay = &batch.Accuracy{}, m.Foretell(tasks, belief)
	}
	begin := d.env.Now()
	sum := batch.NewSummary(in.cleaner.Procs)
	if starts, err = takeStarts(ctx, d, replay, sum, acc, f.starts != "", p.Name); err != nil {
		return nil, err
	}
	if f.starts != "" {
		if err := writeStarts(abs(d, f.starts), starts); err != nil {
			return nil, err
		}
	}
	run := in.result(p.Name, sum, d.env.Now().Sub(begin))
	if acc != nil {
		figures := acc.Figures()
		run.Belief, run.Forecast = f.belief, &figures
	}
	return run, nil
}

// takeStarts takes in every start as it comes and returns them by job, if kept.
func takeStarts(ctx context.Context, d *deps, starts iter.Seq2[batch.Start, error], sum *batch.Summary, acc *batch.Accuracy, keep bool, what string) (list []int64, err error) {
	bar, stop := showProgress(d)
	defer stop()
	for s, err := range starts {
		if err != nil {
			return nil, err
		}
		sum.Add(s)
		if acc != nil {
			acc.Add(s)
		}
		for keep && int64(len(list)) < s.ID {
			list = append(list, 0)
		}
		if keep {
			list[s.ID-1] = s.Start
		}
		if n := sum.Jobs(); n%10000 == 0 {
			if bar != nil {
				bar.Step(what, 10000, int64(n)+10000)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	return list, nil
}
