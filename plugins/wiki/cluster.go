package wiki

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"gridbroker/batch/maui"
)

// Cluster is a simulated cluster: nodes and jobs that begin, run for their
// time and end by the clock. It is a Manager and safe for concurrent use.
type Cluster struct {
	Now  func() time.Time
	Keep time.Duration // ended jobs stay listed so long; 0: five minutes

	mu    sync.Mutex
	farm  farm
	jobs  []*simulated
	index map[string]*simulated
	ends  time.Time // when the next job ends; zero: not known

	journal *journal // nil: nothing outlives the process
}

// simulated is a job of a Cluster.
type simulated struct {
	Job
	run       time.Duration // 0: runs on
	begun     time.Time
	suspended time.Time
	away      time.Duration
}

// NewCluster makes a cluster of nodes without jobs.
func NewCluster(nodes []Node, now func() time.Time) *Cluster {
	return &Cluster{Now: now, farm: farm{slices.Clone(nodes), map[string]int64{}}, index: map[string]*simulated{}}
}

// Submit puts a job in the queue (or on its nodes, where it runs already) that
// runs for a time once started; 0: until it is cancelled. A job whose time in
// the queue begins later is not shown before.
func (c *Cluster) Submit(j Job, run time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.submit(j, run)
}

func (c *Cluster) submit(j Job, run time.Duration) error {
	if c.index[j.ID] != nil || j.ID == "" {
		return fmt.Errorf("job %q is there already, or has no name", j.ID)
	}
	if j.Updated.IsZero() {
		j.Updated = time.Unix(max(j.Queued, c.Now().Unix()), 0)
	}
	if err := c.note(entry{Do: "submit", ID: j.ID, Job: &j, Run: run}); err != nil {
		return err
	}
	s := &simulated{Job: j, run: run}
	if j.State == maui.JobRunning {
		s.begun = time.Unix(j.Started, 0)
		c.farm.take(s, 1)
	}
	c.jobs, c.index[j.ID], c.ends = append(c.jobs, s), s, time.Time{}
	return nil
}

// Nodes implements Manager.
func (c *Cluster) Nodes(context.Context) ([]Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	return c.farm.list(c.Now()), nil
}

// Jobs implements Manager.
func (c *Cluster) Jobs(context.Context) ([]Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	list, now := make([]Job, 0, len(c.jobs)), c.Now().Unix()
	for _, j := range c.jobs {
		if j.Queued <= now {
			list = append(list, j.Job)
		}
	}
	return list, nil
}

// tick ends what is over and forgets what has been for long.
func (c *Cluster) tick() {
	now := c.Now()
	if !c.ends.IsZero() && now.Before(c.ends) {
		return
	}
	keep := c.Keep
	if keep == 0 {
		keep = 5 * time.Minute
	}
	next := now.Add(time.Hour)
	for _, j := range c.jobs {
		switch {
		case j.Gone:
			next = sooner(next, j.Ended.Add(keep))
		case j.State == maui.JobRunning && j.run > 0:
			end := j.begun.Add(j.run + j.away)
			if !now.Before(end) {
				c.end(j, "Completed", end)
				end = j.Ended.Add(keep)
			}
			next = sooner(next, end)
		}
	}
	c.jobs = slices.DeleteFunc(c.jobs, func(j *simulated) bool {
		old := j.Gone && now.Sub(j.Ended) >= keep
		if old {
			delete(c.index, j.ID)
		}
		return old
	})
	c.ends = next
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// end ends a job with a word.
func (c *Cluster) end(j *simulated, word string, at time.Time) {
	if j.State == maui.JobRunning {
		c.farm.take(j, -1)
	}
	j.Word, j.Gone, j.Ended, j.Updated = word, true, at, c.Now()
}

// find looks a job up that is in one of some states.
func (c *Cluster) find(id string, states ...maui.JobState) (*simulated, error) {
	c.tick()
	j := c.index[id]
	switch {
	case j == nil || j.Gone || j.Queued > c.Now().Unix():
		return nil, &StatusError{CodeRefused, "no such job"}
	case !slices.Contains(states, j.State):
		return nil, &StatusError{CodeRefused, fmt.Sprintf("job %s is %s", id, jobWords[j.State])}
	}
	return j, nil
}

// Start implements Manager.
func (c *Cluster) Start(_ context.Context, id string, tasks []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start(id, tasks)
}

func (c *Cluster) start(id string, tasks []string) error {
	j, err := c.find(id, maui.JobIdle)
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		tasks = c.farm.anywhere(j)
	}
	if int64(len(tasks)) < j.Tasks {
		return &StatusError{CodeNoResources, fmt.Sprintf("%d tasks, job %s has %d", len(tasks), id, j.Tasks)}
	}
	if err := c.farm.room(j, tasks); err != nil {
		return err
	}
	if err := c.note(entry{Do: "start", ID: id, Tasks: tasks}); err != nil {
		return err
	}
	now := c.Now()
	j.State, j.begun, j.Started, j.TaskList, j.Updated = maui.JobRunning, now, now.Unix(), slices.Clone(tasks), now
	c.farm.take(j, 1)
	c.ends = time.Time{}
	return nil
}

