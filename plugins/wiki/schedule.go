package wiki

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/maui"
	"gridbroker/plugins"
)

// Scheduled is what a Loop schedules: a *Client, as a rule.
type Scheduled interface {
	Nodes(ctx context.Context) ([]Node, error)
	Jobs(ctx context.Context, since time.Time) ([]Job, error)
	Start(ctx context.Context, id string, tasks []string) error
	Cancel(ctx context.Context, id, why string) error
	Suspend(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
}

// Decider says what to do with a cluster at a time.
type Decider interface {
	Decide(now time.Time, nodes []Node, jobs []Job) ([]maui.Action, error)
}

// Loop is a live external scheduler. It keeps nothing that the resource
// manager does not know as well: every round begins with what runs and waits
// there, and a command whose answer was lost ends the round. So neither side's
// crash starts a job twice or forgets one, as the resource manager starts only
// jobs that wait.
type Loop struct {
	Cluster Scheduled
	Decider Decider
	Dry     bool // tell only
	Now     func() time.Time
	// Tell is told of everything that is done, and in a dry run of what the
	// site does itself.
	Tell func(Event)

	// Defer is how long a job whose start was refused, or not answered, is left
	// alone, as by Maui's DEFERTIME; twice as long one that waits still although
	// its start was confirmed. 0: it is tried again in the next round. Without it
	// a job that cannot be started stands before all others.
	Defer time.Duration

	before map[string]maui.JobState // of the last round
	begun  map[string]bool          // jobs whose start the last round confirmed
	later  map[string]time.Time     // jobs that are not started before
}

// Event is one thing done in a round, or only thought of.
type Event struct {
	At    time.Time `json:"at"`
	By    string    `json:"by"` // us, plan (a dry run's) or site
	Verb  string    `json:"verb"`
	Job   string    `json:"job"`
	Tasks []string  `json:"tasks,omitempty"`
	Err   error     `json:"-"`
	Error string    `json:"error,omitempty"`
}

// Round polls, decides and acts once. An error says that the cluster could
// not be asked, or that it is not known whether it did what it was told.
func (l *Loop) Round(ctx context.Context) error {
	nodes, err := l.Cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	jobs, err := l.Cluster.Jobs(ctx, time.Time{})
	if err != nil {
		return err
	}
	jobs = slices.DeleteFunc(jobs, func(j Job) bool { return j.Gone })
	now := l.Now()
	if l.Dry {
		l.watch(now, jobs)
	}
	l.postpone(now, jobs)
	actions, err := l.Decider.Decide(now, nodes, jobs)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if err := l.act(ctx, now, a); err != nil {
			return err
		}
	}
	return nil
}

// postpone holds the jobs whose start failed lately, for this round.
func (l *Loop) postpone(now time.Time, jobs []Job) {
	later := make(map[string]time.Time, len(l.later))
	for i := range jobs {
		j := &jobs[i]
		if j.State != maui.JobIdle {
			continue
		}
		until := l.later[j.ID]
		if l.begun[j.ID] && until.IsZero() {
			until = now.Add(2 * l.Defer)
		}
		if until.After(now) {
			j.State, later[j.ID] = maui.JobHeld, until
		}
	}
	l.later, l.begun = later, map[string]bool{}
}

// act does one thing. What the resource manager refuses is told and left.
func (l *Loop) act(ctx context.Context, now time.Time, a maui.Action) error {
	e := Event{At: now, By: "us", Verb: a.Verb, Job: a.Job, Tasks: a.TaskList}
	if l.Dry {
		e.By = "plan"
		l.Tell(e)
		return nil
	}
	switch a.Verb {
	case StartJob:
		e.Err = l.Cluster.Start(ctx, a.Job, a.TaskList)
	case CancelJob:
		e.Err = l.Cluster.Cancel(ctx, a.Job, a.Type)
	case SuspendJob:
		e.Err = l.Cluster.Suspend(ctx, a.Job)
	case ResumeJob:
		e.Err = l.Cluster.Resume(ctx, a.Job)
	}
	if e.Err != nil {
		e.Error = e.Err.Error()
	}
	l.Tell(e)
	failed, ok := errors.AsType[*plugins.Error](e.Err)
	switch {
	case a.Verb != StartJob:
	case e.Err == nil:
		l.begun[a.Job] = true
	case ok && (failed.Kind == plugins.Refused || failed.Kind == plugins.Uncertain):
		l.later[a.Job] = now.Add(l.Defer)
	}
	if ok && failed.Kind == plugins.Refused {
		return nil
	}
	return e.Err
}

// watch tells which jobs the site started since the last round.
func (l *Loop) watch(now time.Time, jobs []Job) {
	states := make(map[string]maui.JobState, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		states[j.ID] = j.State
		if was, known := l.before[j.ID]; j.State == maui.JobRunning && l.before != nil && (!known || was != maui.JobRunning) {
			l.Tell(Event{At: now, By: "site", Verb: StartJob, Job: j.ID, Tasks: j.TaskList})
		}
	}
	l.before = states
}

// Maui decides as Maui does.
type Maui struct{ Scheduler *maui.Scheduler }

// Decide implements Decider.
func (m Maui) Decide(now time.Time, nodes []Node, jobs []Job) ([]maui.Action, error) {
	plainNodes, plainJobs := make([]maui.Node, len(nodes)), make([]maui.Job, len(jobs))
	for i := range nodes {
		if plainNodes[i] = nodes[i].Node; nodes[i].Free == 0 && nodes[i].State == maui.NodeIdle {
			plainNodes[i].State = maui.NodeBusy // APROC=0 keeps Maui from a node whatever its STATE
		}
	}
	for i := range jobs {
		plainJobs[i] = jobs[i].Job
	}
	return m.Scheduler.Iterate(now.Unix(), plainNodes, plainJobs), nil
}

// NewDecider makes the decider of a policy; the configuration is for maui.
func NewDecider(policy string, config *maui.Config) (Decider, error) {
	if policy == "maui" {
		if config == nil {
			config = maui.NewConfig()
		}
		return Maui{maui.New(config)}, nil
	}
	p := batch.Policy{Name: policy}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if config != nil {
		return nil, fmt.Errorf("a maui.cfg is for the policy maui, not %s", policy)
	}
	return Engine{&batch.Forecaster{Policy: p}}, nil
}
