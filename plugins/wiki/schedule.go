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

	before map[string]maui.JobState // of the last round
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
	var failed *plugins.Error
	if errors.As(e.Err, &failed) && failed.Kind == plugins.Refused {
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

// Engine decides by a policy of the engine: what it forecasts to start at once
// is started.
type Engine struct{ Forecaster *batch.Forecaster }

// Decide implements Decider.
func (g Engine) Decide(now time.Time, nodes []Node, jobs []Job) ([]maui.Action, error) {
	forecast, err := g.Forecaster.Forecast(StateOf("", now, nodes, jobs))
	if err != nil {
		return nil, err
	}
	free := freeNow(nodes, jobs)
	byID := make(map[string]*Job, len(jobs))
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	var actions []maui.Action
	for _, e := range forecast.Jobs {
		if e.Start.After(now) {
			continue
		}
		if tasks, ok := places(byID[e.ID], e.Placed, nodes, free); ok {
			actions = append(actions, maui.Action{Verb: StartJob, Job: e.ID, TaskList: tasks})
		}
	}
	return actions, nil
}

// freeNow is what is free of each node that takes jobs.
func freeNow(nodes []Node, jobs []Job) map[string]int64 {
	free := make(map[string]int64, len(nodes))
	for i := range nodes {
		if n := &nodes[i]; n.State != maui.NodeDown && n.State != maui.NodeDraining {
			free[n.Name] = n.Procs
		}
	}
	for i := range jobs {
		if j := &jobs[i]; j.State == maui.JobRunning {
			for _, n := range j.TaskList {
				free[n] -= max(1, j.TaskProcs)
			}
		}
	}
	return free
}

// places names a node for each task of a job, where it was placed or where
// there is room, and takes it. The room is there unless a job was expected to
// end that has not.
func places(j *Job, placed []batch.Placement, nodes []Node, free map[string]int64) (tasks []string, ok bool) {
	if j == nil {
		return nil, false
	}
	each, left := max(1, j.TaskProcs), j.Tasks
	take := func(name string, most int64) {
		n := min(left, most/each, max(0, free[name])/each)
		for range n {
			tasks = append(tasks, name)
		}
		left -= n
	}
	for _, p := range placed {
		take(p.Node, int64(p.Procs))
	}
	for i := 0; i < len(nodes) && len(placed) == 0 && left > 0; i++ {
		take(nodes[i].Name, nodes[i].Procs)
	}
	if left > 0 {
		return nil, false
	}
	for _, name := range tasks {
		free[name] -= each
	}
	return tasks, true
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