// Cancel implements Manager.
func (c *Cluster) Cancel(_ context.Context, id, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancel(id)
}

func (c *Cluster) cancel(id string) error {
	j, err := c.find(id, maui.JobIdle, maui.JobHeld, maui.JobRunning, maui.JobSuspended)
	if err != nil {
		return err
	}
	if err := c.note(entry{Do: "cancel", ID: id}); err != nil {
		return err
	}
	c.end(j, "Removed", c.Now())
	return nil
}

// Suspend implements Manager.
func (c *Cluster) Suspend(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.suspend(id)
}

func (c *Cluster) suspend(id string) error {
	j, err := c.find(id, maui.JobRunning)
	if err != nil {
		return err
	}
	if err := c.note(entry{Do: "suspend", ID: id}); err != nil {
		return err
	}
	c.farm.take(j, -1)
	j.State, j.suspended, j.Updated = maui.JobSuspended, c.Now(), c.Now()
	return nil
}

// Resume implements Manager.
func (c *Cluster) Resume(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resume(id)
}

func (c *Cluster) resume(id string) error {
	j, err := c.find(id, maui.JobSuspended)
	if err != nil {
		return err
	}
	if err := c.farm.room(j, j.TaskList); err != nil {
		return err
	}
	if err := c.note(entry{Do: "resume", ID: id}); err != nil {
		return err
	}
	c.farm.take(j, 1)
	j.away += c.Now().Sub(j.suspended)
	j.State, j.Updated, c.ends = maui.JobRunning, c.Now(), time.Time{}
	return nil
}

// Requeue implements Requeuer.
func (c *Cluster) Requeue(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requeue(id)
}

func (c *Cluster) requeue(id string) error {
	j, err := c.find(id, maui.JobRunning, maui.JobSuspended)
	if err != nil {
		return err
	}
	if err := c.note(entry{Do: "requeue", ID: id}); err != nil {
		return err
	}
	if j.State == maui.JobRunning {
		c.farm.take(j, -1)
	}
	j.State, j.Started, j.TaskList, j.away, j.Updated = maui.JobIdle, 0, nil, 0, c.Now()
	return nil
}

// Modify implements Modifier: PARTITION, NODES, HOSTLIST, BANK and TIMELIMIT
// (minutes, as Slurm stores it) of waiting jobs.
func (c *Cluster) Modify(_ context.Context, id string, params []Param) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.modify(id, params)
}

func (c *Cluster) modify(id string, params []Param) error {
	j, err := c.find(id, maui.JobIdle, maui.JobHeld)
	if err != nil {
		return err
	}
	names := map[string]string{"PARTITION": "PARTITIONMASK", "NODES": "NODES", "HOSTLIST": "HOSTLIST", "BANK": "ACCOUNT", "TIMELIMIT": "WCLIMIT"}
	to := j.Job
	for _, p := range params {
		if !utf8.ValidString(p.Value) { // which the journal could not hold
			return &StatusError{CodeFormat, "cannot change " + p.Name + " to what is no text"}
		}
		if names[p.Name] == "" || !maui.SetField(&to.Job, names[p.Name], p.Value) {
			return &StatusError{CodeFormat, "cannot change " + p.Name}
		}
		if p.Name == "TIMELIMIT" {
			to.Limit *= 60
		}
	}
	to.bound()
	if err := c.note(entry{Do: "modify", ID: id, Params: params}); err != nil {
		return err
	}
	j.Job, j.Updated = to, c.Now()
	return nil
}
