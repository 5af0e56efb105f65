package wiki

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/maui"
	"gridbroker/plugins"
)

// Presented is a Manager that shows another batch system's nodes and jobs. It
// is for watching only, unless the reader is a Starter: who schedules that
// system is its own affair. A poll, which asks for nodes and then for jobs, is
// answered with one reading of the batch system, and so with one picture of it.
type Presented struct {
	Reader plugins.QueueReader

	mu      sync.Mutex
	last    batch.State
	left    map[string]bool // the verbs that last has not answered
	read    time.Time       // when last was read
	changed int             // commands carried out, begun ones too
}

// pollTakes is how long a poll may take: for so long a reading that answered one
// verb answers the other as well.
const pollTakes = 2 * time.Second

// picture is the batch system for an answer to a verb. No reading answers one
// verb twice, or any after a command.
func (p *Presented) picture(ctx context.Context, verb string) (batch.State, error) {
	p.mu.Lock()
	if p.left[verb] && time.Since(p.read) < pollTakes {
		delete(p.left, verb)
		defer p.mu.Unlock()
		return p.last, nil
	}
	changed, began := p.changed, time.Now()
	p.mu.Unlock()
	s, err := p.Reader.Queue(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && changed == p.changed {
		p.last, p.read, p.left = s, began, map[string]bool{GetNodes: true, GetJobs: true}
		delete(p.left, verb)
	}
	return s, err
}

// change notes that a command is about to be carried out, or was.
func (p *Presented) change() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed++
	p.left = nil
}

// Nodes implements Manager.
func (p *Presented) Nodes(ctx context.Context) ([]Node, error) {
	s, err := p.picture(ctx, GetNodes)
	if err != nil {
		return nil, err
	}
	used := map[string]int{}
	for i := range s.Jobs {
		for _, on := range s.Jobs[i].Placed {
			used[on.Node] += on.Procs
		}
	}
	list := make([]Node, len(s.Nodes))
	for i := range s.Nodes {
		list[i] = presentedNode(&s.Nodes[i], s.Queues, used[s.Nodes[i].Name])
		list[i].Updated = s.Now
	}
	return list, nil
}

func presentedNode(n *batch.Node, queues []batch.Queue, used int) Node {
	out := Node{Node: maui.Node{Name: n.Name, Procs: int64(n.CPUs), Memory: n.Memory, Disk: n.Disk, GPUs: int64(n.GPUs), Features: n.Features}}
	out.Free = int64(max(0, n.CPUs-used))
	out.Classes = map[string]int64{}
	for _, q := range n.Queues {
		out.Classes[q] = int64(n.CPUs)
	}
	for i := range queues { // a node that names none serves all
		if len(n.Queues) == 0 {
			out.Classes[queues[i].Name] = int64(n.CPUs)
		}
	}
	switch {
	case !n.Up && used > 0:
		out.State = maui.NodeDraining
	case !n.Up:
		out.State = maui.NodeDown
	case out.Free == 0:
		out.State = maui.NodeBusy
	case used > 0:
		out.State = maui.NodeRunning
	}
	return out
}

// Jobs implements Manager.
func (p *Presented) Jobs(ctx context.Context) ([]Job, error) {
	s, err := p.picture(ctx, GetJobs)
	if err != nil {
		return nil, err
	}
	u, ok := p.Reader.(interface{ Undivided() bool })
	undivided := ok && u.Undivided()
	list := make([]Job, len(s.Jobs))
	for i := range s.Jobs {
		list[i] = presentedJob(&s.Jobs[i])
		if undivided {
			list[i].undivide()
		}
		if t, ok := p.Reader.(Starter); ok && list[i].State == maui.JobRunning && t.Suspended(s.Jobs[i].ID) {
			list[i].State = maui.JobSuspended
		}
		list[i].Updated = s.Now
	}
	return list, nil
}

