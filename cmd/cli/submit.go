package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

type submitOptions struct {
	planning
	dryRun  bool
	wait    bool
	scripts bool
	timeout time.Duration
	scouts  int
	via     via

	priority          float64
	scoutsSet, viaSet bool
}

const submitHelp = `Submit finds the resources, chooses the best for each job, records the job and
sends it; where a resource refuses or cannot be reached the next best is tried.
It prints one line per job: its id, its name and where it went.

With --wait it follows the jobs to their end. Failed jobs are then sent again
as RetryCount and ShallowRetryCount allow, never to where they failed, and the
nodes of a DAG start when those before them are done. Without --wait only the
first nodes of a DAG are sent; grid watch sends the others.

Where there is a choice, a resource that is not known to run jobs gets five of
them at most. With --wait the others are sent when one of these has ended well
there, has been running for a minute, or has been queued for ten; without --wait
they go to resources that are known, if any are. So a site that fails every job
at once costs five jobs and not the whole sweep. --scouts N sets another number,
--scouts 0 none.

With --via tree://HOST:PORT the jobs wait in a tree of managers, which finds each of them a
place by the slots, memory, GPUs, wall time and tags that it asks for. Whoever follows
them (--wait, grid watch, grid follow) sends each to its place with your own credential,
as an attempt that grid show names; a job that nobody follows is offered to no system.

A DAG whose nodes have scripts, which run on this machine as you, needs --scripts.`

func submitCmd(d *deps) *cobra.Command {
	var f submitOptions
	cmd := &cobra.Command{
		Use:   "submit JOB.jdl...",
		Short: "Send jobs to the best resources",
		Long:  submitHelp,
		Example: `  grid submit job.jdl
  grid submit --dry-run --policy fastest-queue job.jdl
  grid submit --wait --site 'cern*' sweep.jdl && grid output --since 1h
  grid submit --wait --via tree://ce.example.org:7701 sweep.jdl
  generate-jobs | grid submit --json - | jq -r '.jobs[].id'`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			if f.scouts < 0 {
				return usageError(fmt.Errorf("--scouts %d: say a number of jobs; 0: no limit", f.scouts))
			}
			if err := needsWait(f.wait, f.timeout); err != nil {
				return err
			}
			f.scoutsSet, f.viaSet = cmd.Flags().Changed("scouts"), cmd.Flags().Changed("via")
			return runSubmit(cmd.Context(), d, args, f)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "n", false, "show the plan and send nothing")
	cmd.Flags().BoolVarP(&f.wait, "wait", "w", false, "follow the jobs to their end")
	cmd.Flags().BoolVar(&f.scripts, "scripts", false, "let the scripts of a DAG's nodes run on this machine, as you")
	timeoutVar(cmd.Flags(), &f.timeout)
	cmd.Flags().IntVar(&f.scouts, "scouts", 0, "send at most `N` jobs to a resource that is not known to run jobs; 0: no limit (default 5)")
	cmd.Flags().StringVar(&f.via.url, "via", "", "hand the jobs to the central scheduler at this `URL`, grid://host:port, or those of its replicas with commas between, or to the tree of managers at tree://host:port; \"\": to none")
	cmd.Flags().BoolVar(&f.via.orDirect, "or-direct", false, "with --via: what the scheduler does not take is sent directly")
	cmd.Flags().Float64Var(&f.priority, "priority", 0, "of the jobs at a central scheduler: the `price` of each processor-hour (default: Priority of the description, or 1)")
	return cmd
}

