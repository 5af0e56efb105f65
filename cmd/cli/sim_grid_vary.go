package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gridbroker/forecast/sim"
)

// runVaried compares the policies at several values of one key.
func (f simGridOptions) runVaried(ctx context.Context, d *deps, s *sim.Scenario) error {
	key, list, ok := strings.Cut(f.vary, "=")
	values := strings.Split(list, ",")
	if !ok || list == "" {
		return usageError(fmt.Errorf("--vary %q: want KEY=V1,V2 and so on", f.vary))
	}
	if f.svg != "" || f.csv != "" {
		return usageError(errors.New("--vary writes --html or --json, not --svg or --csv"))
	}
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
		if _, err := s.With(key, values[i]); err != nil {
			return usageError(fmt.Errorf("--vary: %w", err))
		}
	}
	bar, stop := showProgress(d)
	var journals []*sim.Journal
	v, err := s.Vary(ctx, key, values, func(c *sim.Scenario, value string) (sim.Options, error) {
		o := sim.Options{Parallel: f.parallel, Done: func(r *sim.Run) {
			if bar != nil {
				bar.Step(key+" "+value+", "+r.Policy, 1, int64(len(values)*len(s.Policies)*s.Seeds))
			}
		}}
		if f.journal == "" {
			return o, nil
		}
		j, err := sim.OpenJournal(abs(d, f.journal)+"-"+key+"-"+value, c)
		if err != nil {
			return o, usageError(err)
		}
		journals = append(journals, j)
		o.Have, o.Keep = j.Have, j.Keep
		return o, nil
	})
	stop()
	for _, j := range journals {
		err = errors.Join(err, j.Close())
	}
	if err != nil {
		return err
	}
	if err := writeTo(d, f.html, v.WriteHTML); err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "sim.grid.vary", *v)
	}
	return printVaried(d, v)
}

// printVaried prints the mean waits of every policy by value, and which is least.
func printVaried(d *deps, v *sim.Variation) error {
	heads := []string{v.Key}
	for _, p := range v.Points[0].Result.Policies {
		heads = append(heads, ">"+p.Policy+" s", ">±")
	}
	heads = append(heads, "least wait", "against the second")
	var rows [][]string
	for _, p := range v.Points {
		row := []string{p.Value}
		for _, c := range p.Result.Policies {
			f := c.Figures["wait_mean"]
			row = append(row, sim.Column{}.Text(f.Mean), p.Result.HalfText(sim.Column{}, f.Half))
		}
		rows = append(rows, append(row, p.Winner.Policy, certainty(p.Winner)))
	}
	return table(d, columns(heads...), rows)
}

// certainty tells the second and whether it is surely behind.
func certainty(w sim.Winner) string {
	switch {
	case w.Second == "":
		return ""
	case w.Sure:
		return w.Second + ": sure"
	}
	return w.Second + ": not sure"
}
