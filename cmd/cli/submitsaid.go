package cli

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mattn/go-runewidth"

	"gridbroker/broker"
	"gridbroker/foreign"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// sayUnmatched says why jobs match nothing, of equal jobs once.
func sayUnmatched(d *deps, p *broker.Plan) {
	for _, equal := range equals(p.Jobs) {
		if e, ok := errors.AsType[*broker.NoMatchError](equal[0].Err); ok {
			sayOut(d, "%s: %s", namesOf(equal), passage(e.Reason()))
		}
	}
}

// runText is how long a job is thought to run somewhere; with a question mark where nothing tells it.
func runText(job *jdl.Job, r rank.Ranked) string {
	text := broker.Parts(r).Run(span)
	if assumed(job, r) {
		text += "?"
	}
	return text
}

// assumed is whether the policy reckons with a run time that nothing tells.
func assumed(job *jdl.Job, r rank.Ranked) bool {
	return !r.RunKnown(job) && slices.ContainsFunc(r.Terms, func(t rank.Term) bool { return t.Name == rank.TermRun })
}

// sayAssumed says what the question mark behind a run time stands for.
func sayAssumed(d *deps, p *broker.Plan) {
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if len(j.Choices) > 0 && assumed(j.Job, j.Choices[0]) {
			sayErr(d, "nothing tells how long %s runs: %s is an assumption (WallTime would tell)",
				jobLabel(j.Job), broker.Parts(j.Choices[0]).Run(span))
			return
		}
	}
}

// sayTaken says which nodes take files of others.
func sayTaken(d *deps, p *broker.Plan) {
	for i := range p.Jobs {
		if taken := p.Jobs[i].Job.Taken(); len(taken) > 0 {
			sayOut(d, "%s waits for %s", jobLabel(p.Jobs[i].Job), jobs.TakenText(taken))
		}
	}
}

// sayMarks prints the log of marks of the published formula.
func sayMarks(d *deps, p *broker.Plan) {
	if p.Policy != rank.Paper {
		return
	}
	for i := range p.Jobs {
		for _, line := range rank.Marks(p.Jobs[i].Choices) {
			sayOut(d, "%s: %s", jobLabel(p.Jobs[i].Job), line)
		}
	}
}

func jobLabel(job *jdl.Job) string {
	if job.Node != "" && job.Node != job.Name {
		return job.Name + " " + job.Node
	}
	return job.Name
}

// sayUnsent says what will not happen by itself: jobs that wait for others are sent by who follows them.
func sayUnsent(d *deps, s *session, rs []*jobs.Outcome) {
	n := 0
	var group string
	for _, r := range rs {
		if r.State == plugins.Intended && r.Err == nil {
			n++
			group = cmp.Or(group, r.Parent)
		}
	}
	if n == 0 {
		return
	}
	count, them := waits(n)
	if followed(s) {
		sayErr(d, "%s for others; grid follow, which is at work, sends %s", count, them)
		return
	}
	hint := "grid watch"
	if group != "" {
		hint += " " + group
	}
	sayErr(d, "%s until somebody follows: %s sends %s while it runs, grid follow always", count, hint, them)
}

// sayGroups tells the id that stands for all jobs of a collection, sweep or DAG.
func sayGroups(d *deps, rs []*jobs.Outcome) {
	count := map[string]int{}
	for _, r := range rs {
		count[r.Parent]++
	}
	delete(count, "") // those of no group
	for _, r := range rs {
		if n := count[r.Parent]; n > 0 {
			sayErr(d, "%s stands for all %s of %s", r.Parent, counted(n, "job"), r.ParentName)
			delete(count, r.Parent)
		}
	}
}

// waits is "2 jobs wait", and how they are called after that.
func waits(n int) (count, them string) {
	if n == 1 {
		return counted(n, "job") + " waits", "it"
	}
	return counted(n, "job") + " wait", "them"
}

// sayUntried names a resource that got all jobs of a sweep though nothing is
// known of it, because nobody will be there to send the others later.
func sayUntried(d *deps, s *session, p *broker.Plan, rs []*jobs.Outcome) {
	if s.jobs.Scouts == nil || s.jobs.Scouts.Waits() {
		return
	}
	got := map[string]int{}
	for _, r := range rs {
		got[r.Resource]++
	}
	for _, j := range p.Jobs {
		if j.Err != nil || len(j.Choices) < 2 || j.Choices[0].Limit.On {
			continue
		}
		c := j.Choices[0]
		if n := got[c.Resource.ID]; n > s.jobs.Scouts.Most() && (c.History == nil || !c.History.Proven) {
			sayErr(d, "%d jobs went to %s at once, of which nothing is known; with --wait, or while grid follow runs, %d go first",
				n, c.Resource.Name, s.jobs.Scouts.Most())
			return
		}
	}
}

// sayScouts names resources that got a few jobs only, where that sent others
// elsewhere for good.
func sayScouts(d *deps, p *broker.Plan, rs []*jobs.Outcome) {
	got := map[string]int{}
	for _, r := range rs {
		got[r.Resource]++
	}
	said := map[string]bool{}
	for _, j := range p.Jobs {
		for _, c := range j.Choices {
			id := c.Resource.ID
			if !c.Limit.On || c.Limit.Wait || said[id] || got[id] < c.Limit.Jobs {
				continue
			}
			said[id] = true
			sayErr(d, "%s is not known to run jobs and got %d only; --scouts 0 lifts that, --wait follows them", c.Resource.Name, got[id])
		}
	}
}

func printSent(d *deps, p *broker.Plan, rs []*jobs.Outcome) {
	width := 0
	for _, r := range rs {
		width = max(width, runewidth.StringWidth(foreign.Text(r.Name)))
	}
	for _, r := range rs {
		where := r.At
		switch {
		case len(r.After) > 0 && r.State == plugins.Intended:
			where = "(waits for others)"
			if takes := r.Takes(); len(takes) > 0 {
				where = "(waits for " + jobs.TakenText(takes) + ")"
			}
		case jobs.OwesScript(r.Record) != "":
			where = "(waits for its " + jobs.OwesScript(r.Record) + ")"
		case r.State == plugins.Intended && r.Err == nil && r.MaxRunning+r.MaxInCategory > 0:
			where = "(waits for others)"
		case r.State == plugins.Intended && r.Err == nil && len(r.Choices) > 0:
			where = "(waits for the first at " + r.Choices[0].At + ")"
		case r.Err != nil || r.State == plugins.Intended:
			where = "(" + string(r.State) + ")"
		}
		sayOut(d, "%s  %s  %s", r.ID, runewidth.FillRight(foreign.Text(r.Name), width), where)
	}
	report(d, rs)
	explainUnmatched(d, p)
}

// explainUnmatched says on standard error why jobs match nothing, of equal jobs once.
func explainUnmatched(d *deps, p *broker.Plan) {
	for _, equal := range equals(p.Jobs) {
		if e, ok := errors.AsType[*broker.NoMatchError](equal[0].Err); ok {
			sayErr(d, "%s: %s", namesOf(equal), passage(e.Reason()))
			explainTo(d, e.Explanation())
		}
	}
}

// explainTo prints an explanation on standard error, since standard output
// carries the ids.
func explainTo(d *deps, x *broker.Explanation) {
	b := *d
	b.env.Out, b.env.Terminal = d.env.Err, d.env.ErrTerminal
	if err := explanation(&b, x, rejectedShown); err != nil {
		sayErr(d, "%v", err)
	}
}
