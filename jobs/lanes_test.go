package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// hasty is a clock that nobody waits by.
type hasty struct{ clock.Set }

func (h hasty) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- h.Now()
	return c
}

// registryOf is of one back-end, in the place of the usual fake.
func registryOf(t *testing.T, s plugins.Submitter) *plugins.Registry {
	t.Helper()
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: s})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// heldFetch brings nothing before it is let go.
type heldFetch struct {
	*fetchFake
	began, free chan struct{}
	looks       atomic.Int64 // at the clock
}

func (h *heldFetch) Fetch(ctx context.Context, reqs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	h.began <- struct{}{}
	select {
	case <-h.free:
		return h.fetchFake.Fetch(ctx, reqs, p)
	case <-ctx.Done():
		out := make([]plugins.FetchResult, len(reqs))
		for i := range out {
			out[i].Err = ctx.Err()
		}
		return out
	}
}

// advance is how much later each look at the clock of holding is.
const advance = 10 * time.Millisecond

// holding is a DAG whose last node takes a file that is a long time on its way, with another DAG beside it.
func holding(t *testing.T) (c *chained, held *heldFetch) {
	c = newChained(t, nil)
	held = &heldFetch{fetchFake: c.fake, began: make(chan struct{}, 1), free: make(chan struct{})}
	c.Registry = registryOf(t, held)
	c.Clock = hasty{clock.Set(func() time.Time { return start.Add(time.Duration(held.looks.Add(1)) * advance) })}
	other, err := jdl.ParseJobs("o.jdl", []byte(`Type = "dag"; Nodes = [ a = [ Executable = "/bin/4" ]; b = [ Executable = "/bin/5" ] ]; Dependencies = {{a, b}};`), jdl.WithoutFiles())
	if err != nil {
		t.Fatal(err)
	}
	c.os = append(c.os, submit(t, c.Controller, []*glue.Resource{site("a")}, other)...)
	return c, held
}

// TestLargeFilesHoldNobodyUp: while a file is brought from node to node, all other jobs go on; the node that takes it is
// sent once, when it is there.
func TestLargeFilesHoldNobodyUp(t *testing.T) {
	c, held := holding(t)
	c.steps(6)
	<-held.began
	if got := states(c.os); got != "done done intended done done" {
		t.Fatalf("while the file is on its way: %s", got)
	}
	if c.fake.fetches != 0 || len(held.began) != 0 {
		t.Fatal("it was asked for twice")
	}
	close(held.free)
	jobs.Rest(c.Controller)
	c.steps(3)
	if o := c.last(); states(c.os) != "done done done done done" || c.fake.sent[o.ID] != "made" || o.Attempts != 1 {
		t.Errorf("%s, %q, %d attempts", states(c.os), c.fake.sent[o.ID], o.Attempts)
	}
}

// TestLanesOfOneDAG: while a file for one node is on its way, that for another node of the DAG is asked for, too.
func TestLanesOfOneDAG(t *testing.T) {
	c, held := holding(t)
	set, err := jdl.ParseJobs("w.jdl", []byte(`Type = "dag"; Nodes = [
a = [ Executable = "/bin/1"; OutputSandbox = "out.txt" ];
b = [ Executable = "/bin/2"; InputSandbox = {root.nodes.a.description.OutputSandbox[0]} ];
c = [ Executable = "/bin/3" ];
d = [ Executable = "/bin/4"; InputSandbox = {root.nodes.a.description.OutputSandbox[0]} ] ];
Dependencies = { {a, b}, {a, c}, {c, d} };`), jdl.WithoutFiles())
	if err != nil {
		t.Fatal(err)
	}
	c.os = submit(t, c.Controller, []*glue.Resource{site("a")}, set)
	for _, node := range []string{"b", "d"} {
		c.steps(4)
		select {
		case <-held.began:
		case <-time.After(time.Minute):
			t.Fatalf("the file of %s is not asked for: %s", node, states(c.os))
		}
	}
	if got := states(c.os); got != "done intended done intended" {
		t.Errorf("while the files are on their way: %s", got)
	}
	close(held.free)
	jobs.Rest(c.Controller)
	c.steps(3)
	if got := states(c.os); got != "done done done done" || c.fake.fetches != 2 {
		t.Errorf("%s, %d fetches", got, c.fake.fetches)
	}
}

