package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker"
	"gridbroker/durable"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type probeOptions struct {
	planning
	within time.Duration
}

// probed is what a test job found out about one resource.
type probed struct {
	Resource string  `json:"resource"`
	Name     string  `json:"name"`
	ViewOf   string  `json:"view_of,omitempty"` // a VO's view of a queue
	OK       bool    `json:"ok"`
	Stage    string  `json:"stage"` // how far it came: match, submit, start, run, output
	Said     string  `json:"said,omitempty"`
	Wait     float64 `json:"wait_seconds"`
	Run      float64 `json:"run_seconds"`
	Node     string  `json:"node,omitempty"`
	barred   bool    // it is for others
}

func probeCmd(d *deps) *cobra.Command {
	f := probeOptions{within: 5 * time.Minute}
	cmd := &cobra.Command{
		Use:   "probe SITE...",
		Short: "Run a short test job at resources and see whether its output comes back",
		Long: `Probe sends one tiny job to every resource whose name, id, site or host is SITE
or fits the pattern, waits for its end, brings its output back and looks at it.
What it finds goes into the memory that grid health shows; bans do not keep it
away. A job that has not ended in time is cancelled. Nothing is left behind.
Views of queues that VOs have, and which do not let you in, are passed over.

The exit code is 0 when every resource did well, 5 when some did, 1 when none.`,
		Example: `  grid probe ce.example.org
  grid probe --within 30m 'cern*' --json`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sites = args
			return runProbe(cmd.Context(), d, f)
		},
	}
	f.discovery.register(cmd.Flags())
	cmd.Flags().StringVar(&f.vo, "vo", "", "virtual `organisation`, where the credential names none")
	lengthVar(cmd.Flags(), &f.within, "within", f.within, "cancel jobs that have not ended in this `time`")
	return cmd
}

func runProbe(ctx context.Context, d *deps, f probeOptions) error {
	s, err := openSession(d, f.planning, needs{records: mustRecords, services: true})
	if err != nil {
		return err
	}
	defer s.close()
	s.jobs.Services = broker.Services{} // neither bans nor forecasts
	snap, err := look(ctx, d, s, f.discovery)
	if err != nil {
		return err
	}
	var found []*probed
	plan := &broker.Plan{Made: d.env.Now(), Policy: s.jobs.Policy.Name}
	for _, r := range references(snap) {
		if slices.ContainsFunc(f.sites, func(name string) bool { return broker.Named(name, r) }) {
			found = append(found, probePlan(ctx, d, s, f.vo, r, plan))
		}
	}
	if own := slices.DeleteFunc(slices.Clone(found), func(p *probed) bool { return p.barred }); len(own) > 0 {
		found = own // a VO's view of a queue is no failure of the site to those who are not of the VO
	}
	if len(found) == 0 {
		return &exitError{exitNoMatch, fmt.Errorf("no resource is named %s", strings.Join(f.sites, ", "))}
	}
	if err := probeRun(ctx, d, s, f.within, plan, found); err != nil {
		return err
	}
	return probeReport(d, found)
}

// probeText is what the job prints.
const probeText = "grid probe"

// probeJob is the test job.
func probeJob(d *deps) (*jdl.Job, error) {
	return jdl.ParseJob("probe", []byte(`[
		JobName = "probe"; Executable = "/bin/echo"; Arguments = "`+probeText+`";
		StdOutput = "probe.out"; StdError = "probe.err"; OutputSandbox = { "probe.out", "probe.err" };
		Requirements = true; RetryCount = 0; ShallowRetryCount = -1;
	]`), jdl.WithClock(d.env.Now), jdl.WithDir(d.env.Dir))
}

// probePlan adds the job for one resource to the plan, if it matches.
func probePlan(ctx context.Context, d *deps, s *session, vo string, r *glue.Resource, plan *broker.Plan) *probed {
	p := &probed{Resource: r.ID, Name: r.Name, ViewOf: r.ViewOf, Stage: "match"}
	job, err := probeJob(d)
	if err == nil {
		memberOf(d, s.jobs.Rules, vo, []*jdl.Job{job})
		var one *broker.Plan
		if one, err = s.jobs.Plan(ctx, []*jdl.Job{job}, []*glue.Resource{r}); err == nil {
			if err = one.Jobs[0].Err; err == nil {
				plan.Jobs = append(plan.Jobs, one.Jobs...)
				return p
			}
			p.barred = r.ViewOf != "" && slices.ContainsFunc(one.Jobs[0].Explain().Rejected, func(l broker.RejectedLine) bool { return l.Reason.Filter == broker.ByAccess })
		}
	}
	p.Said = err.Error()
	if e, ok := errors.AsType[*broker.NoMatchError](err); ok {
		p.Said = e.Error()
	}
	return p
}