func runSubmit(ctx context.Context, d *deps, args []string, f submitOptions) error {
	files, err := readJobs(d, args)
	if err != nil {
		return err
	}
	all := jobsOf(files)
	if err := cmp.Or(prioritise(all, f.priority), f.mayRun(all)); err != nil {
		return err
	}
	n := needs{records: mustRecords, services: true, scouts: scouting{on: true, follow: f.wait, set: f.scoutsSet, most: f.scouts}}
	if f.dryRun {
		n.records = mayRecords
	}
	f.planning = f.regarding(all)
	s, err := openSession(d, f.planning, n)
	if err != nil {
		return err
	}
	defer s.close()
	memberOf(d, s.jobs.Rules, f.vo, all)
	p, snap, err := planSubmission(ctx, d, s, files, &f)
	if err != nil {
		return err
	}
	reportServices(d, p)
	sayUnranked(d, p)
	if f.dryRun {
		return dryRun(d, p, snap)
	}
	if err := prepare(ctx, d, s, p, all); err != nil {
		return err
	}
	rs, err := sendPlan(ctx, d, s, p, files)
	if f.via.orDirect {
		sayDirect(d, f.via, rs)
	}
	switch {
	case err != nil:
	case f.wait:
		err = followJobs(ctx, d, s, waitOptions{f.discovery, f.timeout, true}, rs)
	default:
		sayGroups(d, rs)
		sayUnsent(d, s, rs)
		sayInTree(d, s, rs)
	}
	if err := cmp.Or(printSubmitted(d, p, rs), err); err != nil {
		return err
	}
	return submitted(d, p, rs, f.wait)
}

// prepare does what comes before anything is recorded.
func prepare(ctx context.Context, d *deps, s *session, p *broker.Plan, all []*jdl.Job) error {
	if err := canSend(ctx, d, s, p); err != nil {
		return err
	}
	return pinImages(ctx, d, all)
}

// canSend is an error where nothing of a plan can be sent, for want of a credential that is good: nothing is recorded then.
func canSend(ctx context.Context, d *deps, s *session, p *broker.Plan) error {
	if err := jobs.Unready(ctx, s.jobs, p); err != nil {
		return fmt.Errorf("nothing was sent, and nothing is recorded: %w", explained(d, err))
	}
	return nil
}

// printSubmitted prints the jobs for machines.
func printSubmitted(d *deps, p *broker.Plan, rs []*jobs.Outcome) error {
	if !d.json {
		return nil
	}
	return printJSON(d, "submit", submitDocument{jobsJSON(rs).Jobs, unmatchedDocuments(p)})
}

// planSubmission looks for resources and plans; with a central scheduler that is
// the one resource, or with --or-direct the first choice.
func planSubmission(ctx context.Context, d *deps, s *session, files []jobFile, f *submitOptions) (*broker.Plan, infosys.Snapshot, error) {
	central, err := f.scheduler(ctx, s)
	if err == nil && central != nil {
		err = noScripts(jobsOf(files))
	}
	if err != nil {
		return nil, infosys.Snapshot{}, err
	}
	if central != nil {
		s.jobs.Origin.Beyond, s.jobs.Origin.Sources = s.jobs.Origin.Sources, f.via.sources(d, s.conf, f.discovery)
	}
	snap, err := look(ctx, d, s, f.discovery)
	if err != nil {
		return nil, snap, err
	}
	if central != nil {
		f.info = nil // what comes later goes by what is recorded
	}
	p, err := planAll(ctx, s, files, references(snap))
	if err == nil && central != nil {
		f.via.ahead(p, central)
	}
	return p, snap, err
}

// scheduler is the central scheduler, if jobs go to one: it is the only source
// then, or with --or-direct the first choice.
func (f *submitOptions) scheduler(ctx context.Context, s *session) (*glue.Resource, error) {
	f.via.url = schedulerURL(f.via.url, f.viaSet, s.conf)
	switch {
	case f.via.url == "" && f.via.orDirect:
		return nil, usageError(errors.New("--or-direct: there is no scheduler to go past; name one with --via"))
	case f.via.url == "":
		return nil, nil
	case !f.via.orDirect:
		f.info = []string{f.via.url}
	}
	if err := f.via.choosesSites(s.backends, f.sites); err != nil {
		return nil, err
	}
	return f.via.resource(ctx, s.backends)
}

