package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/swf"
)

// cluster is the machine of --nodes: equal nodes that share the processors as
// evenly as may be, and the queues of --queue.
func (f queueOptions) cluster(procs int) (batch.State, error) {
	s := batch.State{Now: time.Unix(0, 0).UTC(), Cluster: f.trace}
	if f.nodes > procs {
		return s, fmt.Errorf("--nodes %d: the machine has %d processors", f.nodes, procs)
	}
	for i := range f.nodes {
		cpus := procs*(i+1)/f.nodes - procs*i/f.nodes
		s.Nodes = append(s.Nodes, batch.Node{Name: fmt.Sprint("n", i+1), CPUs: cpus, Memory: f.memory, Up: true})
	}
	for _, text := range f.queues {
		if err := addQueue(&s, text); err != nil {
			return s, fmt.Errorf("--queue %s: %w", text, err)
		}
	}
	return s, nil
}

// addQueue reads "NUMBER:KEY=VALUE,...".
func addQueue(s *batch.State, text string) error {
	name, limits, ok := strings.Cut(text, ":")
	if _, err := strconv.Atoi(name); err != nil || !ok {
		return errors.New("want NUMBER:KEY=VALUE, and further KEY=VALUE behind commas")
	}
	q := batch.Queue{Name: name}
	for limit := range strings.SplitSeq(limits, ",") {
		key, value, _ := strings.Cut(limit, "=")
		if key == "nodes" {
			if err := serve(s, name, value); err != nil {
				return err
			}
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1<<30 {
			return fmt.Errorf("%s=%s: want a number, 0 or more", key, value)
		}
		switch key {
		case "priority":
			q.Priority = n
		case "max-procs":
			q.MaxProcs = n
		case "max-running":
			q.MaxRunning = n
		case "max-wall":
			q.MaxWallTime = time.Duration(n) * time.Second
		default:
			return fmt.Errorf("%s: want priority, max-procs, max-running, max-wall or nodes", key)
		}
	}
	s.Queues = append(s.Queues, q)
	return nil
}

// serve gives a queue the nodes FIRST-LAST.
func serve(s *batch.State, queue, nodes string) error {
	from, to, ok := strings.Cut(nodes, "-")
	if !ok {
		to = from
	}
	first, err := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err != nil || err2 != nil || first < 1 || last < first || last > len(s.Nodes) {
		return fmt.Errorf("nodes=%s: want FIRST-LAST, from 1 to %d", nodes, len(s.Nodes))
	}
	for i := first - 1; i < last; i++ {
		s.Nodes[i].Queues = append(s.Nodes[i].Queues, queue)
	}
	return nil
}

// nodeReplay is a replay over nodes.
type nodeReplay struct {
	engine  *batch.Engine
	tasks   map[string]batch.Task // of jobs that have not started
	sum     *batch.Summary
	starts  []int64
	refused map[batch.Cause]int
}

// simNodes replays the trace over nodes and queues.
func simNodes(ctx context.Context, d *deps, f queueOptions, p batch.Policy, in *traceInput, jobs swf.Jobs) (*queueRun, error) {
	state, err := f.cluster(in.cleaner.Procs)
	if err != nil {
		return nil, usageError(err)
	}
	r := &nodeReplay{tasks: map[string]batch.Task{}, sum: batch.NewSummary(in.cleaner.Procs), refused: map[batch.Cause]int{}}
	if r.engine, err = batch.NewEngine(state, p); err != nil {
		return nil, err
	}
	r.engine.Observe(r.started)
	begin := d.env.Now()
	for j, err := range jobs {
		if err == nil {
			err = r.submit(in.task(j), j, f.memory > 0)
		}
		if err == nil && j.ID%1000 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	for r.engine.Step() && ctx.Err() == nil {
	}
	for _, left := range r.engine.Refused() {
		r.refused[left.Cause]++
	}
	if f.starts != "" {
		if err := writeStarts(abs(d, f.starts), r.starts); err != nil {
			return nil, err
		}
	}
	run := in.result(p.Name, r.sum, d.env.Now().Sub(begin))
	run.Nodes, run.Refused = f.nodes, r.refused
	return run, errors.Join(ctx.Err(), r.report(d))
}

// longestTask bounds what a job takes on nodes, in seconds: a century.
const longestTask = 100 * 365 * 86400

func (r *nodeReplay) submit(t batch.Task, j swf.Job, memory bool) error {
	if max(t.Run, t.Limit) > longestTask {
		return fmt.Errorf("line %d: job %d takes %d s, longer than a century: no nodes hold it", j.Line, j.Original, max(t.Run, t.Limit))
	}
	id := strconv.FormatInt(t.ID, 10)
	job := batch.Job{
		ID: id, User: strconv.FormatInt(j.User, 10), Group: strconv.FormatInt(j.Group, 10), Procs: t.Procs,
		Requested: time.Duration(t.Limit) * time.Second, Submitted: time.Unix(t.Submit, 0).UTC(),
	}
	if j.Queue >= 0 {
		job.Queue = strconv.FormatInt(j.Queue, 10)
	}
	if memory && j.Memory > 0 {
		job.Memory = (j.Memory + 1023) / 1024
	}
	r.tasks[id] = t
	var refused *batch.RefusedError
	if err := r.engine.Submit(job, time.Duration(t.Run)*time.Second); errors.As(err, &refused) {
		r.refused[refused.Cause]++
		delete(r.tasks, id)
	} else if err != nil {
		return err
	}
	return nil
}

// started takes in a start.
func (r *nodeReplay) started(e batch.Event) {
	if e.Kind != batch.Started {
		return
	}
	t := r.tasks[e.Job.ID]
	delete(r.tasks, e.Job.ID)
	r.sum.Add(batch.Start{Task: t, Start: e.At.Unix()})
	for int64(len(r.starts)) < t.ID {
		r.starts = append(r.starts, -1)
	}
	r.starts[t.ID-1] = e.At.Unix()
}

// report says how many jobs the machine would not take.
func (r *nodeReplay) report(d *deps) error {
	for _, cause := range slices.Sorted(maps.Keys(r.refused)) {
		if err := sayErr(d, "%s refused: %s", counted(r.refused[cause], "job"), cause); err != nil {
			return err
		}
	}
	return nil
}