// probeRun sends the jobs, waits for them, judges them, and cleans up.
func probeRun(ctx context.Context, d *deps, s *session, within time.Duration, plan *broker.Plan, found []*probed) error {
	if len(plan.Jobs) == 0 {
		return nil
	}
	rs, err := s.jobs.Submit(ctx, plan)
	if err != nil {
		return probeAbandoned(ctx, s, rs, err)
	}
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	none := func(context.Context, jobs.Origin) ([]*glue.Resource, error) { return nil, nil }
	err = s.jobs.Wait(waiting, rs, jobs.Waiting{Discover: none, Pause: 5 * time.Second})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return probeAbandoned(ctx, s, rs, err)
	}
	dir, err := durable.MkdirTemp("grid-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	verdicts := map[string]*probed{}
	for _, p := range found {
		verdicts[p.Resource] = p
	}
	for i, r := range rs { // a record per job, in the same order
		probeJudge(ctx, d, s, r, dir, verdicts[plan.Jobs[i].Choices[0].Resource.ID])
	}
	cleaning, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	if err := s.jobs.Cancel(cleaning, rs); err != nil {
		return err
	}
	return s.jobs.Clean(cleaning, rs, true)
}

// probeAbandoned takes the test jobs back for which nobody waits any more because of why, as far as that is done before a signal
// ends the command at once.
func probeAbandoned(ctx context.Context, s *session, rs []*jobs.Outcome, why error) error {
	within := 30 * time.Second
	if ctx.Err() != nil {
		within = grace * 3 / 4
	}
	cleaning, stop := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer stop()
	err := s.jobs.Cancel(cleaning, rs)
	if err == nil {
		err = s.jobs.Clean(cleaning, rs, true)
	}
	left := slices.ContainsFunc(rs, func(r *jobs.Outcome) bool { return r.Err != nil })
	if ctx.Err() != nil && (err != nil || left) {
		return interrupted{"interrupted; test jobs may go on: grid cancel --name probe"}
	}
	return errors.Join(why, err)
}

// probeJudge says how far a job came.
func probeJudge(ctx context.Context, d *deps, s *session, r *jobs.Outcome, dir string, p *probed) {
	p.Node = r.Host
	if !r.Started.IsZero() && !r.Submitted.IsZero() {
		p.Wait = max(0, r.Started.Sub(r.Submitted).Seconds())
	}
	p.Run = r.WallTime.Seconds()
	p.Said = note(r)
	switch {
	case r.Handle.ID == "":
		p.Stage = "submit"
	case !r.Final() && r.Started.IsZero():
		p.Stage, p.Said = "start", "it has not started in time: "+string(r.State)+" "+r.Native
	case r.State != plugins.Done || r.Failure():
		p.Stage = "run"
		if p.Said == "" {
			p.Said = string(r.State)
		}
	default:
		p.Stage = "output"
		p.Said = probeOutput(ctx, s, r, dir)
		p.OK = p.Said == ""
	}
}

// probeOutput looks at what the job printed; "" is well.
func probeOutput(ctx context.Context, s *session, r *jobs.Outcome, dir string) string {
	got, err := s.jobs.Output(ctx, []*jobs.Outcome{r}, jobs.Wanted{Dir: dir})
	if err == nil {
		err = r.Err
	}
	if err != nil {
		return err.Error()
	}
	f, err := durable.Open(filepath.Join(got[r.ID].Dir, "probe.out"))
	if err != nil {
		return "no output came back"
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<10)) // what comes back may be of any length
	switch {
	case err != nil:
		return err.Error()
	case strings.TrimSpace(string(text)) != probeText:
		return fmt.Sprintf("its output is %.60q", text)
	}
	return ""
}

func probeReport(d *deps, found []*probed) error {
	bad := 0
	var rows [][]string
	for _, p := range found {
		state := styled(d, green, "ok")
		if !p.OK {
			bad++
			state = styled(d, red, "failed at "+p.Stage)
		}
		wait, run := "", ""
		if p.OK {
			wait, run = fmt.Sprintf("%.0fs", p.Wait), fmt.Sprintf("%.1fs", p.Run)
		}
		rows = append(rows, []string{viewed(p.Name, p.ViewOf), state, wait, run, p.Node, cut(p.Said, 100)})
	}
	var err error
	if d.json {
		err = printJSON(d, "probe", probeDocument{found})
	} else {
		err = table(d, columns("RESOURCE", "RESULT", ">WAIT", ">RUN", "NODE", "SAID"), rows)
	}
	switch {
	case err != nil || bad == 0:
		return err
	case bad < len(found):
		return &exitError{exitPartial, errReported}
	}
	return errReported
}
