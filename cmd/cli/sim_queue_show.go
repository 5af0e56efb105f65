package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gridbroker/batch/maui"
)

// showOptions are those of grid sim queue that replay Maui's own traces on
// named nodes.
type showOptions struct {
	resources, config, show, ask, outcome string
	at                                    int64
}

func (f *showOptions) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.resources, "resources", "", "replay on the nodes of Maui's resource trace `FILE`; --trace is a workload trace then")
	fl.StringVar(&f.config, "maui-cfg", "", "maui.cfg `FILE` with Maui's parameters")
	fl.StringVar(&f.show, "show", "", "tell `WHAT`: "+strings.Join(shows, ", "))
	fl.Int64Var(&f.at, "at", -1, "at `SECONDS` after the first submission (default: at the end)")
	fl.StringVar(&f.ask, "ask", "", "with --show start: a job of `PROCS@SECONDS` instead of those that wait")
	fl.StringVar(&f.outcome, "outcome", "", "write how the jobs fared to `FILE`, as Maui's statistics")
}

// shows lists what --show takes.
var shows = []string{"backfill", "start", "priority"}

func (f showOptions) check(trace string) error {
	_, _, err := f.asked()
	switch {
	case f.show != "" && !slices.Contains(shows, f.show):
		return fmt.Errorf("--show %q: want one of %s", f.show, strings.Join(shows, ", "))
	case f.resources == "":
		return fmt.Errorf("--show, --at, --ask, --outcome and --maui-cfg are for Maui's traces: give --resources FILE")
	case trace == "" || trace == "-":
		return fmt.Errorf("no trace: give --trace FILE, a workload trace of Maui's")
	case f.ask != "" && err != nil:
		return err
	}
	return nil
}

// on tells whether Maui's traces are meant.
func (f showOptions) on() bool {
	return f.resources != "" || f.show != "" || f.config != "" || f.ask != "" || f.outcome != "" || f.at >= 0
}

// asked reads PROCS@SECONDS.
func (f showOptions) asked() (procs, limit int64, err error) {
	first, second, ok := strings.Cut(f.ask, "@")
	procs, err1 := strconv.ParseInt(first, 10, 32)
	limit, err2 := strconv.ParseInt(second, 10, 40)
	if !ok || err1 != nil || err2 != nil || procs < 1 || limit < 1 {
		return 0, 0, fmt.Errorf("--ask %q: want PROCS@SECONDS", f.ask)
	}
	return procs, limit, nil
}

// simMaui replays Maui's traces by Maui's own rules, up to --at where
// something is to be shown, else to the end.
func simMaui(ctx context.Context, d *deps, f queueOptions) error {
	if err := f.showOptions.check(f.trace); err != nil {
		return usageError(err)
	}
	config, err := mauiConfig(d, f.config)
	if err != nil {
		return usageError(err)
	}
	if config == nil {
		config = maui.NewConfig()
	}
	nodes, err := readTraceFile(abs(d, f.resources), maui.ReadResources)
	if err != nil {
		return usageError(err)
	}
	jobs, err := readTraceFile(abs(d, f.trace), maui.ReadWorkload)
	if err != nil {
		return usageError(err)
	}
	if len(jobs) == 0 {
		return fmt.Errorf("%s: no job", f.trace)
	}
	s, err := maui.Simulate(config, nodes, jobs)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", f.trace, err))
	}
	begin, until := s.Jobs[0].Queued, int64(math.MaxInt64)
	if f.at >= 0 && f.show != "" {
		until = begin + f.at
	}
	for at, more := s.Next(); more && at <= until && ctx.Err() == nil; at, more = s.Next() {
		s.Step()
	}
	if err := ctx.Err(); err != nil {
		return err // half a simulation is no outcome
	}
	if f.outcome != "" {
		if err := writeOutcome(abs(d, f.outcome), s.Jobs); err != nil {
			return err
		}
	}
	body := mauiShow(d, f, s, begin)
	if d.json {
		return printJSON(d, "sim.queue.show", *body)
	}
	return printShow(d, body)
}

