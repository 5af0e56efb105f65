package jobs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// chain is a DAG in which last takes a file of first, which comes before it by way of middle.
const chain = `Type = "dag"; Nodes = [
first = [ Executable = "/bin/1"; OutputSandbox = "out.txt" ];
middle = [ Executable = "/bin/2" ];
last = [ Executable = "/bin/3"; InputSandbox = {root.nodes.first.description.OutputSandbox[0]} ] ];
Dependencies = { {first, middle}, {middle, last} };`

// fetchFake is a back-end that has output.
type fetchFake struct {
	*fake
	text    string // of every file
	err     error  // nothing is brought
	mu      sync.Mutex
	fetches int
	sent    map[string]string // by request, what its input file held
}

func (f *fetchFake) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range reqs {
		for _, in := range q.Job.InputSandbox {
			text, err := os.ReadFile(in.Source)
			if err != nil {
				text = []byte(err.Error())
			}
			f.sent[q.ID] = string(text)
		}
	}
	return f.fake.Submit(ctx, reqs, p)
}

func (f *fetchFake) Fetch(_ context.Context, reqs []plugins.FetchRequest, _ plugins.Progress) []plugins.FetchResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]plugins.FetchResult, len(reqs))
	for i, q := range reqs {
		f.fetches++
		if out[i].Err = f.err; f.err != nil {
			continue
		}
		if err := os.MkdirAll(q.Dir, 0o755); err != nil {
			out[i].Err = err
			continue
		}
		out[i].Files, out[i].Err = q.Want, os.WriteFile(filepath.Join(q.Dir, q.Want[0]), []byte(f.text), 0o644)
	}
	return out
}

// chained is the DAG under way at a back-end that has done its first nodes.
type chained struct {
	*jobs.Controller
	t    *testing.T
	fake *fetchFake
	now  time.Time
	os   []*jobs.Outcome
}

func newChained(t *testing.T, edit func(*chained)) *chained {
	t.Helper()
	set, err := jdl.ParseJobs("c.jdl", []byte(chain), jdl.WithoutFiles())
	if err != nil {
		t.Fatal(err)
	}
	c := &chained{t: t, now: start, fake: &fetchFake{fake: &fake{dir: t.TempDir()}, text: "made", sent: map[string]string{}}}
	c.fake.status = func(plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	c.fake.left = func(plugins.Handle) []string { return []string{"out.txt"} }
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: c.fake})
	if err != nil {
		t.Fatal(err)
	}
	c.Controller = newController(func(b *jobs.Controller) {
		b.Registry, b.Store, b.Inputs = reg, openStore(t, c.fake.dir), filepath.Join(c.fake.dir, "inputs")
		b.Clock = clock.Set(func() time.Time { return c.now })
	})
	c.os = submit(t, c.Controller, []*glue.Resource{site("a")}, set)
	if edit != nil {
		edit(c)
	}
	return c
}

