package jobs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// passing is a clock that only waiting moves.
type passing struct {
	now   time.Time
	waits []time.Duration
}

func (p *passing) Now() time.Time { return p.now }

func (p *passing) After(d time.Duration) <-chan time.Time {
	p.now, p.waits = p.now.Add(d), append(p.waits, d)
	c := make(chan time.Time, 1)
	c <- p.now
	return c
}

// TestSlowLooksHoldNoChainUp: where a look takes two seconds, the nodes of a DAG wait for the next one no longer than that;
// a job that runs for an hour is looked at after five times as long.
func TestSlowLooksHoldNoChainUp(t *testing.T) {
	b, f := rig(t)
	clock := &passing{now: start}
	b.Clock = clock
	began := map[string]time.Time{}
	f.answer = func(_, id string) error {
		began["their-"+id] = clock.now
		return nil
	}
	runs := time.Second
	f.status = func(h plugins.Handle) plugins.Status {
		clock.now = clock.now.Add(2 * time.Second)
		if clock.now.Sub(began[h.ID]) < runs {
			return plugins.Status{State: plugins.Running}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	dag := &jdl.JobSet{Kind: jdl.DAG}
	const nodes = 20
	for i := range nodes {
		dag.Jobs = append(dag.Jobs, stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) {
			if j.Node = fmt.Sprint("n", i); i > 0 {
				j.After = []string{fmt.Sprint("n", i-1)}
			}
		}))
	}
	rs := submit(t, b, []*glue.Resource{site("a")}, dag)
	if err := b.Wait(context.Background(), rs, jobs.Waiting{Discover: always(site("a"))}); err != nil {
		t.Fatal(err)
	}
	if took := clock.now.Sub(start); took > nodes*5*time.Second || rs[nodes-1].State != plugins.Done {
		t.Errorf("%d nodes, each seen by a look of 2 s, took %v; the last is %s", nodes, took, rs[nodes-1].State)
	}
	clock.waits, runs = nil, time.Hour
	rs = submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	if err := b.Wait(context.Background(), rs, jobs.Waiting{}); err != nil {
		t.Fatal(err)
	}
	if n := len(clock.waits); n > 310 {
		t.Errorf("%d looks of 2 s at a job of an hour", n)
	}
}

// TestChainIsFollowedClosely: the nodes of a DAG that each run for three seconds are not held up by looks that grow rarer,
// as those at a job that runs for hours do.
func TestChainIsFollowedClosely(t *testing.T) {
	b, f := rig(t)
	clock := &passing{now: start}
	b.Clock = clock
	began := map[string]time.Time{}
	f.answer = func(_, id string) error { // which takes a second
		clock.now = clock.now.Add(time.Second)
		began["their-"+id] = clock.now
		return nil
	}
	f.status = func(h plugins.Handle) plugins.Status {
		if at := began[h.ID]; clock.now.Sub(at) < 3*time.Second {
			return plugins.Status{State: plugins.Running}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	dag := &jdl.JobSet{Kind: jdl.DAG}
	const nodes = 20
	for i := range nodes {
		dag.Jobs = append(dag.Jobs, stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) {
			if j.Node = fmt.Sprint("n", i); i > 0 {
				j.After = []string{fmt.Sprint("n", i-1)}
			}
		}))
	}
	rs := submit(t, b, []*glue.Resource{site("a")}, dag)
	if err := b.Wait(context.Background(), rs, jobs.Waiting{Discover: always(site("a"))}); err != nil {
		t.Fatal(err)
	}
	if took := clock.now.Sub(start); took > nodes*7*time.Second || rs[nodes-1].State != plugins.Done {
		t.Errorf("%d nodes of 3 s, and one to send each, took %v; the last is %s", nodes, took, rs[nodes-1].State)
	}
	// One that runs for an hour is still looked at every ten seconds alone.
	clock.waits = nil
	f.status = func(h plugins.Handle) plugins.Status {
		if clock.now.Sub(began[h.ID]) < time.Hour {
			return plugins.Status{State: plugins.Running}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	rs = submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	if err := b.Wait(context.Background(), rs, jobs.Waiting{}); err != nil {
		t.Fatal(err)
	}
	if n := len(clock.waits); n > 380 {
		t.Errorf("%d looks at a job of an hour", n)
	}
}
