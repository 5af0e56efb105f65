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

// layered follows a DAG of ten layers, each of ten nodes that come after all of the one before, by a clock that passes as
// the looks take. over is how long the nth node of a layer lasts, look how long a look takes so long after a layer was sent.
func layered(t *testing.T, over func(n int) time.Duration, look func(since time.Duration) time.Duration) (took time.Duration, looks int) {
	const layers, wide = 10, 10
	b, f := rig(t)
	clock := &passing{now: start}
	b.Clock = clock
	var sent, seen time.Time // the last layer, and the end of the last look
	var since time.Duration  // from the former to the beginning of the latter
	nth := map[string]int{}
	f.answer = func(_, id string) error {
		sent = clock.now
		nth["their-"+id] = len(nth) % wide
		return nil
	}
	f.status = func(h plugins.Handle) plugins.Status {
		if clock.now != seen {
			since = clock.now.Sub(sent)
			clock.now = clock.now.Add(look(since))
			seen, looks = clock.now, looks+1
		}
		if since < over(nth[h.ID]) {
			return plugins.Status{State: plugins.Running}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	dag := &jdl.JobSet{Kind: jdl.DAG}
	for i := range layers * wide {
		dag.Jobs = append(dag.Jobs, stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) {
			j.Node = fmt.Sprint("n", i)
			for k := range wide {
				if i >= wide {
					j.After = append(j.After, fmt.Sprint("n", i/wide*wide-wide+k))
				}
			}
		}))
	}
	rs := submit(t, b, []*glue.Resource{site("a")}, dag)
	if err := b.Wait(context.Background(), rs, jobs.Waiting{Discover: always(site("a"))}); err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if r.State != plugins.Done {
			t.Fatalf("node %s is %s", r.Node, r.State)
		}
	}
	return clock.now.Sub(start), looks
}

// TestLastNodesOfALayer: where a look finds all nodes of a layer but one ended, the next one comes soon, although it
// took long to take in how these ended.
func TestLastNodesOfALayer(t *testing.T) {
	over := func(n int) time.Duration { return 2*time.Second + time.Duration(n/9)*time.Second }
	took, looks := layered(t, over, func(time.Duration) time.Duration { return 350 * time.Millisecond })
	if took > 44*time.Second || looks > 42 {
		t.Errorf("%v, %d looks", took, looks)
	}
}

// TestLookAtABusyServer: a look that takes long since the batch system is starting what was sent holds the next one up less
// than where all looks take as long.
func TestLookAtABusyServer(t *testing.T) {
	over := func(int) time.Duration { return 1500 * time.Millisecond }
	took, looks := layered(t, over, func(since time.Duration) time.Duration {
		if since > 700*time.Millisecond && since < 1400*time.Millisecond {
			return 600 * time.Millisecond
		}
		return 50 * time.Millisecond
	})
	if took > 30*time.Second || looks > 34 {
		t.Errorf("%v, %d looks", took, looks)
	}
}
