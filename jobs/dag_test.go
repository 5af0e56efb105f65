package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// The nodes of a DAG start when those before them are done, at most
// MaxRunning at once; after a failed one nothing starts.
func TestDAG(t *testing.T) {
	node := func(name string, after ...string) *jdl.Job {
		return stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) { j.Name, j.Node, j.After = name, name, after })
	}
	for _, failing := range []string{"", "left"} {
		b, f := rig(t)
		var order []string
		names := map[string]string{}
		f.status = func(h plugins.Handle) plugins.Status {
			st := plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
			if n := names[strings.TrimPrefix(h.ID, "their-")]; n == failing {
				st.ExitCode.V = 1
			}
			return st
		}
		f.answer = func(_, id string) error {
			rs, err := b.Store.Find(context.Background(), []string{jobID(id)})
			if err != nil {
				return err
			}
			order, names[id] = append(order, rs[0].Node), rs[0].Node
			return nil
		}
		dag := &jdl.JobSet{Kind: jdl.DAG, Jobs: []*jdl.Job{node("end", "left", "right"), node("left", "top"), node("right", "top"), node("top")}}
		rs := submit(t, b, []*glue.Resource{site("a")}, dag)
		if strings.Join(order, " ") != "top" {
			t.Errorf("sent at once: %v", order)
		}
		wait(t, b, rs, site("a"))
		want := map[string]string{"": "top left right end", "left": "top left right"}[failing]
		if got := strings.Join(order, " "); got != want {
			t.Errorf("failing %q: order %s, want %s", failing, got, want)
		}
		if end := rs[0]; failing != "" && (end.State != plugins.Failed || end.Reason != "a job it comes after has failed") {
			t.Errorf("the end after a failure: %s %s", end.State, end.Reason)
		}
	}
}

func TestMaxRunning(t *testing.T) {
	b, f := rig(t)
	looks := map[string]int{}
	most := 0
	f.status = func(h plugins.Handle) plugins.Status {
		looks[h.ID]++
		if looks[h.ID] < 3 {
			return plugins.Status{State: plugins.Running}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	var nodes []*jdl.Job
	for i := range 6 {
		nodes = append(nodes, stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) { j.Node = fmt.Sprint("n", i) }))
	}
	for _, j := range nodes[4:] { // the first four could all be sent at once
		j.After = []string{"n0"}
	}
	rs := submit(t, b, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: nodes, MaxRunning: 2})
	err := b.Wait(context.Background(), rs, jobs.Waiting{Pause: time.Millisecond,
		Discover: func(context.Context, jobs.Origin) ([]*glue.Resource, error) {
			return []*glue.Resource{site("a")}, nil
		},
		Seen: func(rs []*jobs.Outcome) {
			n := 0
			for _, r := range rs {
				if !r.Final() && r.Handle.ID != "" {
					n++
				}
			}
			most = max(most, n)
		}})
	if err != nil || most != 2 {
		t.Errorf("%v: %d ran at once, want 2", err, most)
	}
}
