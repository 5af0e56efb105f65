package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch"
	"gridbroker/batch/predict"
)

// forecastOptions are those of grid sim forecast.
type forecastOptions struct {
	trace    string
	policies []string
	procs    int
	load     float64
	skip     float64
	classes  bool
	slots    slotOptions
	stray    error // a flag that does not apply
}

func simForecastCmd(d *deps) *cobra.Command {
	var f forecastOptions
	cmd := &cobra.Command{
		Use:   "forecast",
		Short: "Measure how good forecasts of starts are over a workload trace",
		Long: `Forecast replays a trace in the Standard Workload Format over one cluster and
foretells every job's start when it is submitted, from what is known then: five
quantiles (10, 25, 50, 75 and 90 %) of the wait, by

  calibrated        the queue replayed under several beliefs about run times, and
                    quantiles learned from how that came out
  wait history      the last 200 waits of the job's class of width and limit
  QBETS-like        bounds on quantiles from waits of the class, 95 % sure
  user estimate     the queue replayed with the owners' limits, and its past errors
  history + errors  the same with the mean run time of similar jobs

Printed are the pinball loss (of a point forecast it is the mean absolute error)
as part of the mean wait, in doublings of a minute, and in seconds; the part of
the jobs that waited or were foretold to that started before the 10 % quantile
and after the 90 % quantile (both should be 10 %); and the median width of the
interval between (sharpness). A job teaches when it starts. See docs/forecasts.md.

With --slots a real agent follows the cluster instead, by looks that are late, lost
or out of order, and the slots that it publishes are held against what came. Of
those that begin so far ahead: how often one processor stayed free for --length;
the part of the published processors that did, that were free when the slot
began, and that were withdrawn before; the mean chance told, that a slot stays
free as a whole;
and the part published of all processors that were idle that long.`,
		Example: `  grid sim forecast --trace KTH-SP2-1996-2.1-cln.swf.gz
  grid sim forecast --trace ctc.swf.gz --policy easy,fcfs,conservative --classes
  grid sim forecast --trace sdsc.swf.gz --load 0.8 --json
  grid sim forecast --trace kth.swf.gz --slots --belief estimate,history --loss 0.1`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.stray = onlyForSlots(cmd, f.slots)
			return runSimForecast(cmd.Context(), d, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.trace, "trace", "", "trace `FILE` (SWF, plain or gzip); - is standard input")
	fl.StringSliceVar(&f.policies, "policy", []string{"easy"}, "scheduling `POLICY` of the cluster, or several")
	fl.IntVar(&f.procs, "procs", 0, "processors of the cluster `N` (default: the trace's MaxProcs)")
	fl.Float64Var(&f.load, "load", 1, "divide the times of submission by `F`")
	fl.Float64Var(&f.skip, "skip", 5, "`PERCENT` of the jobs, the first, that only teach")
	fl.BoolVar(&f.classes, "classes", false, "also how the calibrated quantiles did by queue, size and lead time")
	slotFlags(cmd, &f.slots)
	return cmd
}

func (f forecastOptions) check() error {
	if f.stray != nil {
		return f.stray
	}
	if f.slots.on {
		if err := f.slots.check(); err != nil {
			return err
		}
	}
	switch {
	case f.trace == "":
		return fmt.Errorf("no trace: give --trace FILE")
	case f.procs < 0 || f.procs > 1<<30:
		return fmt.Errorf("--procs %d: want a number from 1 to 2^30", f.procs)
	case !(f.load >= 0.001 && f.load <= 1000):
		return fmt.Errorf("--load %g: want a factor from 0.001 to 1000", f.load)
	case !(f.skip >= 0 && f.skip < 100):
		return fmt.Errorf("--skip %g: want a percentage from 0 to less than 100", f.skip)
	}
	for _, p := range f.policies {
		if err := (batch.Policy{Name: p}).Check(); err != nil {
			return err
		}
	}
	return nil
}

// forecastRun is the outcome under one policy.
type forecastRun struct {
	Policy string `json:"policy"`
	predict.Report
}

func runSimForecast(ctx context.Context, d *deps, f forecastOptions) error {
	if err := f.check(); err != nil {
		return usageError(err)
	}
	in, err := openTrace(d, f.trace, f.procs, f.load)
	if err != nil {
		return err
	}
	defer in.close()
	w, err := in.workload()
	if err != nil {
		return err
	}
	if f.slots.on {
		return runSimSlots(ctx, d, f, w)
	}
	var runs []forecastRun
	for _, p := range f.policies {
		report, err := evaluate(ctx, d, f, w, p)
		if err != nil {
			return err
		}
		runs = append(runs, forecastRun{p, report})
	}
	if d.json {
		return printJSON(d, "sim.forecast", simForecastDocument{f.trace, f.load, f.skip, w.procs, runs})
	}
	return printForecasts(d, f, runs)
}

// workload is a trace in memory.
type workload struct {
	tasks  []batch.Task
	queues []int64 // by task
	procs  int
}

// workload reads all of a trace.
func (in *traceInput) workload() (*workload, error) {
	jobs, err := in.start()
	if err != nil {
		return nil, err
	}
	w := &workload{procs: in.cleaner.Procs}
	for job, err := range jobs {
		if err != nil {
			return nil, err
		}
		w.tasks, w.queues = append(w.tasks, in.task(job)), append(w.queues, job.Queue)
	}
	return w, nil
}

func (w *workload) all() iter.Seq2[batch.Task, error] {
	return func(yield func(batch.Task, error) bool) {
		for _, t := range w.tasks {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// evaluate replays the workload once.
func evaluate(ctx context.Context, d *deps, f forecastOptions, w *workload, policy string) (predict.Report, error) {
	m, err := batch.NewMachine(w.procs, batch.Policy{Name: policy})
	if err != nil {
		return predict.Report{}, err
	}
	e := predict.Evaluation{
		Skip:  int(f.skip / 100 * float64(len(w.tasks))),
		Queue: func(id int64) string { return strconv.FormatInt(w.queues[id-1], 10) },
	}
	bar, stop := showProgress(d)
	defer stop()
	n := 0
	for _, err := range e.Run(m, w.all()) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return predict.Report{}, err
		}
		if n++; bar != nil && n%100 == 0 {
			bar.Step(policy, 100, int64(len(w.tasks)))
		}
	}
	return e.Report(), nil
}

func printForecasts(d *deps, f forecastOptions, runs []forecastRun) error {
	var rows, classes [][]string
	for _, r := range runs {
		for _, s := range r.Scores {
			rows = append(rows, []string{
				r.Policy, s.Predictor, percent(s.Share), fmt.Sprintf("%.3f", s.Log), fmt.Sprintf("%.0f", s.Pinball),
				percent(s.Below), percent(s.Above), width(s.Width),
			})
		}
		for _, c := range r.Classes {
			classes = append(classes, []string{r.Policy, c.Name, strconv.Itoa(c.Waiting), percent(c.Below), percent(c.Above)})
		}
	}
	if err := table(d, columns("policy", "predictor", ">of mean wait", ">doublings", ">seconds", ">below 10 %", ">above 90 %", ">width"), rows); err != nil {
		return err
	}
	for _, r := range runs {
		sayOut(d, "%s: %s judged, %d waiting, mean wait %.0f s", r.Policy, counted(r.Jobs, "job"), r.Waiting, r.MeanWait)
	}
	if !f.classes {
		return nil
	}
	sayOut(d, "")
	return table(d, columns("policy", "class", ">waiting jobs", ">below 10 %", ">above 90 %"), classes)
}

// width writes the width of an interval.
func width(s int64) string { return span((time.Duration(s) * time.Second).Round(time.Minute)) }
