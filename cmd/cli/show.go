package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
)

func showCmd(d *deps) *cobra.Command {
	sel := selection{asking: always, reads: true}
	cmd := &cobra.Command{
		Use:   "show ID...",
		Short: "Show all that is known of jobs: every attempt, times, what was used against what was asked for",
		Long: `Show tells everything about a job: where each attempt went and how it ended, when
it started against when that was expected, and how much of what it had asked for
it used. Of a job that went well and used less than half it says what would have
done, and how many more queues that opens, by the last answers of the sources.

` + selectionHelp,
		Example: `  grid show 1m7y8
  grid show --json 1m7y8 --jq '.jobs[0].past'`,
	}
	sel.register(cmd)
	return jobsVerb(d, cmd, &sel, func(ctx context.Context) error { return runShow(ctx, d, sel) })
}

func runShow(ctx context.Context, d *deps, sel selection) error {
	return withJobs(ctx, d, sel, func(s *session, rs []*jobs.Outcome) error {
		sayNone(d, rs)
		if d.json {
			if err := printJSON(d, "show", jobsJSON(rs)); err != nil {
				return err
			}
			return outcomeOf(d, rs, jobErr)
		}
		adviser := newAdviser(d, s)
		for i, r := range rs {
			if i > 0 {
				sayOut(d, "")
			}
			showJob(d, r, adviser.advice(ctx, r))
		}
		return outcomeOf(d, rs, jobErr)
	})
}

// showJob prints one job in full; what is not known has no line.
func showJob(d *deps, o *jobs.Outcome, advice []string) {
	sayOut(d, "%s  %s", styled(d, bold, o.ID), o.Name)
	say := func(label, format string, args ...any) {
		if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
			sayOut(d, "  %-12s %s", label, text)
		}
	}
	state := stateText(d, o)
	if o.Native != "" {
		state += "  (" + o.Native + ")"
	}
	say("state", "%s", state)
	say("reason", "%s", note(o))
	say("exit code", "%s", exitText(o))
	say("at", "%s", strings.TrimSpace(o.At+"  "+o.Site))
	say("host", "%s", o.Host)
	say("job there", "%s", strings.TrimSpace(o.Handle.Endpoint+" "+o.Handle.ID))
	say("group", "%s", strings.Join(strings.Fields(groupText(o)+" "+o.Node), " "))
	say("after", "%s", strings.Join(o.After, " "))
	say("takes", "%s", jobs.TakenText(o.Takes()))
	for _, text := range scriptTexts(o) {
		say("script", "%s", text)
	}
	say("file", "%s", o.File)
	say("output", "%s", o.Output)
	for _, t := range []struct {
		label string
		at    time.Time
	}{{"created", o.Created}, {"sent", o.Sent}, {"submitted", o.Submitted}, {"started", o.Started}, {"ended", o.Ended}, {"kept until", o.Expires}} {
		say(t.label, "%s", moment(d, t.at))
	}
	showStart(d, o, say)
	showForecast(d, o, say)
	showUse(d, o, say)
	for _, text := range advice {
		say("advice", "%s", text)
	}
	showPast(d, o)
}

// moment writes a time with how long ago it is.
func moment(d *deps, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	length := d.env.Now().Sub(t)
	if length < 0 {
		return t.Local().Format(time.DateTime) + "  (in " + span(-length) + ")"
	}
	return t.Local().Format(time.DateTime) + "  (" + span(length) + " ago)"
}

// odds are the 10, 50 and 90 % quantiles of a job's start as they were foretold;
// false where they were not.
func odds(o *jobs.Outcome) (low, middle, high time.Time, ok bool) {
	if o.Sent.IsZero() || len(o.StartOdds) == 0 {
		return low, middle, high, false
	}
	at := func(chance float64) time.Time { return o.Sent.Add(nearestQuantile(o.StartOdds, chance).Wait) }
	return at(0.1), at(0.5), at(0.9), true
}

// showStart compares the start foretold with the true one.
func showStart(d *deps, o *jobs.Outcome, say func(string, string, ...any)) {
	low, middle, high, ok := odds(o)
	if !ok {
		return
	}
	text := fmt.Sprintf("start %s to %s (8 of 10), half by %s", low.Local().Format(time.DateTime), high.Local().Format(time.DateTime), middle.Local().Format(time.DateTime))
	switch {
	case o.Started.IsZero():
	case o.Started.Before(low.Add(-time.Minute)):
		text += "; it was earlier"
	case o.Started.After(high.Add(time.Minute)):
		text += "; it was later"
	}
	say("foretold", "%s", text)
}

// showForecast compares the expected completion with the true one.
func showForecast(d *deps, o *jobs.Outcome, say func(string, string, ...any)) {
	if o.Predicted <= 0 || o.Sent.IsZero() {
		return
	}
	if o.Guessed {
		say("expected", "not known: nothing told how long such a job runs")
		return
	}
	expected := o.Sent.Add(time.Duration(o.Predicted * float64(time.Second)))
	text := expected.Local().Format(time.DateTime)
	switch {
	case o.Ended.IsZero():
	case o.Ended.Before(expected):
		text += "  (" + span(expected.Sub(o.Ended)) + " earlier)"
	default:
		text += "  (" + span(o.Ended.Sub(expected)) + " later)"
	}
	say("expected", "%s", text)
}

// showUse compares what was used with what was asked for.
func showUse(d *deps, o *jobs.Outcome, say func(string, string, ...any)) {
	job, err := o.Job()
	if err != nil {
		say("description", "%v", err)
		return
	}
	against := func(used, asked string) string {
		if asked == "" || used == "" {
			return used
		}
		return used + " of " + asked
	}
	wall, memory := "", ""
	if length := job.Demand.WallTime; length > 0 {
		wall = span(length)
	}
	if mb := job.Demand.Memory; mb > 0 {
		memory = memoryText(mb * int64(max(1, job.Demand.Slots)))
	}
	say("wall time", "%s", against(ranText(d, o), wall))
	if o.CPUTime > 0 {
		text := span(o.CPUTime)
		if o.WallTime > 0 {
			text += fmt.Sprintf("  (%.0f %% of %s)", 100*o.CPUTime.Seconds()/(o.WallTime.Seconds()*float64(max(o.Slots, 1))), counted(max(o.Slots, 1), "slot"))
		}
		say("CPU time", "%s", text)
	}
	if o.MaxMemory > 0 {
		say("memory", "%s", against(memoryText(ceilTo(o.MaxMemory, 1024)/1024), memory))
	}
}

func showPast(d *deps, o *jobs.Outcome) {
	if len(o.Past) == 0 {
		return
	}
	sayOut(d, "  %s", styled(d, bold, "earlier attempts"))
	for _, p := range o.Past {
		at := p.At
		if at == "" {
			at = p.Resource
		}
		text := string(p.State)
		if p.ExitCode != nil {
			text += fmt.Sprintf(", exit code %d", *p.ExitCode)
		}
		if p.Reason != "" {
			text += ": " + p.Reason
		}
		if p.Assigned != "" {
			text = "got a place at " + p.Assigned
		}
		sayOut(d, "  %3d  %s  %s  %s", p.Number, p.Sent.Local().Format(time.DateTime), at, text)
		if p.Output != "" {
			sayOut(d, "       output in %s", p.Output)
		}
	}
}
