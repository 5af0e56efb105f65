package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

const (
	// mostScripts is how many scripts run at once, as many as DAGMan has of either kind.
	mostScripts = 20
	// mostWaiting is how many jobs' scripts are begun or wait for that at once.
	mostWaiting = 1000
)

// scripting is what runs beside the looks.
type scripting struct {
	lanes
	turn chan struct{} // one for each that runs
}

// scripted takes care of the nodes with scripts among the jobs that are due, and of those whose PostScript is. It
// returns those that are to be sent.
func (f *following) scripted(ctx context.Context, due []*Outcome) (send []*Outcome, err error) {
	var scripts, again, none []*Outcome
	for _, o := range due {
		switch {
		case o.Scripts == nil:
			send = append(send, o)
		case o.Final():
			again = append(again, o)
		case OwesScript(o.Record) != "":
			scripts = append(scripts, o)
		case o.Scripts.NoJob:
			none = append(none, o)
		default:
			send = append(send, o)
		}
	}
	now, away := f.now(), f.away()
	for _, o := range f.jobs {
		early := o.NotBefore.Sub(now)
		if awaitsPost(o.Record) && !away[o.ID] && f.free(o.Record) && early <= 0 {
			scripts = append(scripts, o)
		}
	}
	if err := tryAgain(ctx, f, again, now); err != nil {
		return nil, err
	}
	err = f.apply(ctx, none, func(r *Record) Event {
		if r.State != plugins.Intended || !f.free(r) {
			return nil
		}
		return LeftOut{}
	})
	if err != nil {
		return nil, err
	}
	f.sent = f.sent || len(again)+len(none)+len(scripts) > 0
	return send, f.runScripts(ctx, scripts)
}

// runScripts runs scripts beside the looks, and waits a little for their ends.
func (f *following) runScripts(ctx context.Context, os []*Outcome) error {
	if len(os) == 0 {
		return nil
	}
	var begun []*lane
	for _, o := range os {
		if n := f.scripts.enter("", []*Outcome{o}, mostWaiting); n != nil {
			begun = append(begun, n)
			go f.script(ctx, n, f.meaning(n.jobs[0]))
		}
	}
	return awaitBegun(ctx, f, begun)
}

// script runs the script that a job owes.
func (f *following) script(ctx context.Context, n *lane, meant func(arg string) string) {
	defer close(n.through)
	select {
	case f.scripts.turns() <- struct{}{}:
		defer func() { <-f.scripts.turns() }()
	case <-ctx.Done():
		return
	}
	o := n.jobs[0]
	job, err := o.Job()
	if err == nil {
		err = f.runOne(ctx, o, job, meant)
	}
	if ctx.Err() == nil {
		n.err = err
	}
}

// turns are the places of those that run.
func (s *scripting) turns() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		s.turn = make(chan struct{}, mostScripts)
	}
	return s.turn
}

// runOne records that a script runs, runs it, and records how it ended.
func (f *following) runOne(ctx context.Context, o *Outcome, job *jdl.Job, meant func(arg string) string) error {
	post, s := awaitsPost(o.Record), job.Pre
	if post {
		s = job.Post
	}
	if s == nil {
		return fmt.Errorf("job %s: its description has no %s", o.ID, OwesScript(o.Record))
	}
	lease, err := f.Store.Lease(newIDs(f.now(), 1)[0])
	if err != nil {
		return err
	}
	defer lease.End()
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = meant(a)
	}
	shown := jdl.Script{Command: s.Command, Args: args}
	one := []*Outcome{o}
	owes := OwesScript(o.Record)
	err = f.apply(ctx, one, func(r *Record) Event {
		if OwesScript(r) != owes || !f.free(r) || !r.Cancelled.IsZero() {
			return nil
		}
		return ScriptBegun{Post: post, Owner: lease.Name(), What: shown.String()}
	})
	if err != nil || o.Err != nil || o.Owner != lease.Name() {
		return err
	}
	if post {
		f.layOutputs(ctx, o, s)
		for _, p := range judgedRecords(ctx, f.Controller, o) {
			f.layOutputs(ctx, p, leftFor(s, p.Node))
		}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go endCancelled(ctx, f.Controller, o.ID, lease.Name(), end)
	exit, said, stopped := runScript(ctx, f.Clock.After, s, args)
	return f.apply(context.WithoutCancel(ctx), one, func(r *Record) Event {
		switch {
		case r.Owner != lease.Name() || r.Final():
			return nil
		case stopped:
			return ScriptStopped{Post: post}
		}
		return ScriptEnded{Post: post, Exit: exit, Said: said, Script: s}
	})
}

// scriptLook is the time between two looks whether the job of a script that runs was cancelled.
const scriptLook = time.Second

// endCancelled ends a script when its job is cancelled, by whatever process, or is somebody else's.
func endCancelled(ctx context.Context, c *Controller, id, owner string, end func()) {
	for {
		select {
		case <-c.Clock.After(scriptLook):
		case <-ctx.Done():
			return
		}
		found, err := c.Store.Find(ctx, []string{id})
		if _, forgotten := errors.AsType[*IDError](err); forgotten || err == nil && (found[0].Owner != owner || !found[0].Cancelled.IsZero()) {
			end()
			return
		}
	}
}