// dryRun shows the plan, a line per job.
func dryRun(d *deps, p *broker.Plan, snap infosys.Snapshot) error {
	if d.json {
		if err := printJSON(d, "submit.plan", matchDocument(p, snap, false, nil)); err != nil {
			return err
		}
		return unmatched(p)
	}
	var rows [][]string
	for _, j := range p.Jobs {
		if j.Err != nil {
			rows = append(rows, []string{jobLabel(j.Job), "-"})
			continue
		}
		best, parts := j.Choices[0], broker.Parts(j.Choices[0])
		next := ""
		if len(j.Choices) > 1 {
			next = j.Choices[1].Resource.Name
		}
		rows = append(rows, []string{jobLabel(j.Job), best.Resource.Name, parts.Expected(span), parts.Wait(span), runText(j.Job, best), next})
	}
	if err := table(d, columns("JOB", "RESOURCE", ">EXPECTED", ">WAIT", ">RUN", "NEXT BEST"), rows); err != nil {
		return err
	}
	sayUnmatched(d, p)
	sayMarks(d, p)
	sayTaken(d, p)
	sayAssumed(d, p)
	sayErr(d, "nothing was sent (policy %s, seed %d)", p.Policy, p.Seed)
	return unmatched(p)
}

// send submits what matches and prints where it went.
func sendPlan(ctx context.Context, d *deps, s *session, p *broker.Plan, files []jobFile) ([]*jobs.Outcome, error) {
	var sets []*jdl.JobSet
	for _, f := range files {
		sets = append(sets, f.set)
	}
	var stop func()
	s.jobs.Progress, stop = showProgress(d)
	rs, err := s.jobs.Submit(ctx, p, sets...)
	stop()
	s.jobs.Progress = nil
	warnShortLife(d, s, rs)
	sayScouts(d, p, rs)
	sayUntried(d, s, p, rs)
	if !d.json {
		printSent(d, p, rs) // what was sent has its id said, whatever else went wrong
	}
	sayWhereIDs(d, rs)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return rs, stopped(rs)
	}
	return rs, err
}

// stopped is that the user interrupted a submission.
func stopped(rs []*jobs.Outcome) error {
	kept := 0
	for _, r := range rs {
		if r.State == plugins.Intended && len(r.After) == 0 {
			kept++
		}
	}
	if len(rs) == 0 {
		return interrupted{"interrupted: nothing was sent"}
	}
	if kept == 0 {
		return interrupted{"interrupted; the jobs were sent, and grid watch follows them"}
	}
	return interrupted{fmt.Sprintf("interrupted: %d of %d jobs sent, %d kept here; grid resubmit --state intended sends them", len(rs)-kept, len(rs), kept)}
}

// submitted is the exit status of submit: of the submission, or with --wait of
// the jobs themselves.
func submitted(d *deps, p *broker.Plan, rs []*jobs.Outcome, waited bool) error {
	none := 0
	for _, j := range p.Jobs {
		if j.Err != nil {
			none++
		}
	}
	if none == len(p.Jobs) {
		return unmatched(p)
	}
	check := jobErr
	if waited {
		check = endErr
	}
	if err := outcomeOf(d, rs, check); err != nil || none == 0 {
		return err
	}
	return &exitError{exitPartial, reported(fmt.Errorf("%d of %d jobs match nothing", none, len(p.Jobs)))}
}

// endErr is what a job that was waited for makes of the exit status.
func endErr(r *jobs.Outcome) error {
	switch {
	case r.Err != nil && !r.Final():
		return r.Err
	case r.Failure():
		return fmt.Errorf("job %s: %s: %s", r.ID, r.State, r.Reason)
	}
	return nil
}

// rediscover is how jobs that are sent later find resources: from where their
// user sent them first, unless this command names sources.
func rediscover(d *deps, s *session, named discovery) jobs.Discover {
	return func(ctx context.Context, from jobs.Origin) ([]*glue.Resource, error) {
		where := named
		if len(where.info) == 0 {
			where.info = from.Sources
		}
		where.extra = from.Attributes
		snap, err := look(ctx, d, s, where)
		return references(snap), err
	}
}
