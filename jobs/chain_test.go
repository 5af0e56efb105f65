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
	followsChain(t, pace{looks: 2 * time.Second, runs: time.Second, each: 5 * time.Second, most: 310})
}

// TestChainIsFollowedClosely: the nodes of a DAG, however long each runs, are held up by an eighth of that and a fifth of a
// second: not by looks that grow rarer, as those at a job that runs for hours do. That is looked at every ten seconds alone.
func TestChainIsFollowedClosely(t *testing.T) {
	for _, runs := range []time.Duration{time.Second, 1600 * time.Millisecond, 3400 * time.Millisecond} {
		followsChain(t, pace{sends: time.Second, runs: runs, each: 1200*time.Millisecond + runs*9/8, most: 400})
	}
}

// TestShortNodesAreFollowedClosely: nodes that run for a third of a second wait for the next look as long again at most.
func TestShortNodesAreFollowedClosely(t *testing.T) {
	followsChain(t, pace{runs: 300 * time.Millisecond, each: 600 * time.Millisecond, most: 400})
}

// pace says how long sending a job takes, a look, and the job; within what time each node of a chain is to have ended, and
// how many looks at a job of an hour are the most.
type pace struct {
	sends, looks, runs, each time.Duration
	most                     int
}

// followsChain follows a DAG whose nodes come one after the other, and then a job of an hour.
func followsChain(t *testing.T, c pace) {
	b, f := rig(t)
	clock := &passing{now: start}
	b.Clock = clock
	began := map[string]time.Time{}
	f.answer = func(_, id string) error {
		clock.now = clock.now.Add(c.sends)
		began["their-"+id] = clock.now
		return nil
	}
	f.status = func(h plugins.Handle) plugins.Status {
		clock.now = clock.now.Add(c.looks)
		if clock.now.Sub(began[h.ID]) < c.runs {
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
	if took := clock.now.Sub(start); took > nodes*c.each || rs[nodes-1].State != plugins.Done {
		t.Errorf("%d nodes took %v; the last is %s", nodes, took, rs[nodes-1].State)
	}
	clock.waits, c.runs = nil, time.Hour
	rs = submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	if err := b.Wait(context.Background(), rs, jobs.Waiting{}); err != nil {
		t.Fatal(err)
	}
	if n := len(clock.waits); n > c.most {
		t.Errorf("%d looks at a job of an hour", n)
	}
}
