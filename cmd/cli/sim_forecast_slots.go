package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch"
	"gridbroker/forecast/sim/slots"
)

// slotOptions are those of grid sim forecast --slots.
type slotOptions struct {
	on            bool
	beliefs       []string
	poll, delay   time.Duration
	every, length time.Duration
	ahead         []time.Duration
	loss, reorder float64
	seed          uint64
}

func slotFlags(cmd *cobra.Command, f *slotOptions) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "slots", false, "judge the slots that an agent publishes")
	fl.StringSliceVar(&f.beliefs, "belief", []string{"estimate"}, "of --slots: what the agent believes of run times, `BELIEF` or several")
	lengthVar(fl, &f.poll, "poll", time.Minute, "of --slots: `TIME` between two looks")
	lengthVar(fl, &f.delay, "delay", 10*time.Second, "of --slots: a look shows what was up to this `TIME` ago")
	fl.Float64Var(&f.loss, "loss", 0, "of --slots: this `PART` of the looks fails")
	fl.Float64Var(&f.reorder, "reorder", 0, "of --slots: this `PART` of the looks shows what was before the last one")
	lengthVar(fl, &f.every, "every", 10*time.Minute, "of --slots: judge what is published after this `TIME`")
	lengthVar(fl, &f.length, "length", 30*time.Minute, "of --slots: `TIME` that a slot must stay free")
	fl.DurationSliceVar(&f.ahead, "ahead", []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour}, "of --slots: `TIMES` ahead, in rising order")
	fl.Uint64Var(&f.seed, "seed", 1, "of --slots: `NUMBER` that delays and losses are drawn by")
}

// onlyForSlots finds flags of --slots where that is not given.
func onlyForSlots(cmd *cobra.Command, f slotOptions) error {
	for _, name := range []string{"belief", "poll", "delay", "loss", "reorder", "every", "length", "ahead", "seed"} {
		if cmd.Flags().Changed(name) && !f.on {
			return fmt.Errorf("--%s is for --slots", name)
		}
	}
	return nil
}

func (f slotOptions) check() error {
	for _, d := range append([]time.Duration{f.poll, f.every, f.length}, f.ahead...) {
		if d < time.Second || d > 30*24*time.Hour {
			return fmt.Errorf("%v: want 1s to 720h", d)
		}
	}
	switch {
	case len(f.ahead) == 0 || len(f.ahead) > 20:
		return errors.New("--ahead: want 1 to 20 times")
	case f.delay < 0 || f.delay > time.Hour:
		return fmt.Errorf("--delay %v: want up to 1h", f.delay)
	case !(f.loss >= 0 && f.loss < 1) || !(f.reorder >= 0 && f.reorder < 1):
		return errors.New("--loss and --reorder: want parts from 0 to less than 1")
	}
	for _, name := range f.beliefs {
		if _, err := batch.NewBelief(name); err != nil || name == "perfect" {
			return fmt.Errorf("--belief %s: want estimate, last-two, history or similar", name)
		}
	}
	return nil
}

// slotRun is the outcome under one policy and belief.
type slotRun struct {
	Policy string      `json:"policy"`
	Belief string      `json:"belief"`
	Rows   []slots.Row `json:"rows"`
}

func runSimSlots(ctx context.Context, d *deps, f forecastOptions, w *workload) error {
	var runs []slotRun
	for _, p := range f.policies {
		for _, belief := range f.slots.beliefs {
			s := f.slots
			t := slots.Trial{Procs: w.procs, Policy: batch.Policy{Name: p}, Belief: belief, Poll: s.poll, Delay: s.delay, Loss: s.loss, Reorder: s.reorder,
				Every: s.every, Ahead: s.ahead, Length: s.length, Skip: int(f.skip / 100 * float64(len(w.tasks))), Seed: s.seed}
			rows, err := t.Run(ctx, w.all())
			if err != nil {
				return err
			}
			runs = append(runs, slotRun{p, belief, rows})
		}
	}
	if d.json {
		return printJSON(d, "sim.forecast.slots", simSlotsDocument{f.trace, f.load, f.slots.length, w.procs, runs})
	}
	var rows [][]string
	for _, r := range runs {
		for _, v := range r.Rows {
			rows = append(rows, []string{r.Policy, r.Belief, span(v.Ahead), fmt.Sprint(v.Judged), percent(v.One), percent(v.Held), percent(v.Began),
				percent(v.Withdrawn), percent(v.Chance), percent(v.Found), fmt.Sprintf("%.1f", v.Published)})
		}
	}
	return table(d, columns("policy", "belief", ">ahead", ">judged", ">one held", ">held", ">free at start", ">withdrawn", ">chance told", ">of idle", ">processors"), rows)
}