// meaning tells what the arguments of a job's scripts stand for: those of DAGMan.
func (f *following) meaning(o *Outcome) func(arg string) string {
	var counts *dagCounts
	dag := func() *dagCounts {
		if counts == nil {
			counts = f.counts(o)
		}
		return counts
	}
	post := awaitsPost(o.Record)
	all := sync.OnceValue(func() []*Outcome { return judgedRecords(context.Background(), f.Controller, o) })
	return func(arg string) string {
		switch arg {
		case "$JOB", "$NODE":
			return o.Node
		case "$RETRY":
			return strconv.Itoa(o.Retries + o.Shallow)
		case "$MAX_RETRIES":
			job, err := o.Job()
			if err != nil {
				return arg
			}
			if !job.RetryAnyExit && len(job.RetryOnExit) == 0 { // a site's fault alone brings another try
				return "0"
			}
			return strconv.Itoa(job.RetryCount)
		case "$DAGID":
			return o.Parent
		case "$DAG_STATUS":
			return strconv.Itoa(dag().status)
		case "$FAILED_COUNT":
			return strconv.Itoa(dag().failed)
		case "$DONE_COUNT":
			return strconv.Itoa(dag().done)
		case "$FUTILE_COUNT":
			return strconv.Itoa(dag().futile)
		case "$QUEUED_COUNT":
			return strconv.Itoa(dag().queued)
		case "$NODE_COUNT":
			return strconv.Itoa(dag().nodes)
		}
		if parts := all(); post && len(parts) > 0 {
			return meansForAll(parts, arg)
		}
		if post {
			return meansAfter(o.Record, arg)
		}
		return arg
	}
}

// meansAfter is what an argument of a PostScript stands for.
func meansAfter(r *Record, arg string) string {
	code := returned(r)
	switch arg {
	case "$RETURN", "$EXIT_CODES":
		return strconv.Itoa(code)
	case "$EXIT_CODE_COUNTS":
		return strconv.Itoa(code) + ":1"
	case "$JOBID", "$CLUSTERID":
		return r.ID
	case "$JOB_COUNT":
		return "1"
	case "$JOB_ABORT_COUNT":
		if r.Scripts.JobState == plugins.Cancelled {
			return "1"
		}
		return "0"
	case "$SUCCESS":
		if code == 0 {
			return "True"
		}
		return "False"
	case "$PRE_SCRIPT_RETURN":
		if code, ran := r.Scripts.ended(false); ran {
			return strconv.Itoa(code)
		}
		return "-1"
	}
	return arg
}

// returned is the exit code of the job as DAGMan counts: -1002 of one that was removed, and 1 of one that failed without any.
func returned(r *Record) int {
	switch state := jobState(r); {
	case state == plugins.Cancelled:
		return -1002
	case r.ExitCode != nil && (*r.ExitCode != 0 || state == plugins.Done):
		return *r.ExitCode
	case state == plugins.Done:
		return 0
	}
	return 1
}

// jobState is how the job itself ended, before any PostScript.
func jobState(r *Record) plugins.State {
	if r.Scripts != nil && r.Scripts.JobState != "" {
		return r.Scripts.JobState
	}
	return r.State
}

// dagCounts are how the nodes of a DAG are.
type dagCounts struct{ nodes, done, failed, futile, queued, status int }

// counts are those of the DAG of a job, but for itself, as far as its nodes are followed or recorded.
func (f *following) counts(o *Outcome) *dagCounts {
	c := &dagCounts{}
	rs, err := f.Store.Select(context.Background(), Query{Parent: o.Parent})
	if err != nil || o.Parent == "" {
		rs = []*Record{o.Record}
	}
	c.nodes = len(rs)
	failed := map[string]bool{}
	for _, r := range rs {
		failed[r.ID] = r.Failure()
	}
	for _, r := range rs {
		other := &Outcome{Record: r}
		switch {
		case r.ID == o.ID:
		case r.Failure() && r.Attempts == 0 && slices.ContainsFunc(r.After, func(id string) bool { return failed[id] }):
			c.futile++
		case r.Failure():
			c.failed++
		case r.Final():
			c.done++
		case r.State != plugins.Intended:
			c.queued++
		}
		if other.aborts() {
			c.status = 3
		}
	}
	if c.status == 0 && c.failed > 0 {
		c.status = 2
	}
	return c
}

// away are the jobs that something is done for beside the looks, by id.
func (f *following) away() map[string]bool {
	away := f.lanes.away()
	for id := range f.scripts.away() {
		away[id] = true
	}
	return away
}

// unscripted are the jobs that may be sent: those that owe no script, and have a job.
func unscripted(os []*Outcome) []*Outcome {
	return slices.DeleteFunc(slices.Clone(os), func(o *Outcome) bool {
		return o.Scripts != nil && (o.Scripts.NoJob || OwesScript(o.Record) != "")
	})
}