func presentedJob(b *batch.Job) Job {
	j := Job{Job: maui.Job{
		ID: plain(b.ID), User: plain(b.User), Group: plain(b.Group), Account: plain(b.Account), Class: plain(b.Queue), QOS: plain(b.QOS),
		Tasks: int64(b.Procs), Nodes: int64(b.Nodes), Memory: b.Memory, Features: b.Features,
		Limit: int64(b.Requested.Seconds()), Queued: b.Submitted.Unix(),
	}}
	if b.Procs > 0 {
		j.Disk = b.Disk / int64(b.Procs)
	}
	if b.GPUs > 0 {
		j.divide(int64(max(1, b.Nodes)), int64(b.GPUs))
	}
	if !b.Begin.IsZero() {
		j.Begin = b.Begin.Unix()
	}
	switch {
	case !b.Started.IsZero():
		j.State, j.Started = maui.JobRunning, b.Started.Unix()
	case b.Held || len(b.After) > 0:
		j.State = maui.JobHeld
	}
	for _, on := range b.Placed {
		j.TaskList = append(j.TaskList, slices.Repeat([]string{on.Node}, max(0, on.Procs/int(max(1, j.TaskProcs))))...)
	}
	return j
}

// divide makes a task for each node of a job that asks for GPUs: they are asked for
// by the node, what a task asks for binds.
func (j *Job) divide(nodes, gpus int64) {
	j.GPUs = gpus
	if each := j.Tasks / nodes; each > 1 && each*nodes == j.Tasks {
		j.Tasks, j.TaskProcs, j.Memory, j.Disk = nodes, each, j.Memory*each, j.Disk*each
	}
}

// undivide makes one task of a job that runs on one node whatever it asks for:
// NODES and TASKPERNODE do not bind Maui, DPROCS does.
func (j *Job) undivide() {
	n := max(1, j.Tasks)
	j.Tasks, j.TaskProcs, j.Nodes, j.Memory, j.Disk = 1, n*max(1, j.TaskProcs), 0, j.Memory*n, j.Disk*n
	j.TaskList = slices.Compact(j.TaskList)
}

// plain is a name without what would break a record.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name)
}

// Starter is a batch system that starts, ends, suspends and resumes jobs when it
// is told to, as Manager has it, and says which are suspended.
type Starter interface {
	Start(ctx context.Context, id string, tasks []string) error
	Cancel(ctx context.Context, id, why string) error
	Suspend(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
	Suspended(id string) bool
}

// act lets the batch system do something, if it does what it is told.
func (p *Presented) act(do func(s Starter) error) error {
	s, ok := p.Reader.(Starter)
	if !ok {
		return &StatusError{CodeRefused, "this cluster is shown, not to be scheduled"}
	}
	p.change()
	defer p.change()
	err := do(s)
	var failed *plugins.Error
	if errors.As(err, &failed) && failed.Kind == plugins.Refused {
		return &StatusError{CodeRefused, cmp.Or(failed.Said, fmt.Sprint(failed.Err))}
	}
	return err
}

// Start implements Manager.
func (p *Presented) Start(ctx context.Context, id string, tasks []string) error {
	return p.act(func(s Starter) error { return s.Start(ctx, id, tasks) })
}

// Cancel implements Manager.
func (p *Presented) Cancel(ctx context.Context, id, why string) error {
	return p.act(func(s Starter) error { return s.Cancel(ctx, id, why) })
}

// Suspend implements Manager.
func (p *Presented) Suspend(ctx context.Context, id string) error {
	return p.act(func(s Starter) error { return s.Suspend(ctx, id) })
}

// Resume implements Manager.
func (p *Presented) Resume(ctx context.Context, id string) error {
	return p.act(func(s Starter) error { return s.Resume(ctx, id) })
}

// Requeue implements Requeuer, for batch systems that do.
func (p *Presented) Requeue(ctx context.Context, id string) error {
	return p.act(func(s Starter) error {
		if r, ok := s.(Requeuer); ok {
			return r.Requeue(ctx, id)
		}
		return &StatusError{CodeFormat, RequeueJob + " is not possible here"}
	})
}