// writeOutcome writes how the jobs fared, as Maui's own statistics have it.
func writeOutcome(path string, jobs []maui.TraceJob) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	for i := range jobs {
		jobs[i].Allocated = int64(len(jobs[i].TaskList))
		jobs[i].ProcSeconds = float64((jobs[i].Ended - jobs[i].Started) * jobs[i].Allocated * max(1, jobs[i].TaskProcs))
		jobs[i].TaskList = slices.Compact(slices.Clone(jobs[i].TaskList))
	}
	err = maui.WriteWorkload(file, jobs)
	if e := file.Close(); err == nil {
		err = e
	}
	return err
}

// shown is what grid sim queue --show tells; times count from the first
// submission.
type shown struct {
	At         int64           `json:"at" unit:"seconds"`
	Started    int             `json:"started"`
	MeanWait   float64         `json:"mean_wait" unit:"seconds"`
	Windows    []shownWindow   `json:"backfill,omitempty"`
	Starts     []shownStart    `json:"start,omitempty"`
	Priorities []maui.Priority `json:"priority,omitempty"`
}

type shownWindow struct {
	Partition string `json:"partition"`
	Nodes     int64  `json:"nodes"`
	Procs     int64  `json:"procs"`
	Span      int64  `json:"span,omitempty" unit:"seconds"` // 0: no end is known
}

type shownStart struct {
	Job   string   `json:"job"`
	Never bool     `json:"never,omitempty"`
	At    int64    `json:"at" unit:"seconds"`
	End   int64    `json:"end" unit:"seconds"`
	Tasks []string `json:"tasks,omitempty"`
}

// mauiShow gathers what is to be shown.
func mauiShow(d *deps, f queueOptions, s *maui.Simulation, begin int64) *shown {
	out := &shown{At: s.Now - begin}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Started > 0 {
			out.Started++
			out.MeanWait += float64(j.Started - j.Queued)
		}
	}
	out.MeanWait /= float64(max(1, out.Started))
	switch f.show {
	case "backfill":
		for _, w := range s.Scheduler.Windows() {
			if w.Span == maui.Endless {
				w.Span = 0
			}
			out.Windows = append(out.Windows, shownWindow(w))
		}
	case "start":
		out.Starts = startsShown(f, s, begin)
	case "priority":
		out.Priorities = s.Scheduler.Priorities()
	}
	return out
}

// startsShown are the starts of all waiting jobs, or of what is asked for.
func startsShown(f queueOptions, s *maui.Simulation, begin int64) (list []shownStart) {
	var asked []maui.Job
	if f.ask != "" {
		procs, limit, _ := f.asked()
		asked = append(asked, maui.Job{ID: f.ask, User: "you", Group: "you", Tasks: procs, Limit: limit, Queued: s.Now})
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; f.ask == "" && j.Queued <= s.Now && j.Started == 0 {
			asked = append(asked, j.Job)
		}
	}
	for _, j := range asked {
		r, ok := s.Scheduler.Start(j)
		if !ok {
			list = append(list, shownStart{Job: j.ID, Never: true})
			continue
		}
		list = append(list, shownStart{Job: j.ID, At: r.From - begin, End: r.To - begin, Tasks: r.TaskList})
	}
	return list
}

// printShow prints it as a table.
func printShow(d *deps, s *shown) error {
	out := d.env.Out
	say(d, out, "at %d s: %d jobs started, mean wait %.1f s\n", s.At, s.Started, s.MeanWait)
	for _, w := range s.Windows {
		span := "no end"
		if w.Span > 0 {
			span = (time.Duration(w.Span) * time.Second).String()
		}
		say(d, out, "%-12s %6d processors on %d nodes for %s\n", w.Partition, w.Procs, w.Nodes, span)
	}
	for _, j := range s.Starts {
		if j.Never {
			say(d, out, "%-12s never\n", j.Job)
			continue
		}
		say(d, out, "%-12s from %d to %d on %s\n", j.Job, j.At, j.End, strings.Join(j.Tasks, ":"))
	}
	if len(s.Priorities) > 0 {
		say(d, out, "%-12s %10s %10s %10s %10s %10s %10s\n", "job", "priority", "service", "target", "credential", "fair share", "resource")
	}
	for _, p := range s.Priorities {
		say(d, out, "%-12s %10d %10.1f %10.1f %10.1f %10.1f %10.1f\n", p.Job, p.Priority, p.Serv, p.Targ, p.Cred, p.FS, p.Res)
	}
	return nil
}