// steps looks so often, a second each.
func (c *chained) steps(n int) {
	c.t.Helper()
	for range n {
		c.now = c.now.Add(time.Second)
		if _, err := c.Step(context.Background(), c.os, jobs.Waiting{Discover: always(site("a"))}); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *chained) last() *jobs.Outcome { return c.os[2] }

func (c *chained) inputs() string {
	c.t.Helper()
	var all []string
	err := filepath.WalkDir(c.Inputs, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, filepath.Base(path))
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestNodesTakeFiles: what an earlier node left is there before the job is sent, once, and goes with its record.
func TestNodesTakeFiles(t *testing.T) {
	c := newChained(t, nil)
	dead := filepath.Join(c.Inputs, "arriving-4999999-1") // of a process that was killed meanwhile
	if err := errors.Join(os.MkdirAll(dead, 0o700), os.WriteFile(filepath.Join(dead, "half"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c.steps(4)
	o := c.last()
	if states(c.os) != "done done done" || c.fake.sent[o.ID] != "made" || c.fake.fetches != 1 {
		t.Fatalf("%s; sent with %q, %d fetches; %s", states(c.os), c.fake.sent[o.ID], c.fake.fetches, o.Reason)
	}
	if got := actions(t, c.Controller, o.ID); !strings.HasPrefix(got, "intend input send accepted") {
		t.Error(got)
	}
	if info, err := os.Stat(filepath.Join(c.Inputs, o.ID)); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	// Sent again it has the same file; after the maker ran again, the new one.
	again := func(os []*jobs.Outcome) {
		t.Helper()
		c.now = c.now.Add(time.Second)
		if err := c.Resubmit(context.Background(), os, jobs.Anew{Discover: always(site("a")), Anywhere: true, Done: true}); err != nil {
			t.Fatal(err)
		}
		c.steps(4)
	}
	c.fake.text = "made anew"
	again(c.os[2:])
	if got := c.fake.sent[o.ID+"-2"]; got != "made" || c.fake.fetches != 1 {
		t.Errorf("again: %q, %d fetches", got, c.fake.fetches)
	}
	again(c.os)
	if got := c.fake.sent[o.ID+"-3"]; got != "made anew" || c.fake.fetches != 2 {
		t.Errorf("after the maker ran again: %q, %d fetches", got, c.fake.fetches)
	}
	if got := c.inputs(); got != "out.txt" {
		t.Error(got)
	}
	if err := c.Clean(context.Background(), c.os, false); err != nil || c.inputs() != "" {
		t.Error(err, c.inputs())
	}
}

// TestTakenBefore: a process that dies when the file lies there, before the record says so, costs nothing.
func TestTakenBefore(t *testing.T) {
	c := newChained(t, nil)
	o := c.last()
	to := o.Takes()[0].Source
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte("whole"), 0o600), os.Chtimes(to, c.now.Add(time.Second), c.now.Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	c.steps(4)
	if o.State != plugins.Done || c.fake.sent[o.ID] != "whole" || c.fake.fetches != 0 {
		t.Errorf("%s: %q, %d fetches", o.State, c.fake.sent[o.ID], c.fake.fetches)
	}
}

// TestTakenLater: where the back-end is away the file is asked for after longer and longer times, and the record tells.
func TestTakenLater(t *testing.T) {
	c := newChained(t, func(c *chained) { c.fake.err = fault(plugins.Unavailable, "no route") })
	c.steps(100)
	o := c.last()
	if o.State != plugins.Intended || !strings.Contains(o.Reason, "waits for out.txt of node first (job "+c.os[0].ID+")") || !strings.Contains(o.Reason, "no route") {
		t.Fatalf("%s %s", o.State, o.Reason)
	}
	if c.fake.fetches < 4 || c.fake.fetches > 8 {
		t.Errorf("%d fetches in 100 seconds", c.fake.fetches)
	}
	c.fake.err = nil
	c.steps(62)
	if o.State != plugins.Done || c.fake.sent[o.ID] != "made" || o.Reason != "" || !o.Unmatched.IsZero() {
		t.Errorf("%s %s: %q", o.State, o.Reason, c.fake.sent[o.ID])
	}
	if got := actions(t, c.Controller, o.ID); !strings.HasPrefix(got, "intend no input input send") {
		t.Error(got)
	}
}

// TestTakenNever: a file that the back-end does not have fails the node, which is never sent; when it has it after all,
// sending the DAG again goes on. What was brought to the user is taken from there.
func TestTakenNever(t *testing.T) {
	c := newChained(t, func(c *chained) { c.fake.err = fault(plugins.Refused, "no such file") })
	c.steps(5)
	o := c.last()
	if o.State != plugins.Failed || !strings.Contains(o.Reason, "cannot have out.txt of node first") || !strings.Contains(o.Reason, "no such file") || len(c.fake.sent) > 0 {
		t.Fatalf("%s %s %v", o.State, o.Reason, c.fake.sent)
	}
	resubmit := func() {
		t.Helper()
		if err := c.Resubmit(context.Background(), c.os, jobs.Anew{Discover: always(site("a"))}); err != nil {
			t.Fatal(err)
		}
	}
	if resubmit(); o.State != plugins.Failed || o.Err == nil || !strings.Contains(o.Err.Error(), "no such file") {
		t.Errorf("still not there: %s %v", o.State, o.Err)
	}
	c.fake.err = &plugins.Error{Kind: plugins.Unavailable, Op: "fetch out.txt", Err: fs.ErrNotExist} // as Slurm's and HTCondor's say it
	if resubmit(); o.State != plugins.Failed || o.Err == nil || !strings.Contains(o.Err.Error(), "file does not exist") {
		t.Errorf("as a batch system says it: %s %v", o.State, o.Err)
	}
	c.fake.err = fault(plugins.Unavailable, "away")
	if resubmit(); o.State != plugins.Intended || o.Err != nil {
		t.Errorf("away: %s %v", o.State, o.Err)
	}
	c.fake.err = nil
	dir := t.TempDir()
	if _, err := c.Output(context.Background(), c.os[:1], jobs.Wanted{Dir: dir, Files: []string{"out.txt"}}); err != nil {
		t.Fatal(err)
	}
	c.fake.err = fault(plugins.Refused, "gone")
	if c.steps(3); o.State != plugins.Done || c.fake.sent[o.ID] != "made" {
		t.Errorf("from the user's: %s %s %v", o.State, o.Reason, c.fake.sent)
	}
}

// TestTakenOfTheForgotten: a node whose maker's record was removed fails, unless it has the file.
func TestTakenOfTheForgotten(t *testing.T) {
	c := newChained(t, func(c *chained) { c.fake.err = fault(plugins.Unavailable, "away") })
	c.steps(3)
	if err := c.Clean(context.Background(), c.os[:1], true); err != nil {
		t.Fatal(err)
	}
	c.os = c.os[1:]
	c.steps(10)
	if o := c.os[1]; o.State != plugins.Failed || !strings.Contains(o.Reason, "its record was removed") {
		t.Errorf("%s %s", o.State, o.Reason)
	}
}
