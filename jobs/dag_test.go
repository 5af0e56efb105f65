package jobs_test

import (
	"context"
	"fmt"
	"maps"
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

// TestCategories: of each category no more jobs are at back-ends at once than it may have, whether they are sent at first,
// when their turn comes, or anew; other jobs do not wait for that.
func TestCategories(t *testing.T) {
	b, f := rig(t)
	looks := map[string]int{}
	exit := 1
	f.status = func(h plugins.Handle) plugins.Status {
		if looks[h.ID]++; looks[h.ID] < 3 {
			return plugins.Status{State: plugins.Running}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(exit)}
	}
	var nodes []*jdl.Job
	for i := range 9 {
		nodes = append(nodes, stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) {
			if j.Node = fmt.Sprint("n", i); i < 6 {
				j.Category, j.MaxInCategory = []string{"even", "odd"}[i%2], 1+i%2
			}
		}))
	}
	there := func(rs []*jobs.Outcome) map[string]int {
		n := map[string]int{}
		for _, r := range rs {
			if !r.Final() && r.Handle.ID != "" {
				n[r.Category]++
			}
		}
		return n
	}
	rs := submit(t, b, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.Collection, Jobs: nodes})
	follow := func(what string) {
		t.Helper()
		most := there(rs)
		err := b.Wait(context.Background(), rs, jobs.Waiting{Pause: time.Millisecond,
			Discover: always(site("a")),
			Seen: func(rs []*jobs.Outcome) {
				for name, n := range there(rs) {
					most[name] = max(most[name], n)
				}
			}})
		if want := map[string]int{"even": 1, "odd": 2, "": 3}; err != nil || !maps.Equal(most, want) {
			t.Errorf("%s: %v: at once there were %v, want %v", what, err, most, want)
		}
	}
	if n := there(rs); n["even"] != 1 || n["odd"] != 2 || n[""] != 3 {
		t.Errorf("sent at first: %v", n)
	}
	follow("first")
	exit = 0
	if err := b.Resubmit(context.Background(), rs, jobs.Anew{Discover: always(site("a"))}); err != nil {
		t.Fatal(err)
	}
	follow("anew")
	for _, r := range rs {
		if r.State != plugins.Done || *r.ExitCode != 0 || r.Attempts != 2 {
			t.Errorf("%s: %s, %d attempts: %s %v", r.Node, r.State, r.Attempts, r.Reason, r.Err)
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

// A DAG with a node that nothing takes is not begun, nor recorded; of a collection the others go.
func TestNodeThatNothingTakes(t *testing.T) {
	for _, kind := range []jdl.SetKind{jdl.DAG, jdl.Collection} {
		b, f := rig(t)
		first := stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) { j.Node = "first" })
		second := stored(t, `Executable = "/bin/true"; Requirements = false;`, func(j *jdl.Job) { j.Node = "second" })
		if kind == jdl.DAG {
			second.After = []string{"first"}
		}
		p := plan(t, b, []*glue.Resource{site("a")}, first, second)
		_, err := b.Submit(context.Background(), p, &jdl.JobSet{Kind: kind, Name: "set", Jobs: []*jdl.Job{first, second}})
		rs, _ := b.Store.Select(context.Background(), jobs.Query{})
		if kind == jdl.DAG && (err == nil || !strings.Contains(err.Error(), "node second matches no resource") || len(rs)+len(f.accepted()) > 0) {
			t.Errorf("DAG: %v, %d recorded, %v sent", err, len(rs), f.accepted())
		}
		if kind == jdl.Collection && (err != nil || len(rs) != 1 || len(f.accepted()) != 1 || rs[0].ParentName != "set") {
			t.Errorf("collection: %v, %d recorded, %v sent", err, len(rs), f.accepted())
		}
	}
}

// Nodes that have a script to run first, or no job, or wait for others, are not sent with the rest.
func TestWhoIsSentAtOnce(t *testing.T) {
	b, f := rig(t)
	var all []*jdl.Job
	for name, edit := range map[string]func(*jdl.Job){
		"plain": func(*jdl.Job) {}, "pre": func(j *jdl.Job) { j.Pre = &jdl.Script{} }, "post": func(j *jdl.Job) { j.Post = &jdl.Script{} },
		"none": func(j *jdl.Job) { j.NoJob, j.Post = true, &jdl.Script{} }, "later": func(j *jdl.Job) { j.After = []string{"plain"} },
	} {
		all = append(all, stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) { j.Name, j.Node = name, name; edit(j) }))
	}
	os := submit(t, b, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: all})
	for _, o := range os {
		if sent := o.State == plugins.Accepted; sent != (o.Name == "plain" || o.Name == "post") {
			t.Errorf("%s: %s", o.Name, o.State)
		}
	}
	if len(f.accepted()) != 2 {
		t.Error(f.accepted())
	}
}
