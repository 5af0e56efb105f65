package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gridbroker/foreign"
	"gridbroker/jobs"
)

type logDocument struct {
	Jobs []jobLog `json:"jobs"`
	unfoundIDs
}

type jobLog struct {
	ID      string       `json:"id"`
	Entries []jobs.Entry `json:"entries"`
	Backend string       `json:"backend,omitempty"` // the back-end's own log
	Error   string       `json:"error,omitempty"`
}

type logOptions struct {
	sel selection
	own bool // without the back-end's log
}

func logCmd(d *deps) *cobra.Command {
	o := logOptions{sel: selection{reads: true}}
	cmd := &cobra.Command{
		Use:   "log ID...",
		Short: "Show every action taken with a job, and its back-end's own log",
		Long: `Log shows what this program did with a job and the changes it saw, and then
what the back-end itself has logged about it.

` + selectionHelp,
		Example: `  grid log 1m7y8
  grid log --own 1m7y8`,
	}
	o.sel.register(cmd)
	cmd.Flags().BoolVar(&o.own, "own", false, "leave the back-end's log out")
	return jobsVerb(d, cmd, &o.sel, func(ctx context.Context) error { return runLog(ctx, d, o) })
}

func runLog(ctx context.Context, d *deps, o logOptions) error {
	return withJobs(ctx, d, o.sel, func(s *session, rs []*jobs.Outcome) error {
		sayNone(d, rs)
		logs, room := []jobLog{}, maxShown
		for _, r := range rs {
			if !d.json {
				room = maxShown
			}
			l, left, err := readLog(ctx, s, r, !o.own, room)
			if err != nil {
				return err
			}
			if !d.json {
				printLog(d, r, l)
			}
			if err := ctx.Err(); err != nil { // while its back-end was asked
				return err
			}
			logs, room = append(logs, l), left
		}
		if d.json {
			return printJSON(d, "log", logDocument{Jobs: logs})
		}
		return nil
	})
}

// readLog is the log of one job, with no more than so many bytes of its back-end's own, and how many are left of these.
func readLog(ctx context.Context, s *session, r *jobs.Outcome, backend bool, room int) (l jobLog, left int, err error) {
	entries, err := s.jobs.Store.Log(ctx, r.ID)
	l = jobLog{ID: r.ID, Entries: entries}
	if err != nil || !backend {
		return l, room, err
	}
	if room <= 0 { // those before have had it
		l.Error = errShown.Error()
		return l, 0, nil
	}
	text := shownText{most: room}
	if err := s.jobs.BackendLog(ctx, r, &text); err != nil {
		l.Error = err.Error()
	}
	l.Backend = text.String()
	return l, text.most, nil
}

// logTime is how the log has its times, as the back-ends have theirs: where this machine is, with its zone.
const logTime = "2006-01-02T15:04:05.000Z07:00"

func printLog(d *deps, r *jobs.Outcome, l jobLog) {
	sayOut(d, "%s", styled(d, bold, r.ID+"  "+foreign.Text(r.Name)))
	for _, e := range l.Entries {
		sayOut(d, "%s  %-10s  %s", e.At.Local().Format(logTime), e.Action, e.Text)
	}
	if l.Backend != "" {
		say(d, d.env.Out, "--- %s\n%s", r.Handle.Endpoint, whole(l.Backend))
		if l.Backend[len(l.Backend)-1] != '\n' {
			sayOut(d, "")
		}
	}
	if l.Error != "" {
		sayErr(d, "%s", passage(l.Error))
	}
}