// TestLargeOutputsHoldNobodyUp: who follows goes on while an output is brought, begins it once, and hears of it when it is here.
func TestLargeOutputsHoldNobodyUp(t *testing.T) {
	c := newChained(t, nil)
	c.steps(1)
	held := &heldFetch{fetchFake: c.fake, began: make(chan struct{}, 9), free: make(chan struct{})}
	c.Registry = registryOf(t, held)
	c.Clock = hasty{clock.Set(func() time.Time { return start })}
	w := jobs.Wanted{Dir: t.TempDir(), Files: []string{"out.txt"}}
	bring := func(os ...*jobs.Outcome) []*jobs.Outcome {
		return jobs.Bring(context.Background(), c.Controller, os, w)
	}
	if ended := bring(c.os[0]); len(ended) != 0 {
		t.Fatalf("%+v has ended before it was let go", ended[0])
	}
	<-held.began
	if ended := bring(c.os[0]); len(ended) != 0 {
		t.Fatalf("%+v", ended)
	}
	close(held.free)
	jobs.Rest(c.Controller)
	if ended := bring(); len(ended) != 1 || ended[0].ID != c.os[0].ID || ended[0].Err != nil {
		t.Errorf("%+v", ended)
	}
	files, err := filepath.Glob(filepath.Join(w.Dir, "*", "out.txt"))
	if err != nil || len(files) != 1 || c.fake.fetches != 1 {
		t.Errorf("%q, %v, %d fetches", files, err, c.fake.fetches)
	}
}

// TestInterruptedWhileBrought: who ends following does not wait for a file that is on its way, and a later look begins anew.
func TestInterruptedWhileBrought(t *testing.T) {
	c, held := holding(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-held.began
		cancel()
	}()
	if err := c.Wait(ctx, c.os, jobs.Waiting{Discover: always(site("a"))}); ctx.Err() == nil {
		t.Fatalf("it has ended by itself: %v", err)
	}
	jobs.Rest(c.Controller)
	close(held.free)
	held.looks.Add(int64(time.Minute / advance))
	c.steps(2)
	jobs.Rest(c.Controller)
	c.steps(3)
	if o := c.last(); o.State != plugins.Done || c.fake.sent[o.ID] != "made" || o.Attempts != 1 {
		t.Errorf("%s: %q, %d attempts: %s", o.State, c.fake.sent[o.ID], o.Attempts, o.Reason)
	}
}

// treeFake leaves a directory.
type treeFake struct{ *fetchFake }

func (f treeFake) Fetch(_ context.Context, reqs []plugins.FetchRequest, _ plugins.Progress) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(reqs))
	for i, q := range reqs {
		f.fetches++
		deep := filepath.Join(q.Dir, q.Want[0], "deep")
		if out[i].Err = os.MkdirAll(deep, 0o755); out[i].Err != nil {
			continue
		}
		for _, name := range []string{filepath.Join(deep, "a"), filepath.Join(q.Dir, q.Want[0], "b")} {
			out[i].Err = os.WriteFile(name, []byte(f.text), 0o755)
		}
	}
	return out
}

func (f treeFake) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	for _, q := range reqs {
		for _, in := range q.Job.InputSandbox {
			text, err := os.ReadFile(in.Source)
			if err != nil {
				text = []byte(err.Error())
			}
			f.sent[q.ID] += in.Name + "=" + string(text) + " "
		}
	}
	return f.fake.Submit(ctx, reqs, p)
}

// TestNodesTakeDirectories: a directory that a node leaves goes along with the files below it, and anew when the node has run
// again.
func TestNodesTakeDirectories(t *testing.T) {
	c := newChained(t, nil)
	c.Registry = registryOf(t, treeFake{c.fake})
	c.steps(4)
	o := c.last()
	if got, want := c.fake.sent[o.ID], "out.txt/b=made out.txt/deep/a=made "; got != want || states(c.os) != "done done done" {
		t.Fatalf("sent with %q, want %q; %s %s", got, want, states(c.os), o.Reason)
	}
	c.fake.text = "anew"
	c.now = c.now.Add(time.Second)
	if err := c.Resubmit(context.Background(), c.os, jobs.Anew{Discover: always(site("a")), Anywhere: true, Done: true}); err != nil {
		t.Fatal(err)
	}
	c.steps(4)
	if got, want := c.fake.sent[o.ID+"-2"], "out.txt/b=anew out.txt/deep/a=anew "; got != want || c.fake.fetches != 2 {
		t.Errorf("sent with %q, want %q; %d fetches", got, want, c.fake.fetches)
	}
}
