package cli

import (
	"fmt"
	"strconv"
	"time"

	"gridbroker/batch"
)

// printRuns prints a table per policy's classes and one line of totals each.
func printRuns(d *deps, runs []*queueRun) error {
	var totals, classes [][]string
	for _, r := range runs {
		totals = append(totals, append(classRow(r.Policy, r.All),
			fmt.Sprintf("%.2f", 100*r.Utilisation), seconds(float64(r.Makespan)), fmt.Sprintf("%.0f", r.JobsPerSec)))
		for _, c := range r.Classes {
			classes = append(classes, append([]string{r.Policy}, classRow(c.Name, c)...))
		}
	}
	if err := table(d, columns("policy", ">jobs", ">wait mean s", ">median", ">p95", ">max", ">slowdown", ">util %", ">makespan", ">jobs/s"), totals); err != nil {
		return err
	}
	sayOut(d, "")
	if err := table(d, columns("policy", "procs", ">jobs", ">wait mean s", ">median", ">p95", ">max", ">slowdown"), classes); err != nil {
		return err
	}
	if err := printAccuracy(d, runs); err != nil {
		return err
	}
	return printTrace(d, runs[0])
}

// printAccuracy prints how good the forecasts of --belief were.
func printAccuracy(d *deps, runs []*queueRun) error {
	var rows [][]string
	for _, r := range runs {
		if f := r.Forecast; f != nil {
			rows = append(rows, []string{
				r.Policy, r.Belief, fmt.Sprintf("%.0f", f.MeanError), percent(f.RelativeError), strconv.Itoa(f.Waiting),
				fmt.Sprintf("%.0f", f.Median), percent(f.Minute), percent(f.TenMinutes), percent(f.Hour), percent(f.Earlier),
			})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	sayOut(d, "")
	return table(d, columns("policy", "belief", ">mean error s", ">of mean wait", ">waiting jobs", ">median error s", ">in 1 min", ">in 10 min", ">in 1 h", ">earlier"), rows)
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// printTrace says what the cleaning rule did, where it did something.
func printTrace(d *deps, r *queueRun) error {
	t := r.Trace
	for _, note := range []struct {
		n    int
		said string
	}{
		{r.Unreadable, "lines unreadable, skipped"}, {t.NoRunTime, "jobs without run time dropped"},
		{t.NoProcs, "jobs without processors dropped"}, {t.TooWide, "jobs wider than the machine dropped"},
		{t.NoSubmit, "jobs without time of submission dropped"}, {t.Endless, "jobs with impossible times dropped"},
		{t.Partial, "lines of interrupted jobs taken as jobs of their own"}, {t.OutOfOrder, "jobs out of order sorted"},
		{t.NoLimit, "jobs without a limit given their run time"}, {t.LimitRaised, "limits raised to the run time"},
	} {
		if note.n > 0 {
			if err := sayErr(d, "%d %s", note.n, note.said); err != nil {
				return err
			}
		}
	}
	return nil
}

func classRow(name string, c batch.Class) []string {
	return []string{
		name, strconv.Itoa(c.Jobs), fmt.Sprintf("%.1f", c.MeanWait), fmt.Sprintf("%.0f", c.MedianWait),
		fmt.Sprintf("%.0f", c.P95Wait), strconv.FormatInt(c.MaxWait, 10), fmt.Sprintf("%.2f", c.MeanSlowdown),
	}
}

// seconds writes a long time for people.
func seconds(s float64) string {
	if s >= 48*3600 {
		return fmt.Sprintf("%.1f d", s/86400)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
