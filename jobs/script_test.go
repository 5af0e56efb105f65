package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// scriptRig is a back-end whose jobs end with the exit codes of a list, one after the other, and a directory of scripts.
type scriptRig struct {
	*jobs.Controller
	*fake
	dir   string
	exits []int // of the jobs, in the order in which they are sent; then 0
}

func newScriptRig(t *testing.T, exits ...int) *scriptRig {
	c, f := rig(t)
	s := &scriptRig{c, f, t.TempDir(), exits}
	f.status = func(h plugins.Handle) plugins.Status {
		code := 0
		for i, line := range f.accepted() {
			if strings.HasSuffix(h.ID, line[strings.LastIndex(line, " ")+1:]) && i < len(s.exits) {
				code = s.exits[i]
			}
		}
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(code)}
	}
	return s
}

// script is one that does what a line of shell says.
func (s *scriptRig) script(t *testing.T, name, body string, args ...string) *jdl.Script {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &jdl.Script{Command: name, Args: args, Dir: s.dir}
}

// said is what scripts have written to a file of their directory.
func (s *scriptRig) said(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "|")
}

// node is one of a DAG, with scripts.
func scriptNode(t *testing.T, name string, pre, post *jdl.Script, more string, after ...string) *jdl.Job {
	text := fmt.Sprintf("Executable = \"/bin/true\"; NodeName = %q; %s", name, more)
	for attr, s := range map[string]*jdl.Script{"PreScript": pre, "PostScript": post} {
		if s != nil {
			ad := jdl.Job{Ad: s.Record()}
			text += attr + " = " + ad.Text() + ";"
		}
	}
	job, err := jdl.LoadJob("[" + text + " Requirements = true; ]")
	if err != nil {
		t.Fatal(err)
	}
	job.Name, job.After = name, after
	return job
}

func (s *scriptRig) run(t *testing.T, nodes ...*jdl.Job) []*jobs.Outcome {
	t.Helper()
	rs := submit(t, s.Controller, []*glue.Resource{site("a"), site("b"), site("c")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: nodes})
	wait(t, s.Controller, rs, site("a"), site("b"), site("c"))
	return rs
}

// TestScriptsDecide: a PreScript runs before its job is sent and keeps it back where it fails; a PostScript runs after,
// however the job ended, and how it ends is how the node does. Both run again with each try.
func TestScriptsDecide(t *testing.T) {
	for name, c := range map[string]struct {
		exits      []int
		pre, post  string
		more       string
		state      plugins.State
		failure    bool
		ran        string // by the scripts
		requests   int
		reason     string
		childState plugins.State
	}{
		"all well":           {[]int{0}, "echo pre $@ >> log", "echo post $@ >> log", "", plugins.Done, false, "pre A 0|post A 0 0 0", 2, "", plugins.Done},
		"the job failed":     {[]int{3}, "echo pre >> log", "echo post $2 $3 >> log; exit $3", "", plugins.Failed, true, "pre|post 0 3", 1, "the PostScript ended with exit code 3", plugins.Failed},
		"made good":          {[]int{3}, "exit 0", "echo post $3 >> log", "", plugins.Done, false, "post 3", 2, "ended with exit code 3, and its PostScript found all well", plugins.Done},
		"the script fails":   {[]int{0}, "exit 0", "echo found nothing; exit 9", "", plugins.Failed, true, "", 1, "the PostScript ended with exit code 9: found nothing", plugins.Failed},
		"pre fails":          {nil, "echo no disk >&2; exit 2", "echo post >> log", "", plugins.Failed, true, "", 0, "the PreScript ended with exit code 2: no disk", plugins.Failed},
		"pre skips":          {nil, "exit 7", "echo post >> log", "", plugins.Done, false, "", 1, "the job is left out", plugins.Done},
		"tried again":        {[]int{3, 3, 0}, "echo pre $2 >> log", "echo post $2 of $4 >> log; exit $3", "RetryCount = 2; RetryOnExit = true;", plugins.Done, false, "pre 0|post 0 of 2|pre 1|post 1 of 2|pre 2|post 2 of 2", 4, "", plugins.Done},
		"not for that code":  {[]int{0, 0}, "exit 0", "echo post >> log; exit 4", "RetryCount = 2; RetryOnExit = { 1, 2 };", plugins.Failed, true, "post", 1, "exit code 4", plugins.Failed},
		"pre is tried again": {nil, "echo pre $2 >> log; test $2 = 1", "exit 0", "RetryCount = 2; RetryOnExit = true;", plugins.Done, false, "pre 0|pre 1", 2, "", plugins.Done},
		"no such program":    {nil, "exit 0\n#", "", "", plugins.Done, false, "", 2, "", plugins.Done},
		"ends the DAG":       {[]int{0}, "exit 0", "exit 5", "RetryCount = 2; RetryOnExit = true; AbortDAGOn = 5;", plugins.Failed, true, "", 1, "exit code 5", plugins.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScriptRig(t, c.exits...)
			pre, post := s.script(t, "pre.sh", c.pre, "$JOB", "$RETRY"), s.script(t, "post.sh", c.post, "$JOB", "$RETRY", "$RETURN", "$MAX_RETRIES")
			pre.Skip = 7
			rs := s.run(t, scriptNode(t, "A", pre, post, c.more), scriptNode(t, "B", nil, nil, "", "A"))
			o := rs[0]
			if o.State != c.state || o.Failure() != c.failure || !strings.Contains(o.Reason, c.reason) || c.reason == "" && o.Reason != "" {
				t.Errorf("%s, failure %v, %q", o.State, o.Failure(), o.Reason)
			}
			if got := s.said(t, "log"); got != c.ran {
				t.Errorf("ran %s, want %s", got, c.ran)
			}
			if n := len(s.accepted()); n != c.requests {
				t.Errorf("%d jobs were sent, want %d", n, c.requests)
			}
			if rs[1].State != c.childState {
				t.Errorf("what comes after it is %s: %s", rs[1].State, rs[1].Reason)
			}
		})
	}
}

// TestScriptDefers: a script that says so runs once more later, and counts then.
func TestScriptDefers(t *testing.T) {
	s := newScriptRig(t)
	pre := s.script(t, "pre.sh", "echo x >> log; test $(wc -l < log) -ge 3 || exit 4")
	pre.Again, pre.AgainAfter = 4, time.Second
	began := time.Now()
	s.Clock = clock.Set(func() time.Time { return start.Add(time.Since(began)) })
	rs := s.run(t, scriptNode(t, "A", pre, nil, ""))
	if rs[0].State != plugins.Done || s.said(t, "log") != "x|x|x" || len(s.accepted()) != 1 {
		t.Errorf("%s after %s: %s", rs[0].State, s.said(t, "log"), rs[0].Reason)
	}
}

// TestScriptsWithoutJob: a node of scripts alone, with several of what their arguments stand for, its environment and its log.
func TestScriptsWithoutJob(t *testing.T) {
	s := newScriptRig(t, 1)
	post := s.script(t, "post.sh", "echo $@ $WHO; echo wrong >&2", "$JOB", "x=$JOB", "$DAG_STATUS", "$FAILED_COUNT", "$NODE_COUNT", "$RETURN", "$PRE_SCRIPT_RETURN", "$SUCCESS", "$OTHER", "$MAX_RETRIES")
	post.Env, post.Log, post.LogErr = []jdl.EnvVar{{Name: "WHO", Value: "me"}}, filepath.Join(s.dir, "log"), true
	last := scriptNode(t, "L", nil, post, "NoJob = true; FinalNode = true;", "A", "B")
	rs := s.run(t, scriptNode(t, "A", nil, nil, "RetryCount = 0;"), scriptNode(t, "B", nil, nil, "", "A"), last)
	if o := rs[2]; o.State != plugins.Done || o.Failure() || o.Handle.ID != "" || o.Scripts.Runs[0].Said == "" {
		t.Errorf("%s %+v", o.State, o.Scripts)
	}
	if got := s.said(t, "log"); got != "wrong" {
		t.Errorf("log: %s", got)
	}
	post.LogOut = true
	s.run(t, scriptNode(t, "A", nil, nil, "RetryCount = 0;"), scriptNode(t, "L", nil, post, "NoJob = true; FinalNode = true; RetryCount = 3;", "A"))
	if got := s.said(t, "log"); !strings.Contains(got, "L x=$JOB 0 0 2 0 -1 True $OTHER 0 me") {
		t.Errorf("log: %s", got)
	}
}

// TestScriptIsInterrupted: whoever follows and is interrupted ends the script with all that it has started; the next one runs it
// again. A script whose process was killed with the one that followed runs again, too.
func TestScriptIsInterrupted(t *testing.T) {
	s := newScriptRig(t)
	pre := s.script(t, "pre.sh", "echo x >> log; test -e go && exit 0; sleep 1000 & echo $! > pid; wait")
	rs := submit(t, s.Controller, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: []*jdl.Job{scriptNode(t, "A", pre, nil, "")}})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for s.said(t, "pid") == "" {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	_ = s.Wait(ctx, rs, jobs.Waiting{Pause: time.Millisecond, Discover: always(site("a"))})
	var pid int
	if _, err := fmt.Sscan(s.said(t, "pid"), &pid); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if syscall.Kill(pid, 0) == nil && !zombie(pid) {
		t.Error("what the script had started is still there")
	}
	found, err := s.Store.Find(context.Background(), []string{rs[0].ID})
	if err != nil || found[0].State != plugins.Intended || jobs.OwesScript(found[0]) != "PreScript" || len(found[0].Scripts.Runs) != 0 || len(s.accepted()) != 0 {
		t.Fatalf("%v, %+v", err, found)
	}
	// As if its process had been killed.
	again := jobs.Outcomes(found)
	_, err = s.Store.Update(context.Background(), jobs.Records(again), func(r *jobs.Record) (jobs.Change, error) {
		return r.Apply(jobs.ScriptBegun{Owner: "gone"}, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(t, s.Controller, again, site("a"))
	if again[0].State != plugins.Done || s.said(t, "log") != "x|x" {
		t.Errorf("%s after %s: %s", again[0].State, s.said(t, "log"), again[0].Reason)
	}
}

// TestScriptIsCancelled: who cancels a job whose script runs, by another process, has that end, with all that it has started.
func TestScriptIsCancelled(t *testing.T) {
	for name, post := range map[string]bool{"PreScript": false, "PostScript": true} {
		t.Run(name, func(t *testing.T) {
			s := newScriptRig(t)
			script, requests := s.script(t, "run.sh", "sleep 1000 & echo $! > pid; wait"), 0
			node := scriptNode(t, "A", script, nil, "")
			if post {
				node, requests = scriptNode(t, "A", nil, script, ""), 1
			}
			rs := submit(t, s.Controller, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: []*jdl.Job{node}})
			id, cancelled := rs[0].ID, make(chan error, 1)
			go func() {
				for s.said(t, "pid") == "" {
					time.Sleep(5 * time.Millisecond)
				}
				other := newController(func(c *jobs.Controller) { c.Registry, c.Store = s.Registry, s.Store })
				found, err := s.Store.Find(context.Background(), []string{id})
				if err == nil {
					os := jobs.Outcomes(found)
					err = errors.Join(other.Cancel(context.Background(), os), os[0].Err)
				}
				cancelled <- err
			}()
			wait(t, s.Controller, rs, site("a"))
			if err := <-cancelled; err != nil || !rs[0].Final() || rs[0].Cancelled.IsZero() || len(s.accepted()) != requests {
				t.Errorf("%v: %s, %d jobs", err, rs[0].State, len(s.accepted()))
			}
			var pid int
			if _, err := fmt.Sscan(s.said(t, "pid"), &pid); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("what the script had started is still there")
				}
			}
		})
	}
}

func zombie(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(text), ") Z ")
}

// TestScriptsOnce: of two that follow the same job one runs its scripts; who cancels the job has it end without them, and
// nobody sends it past its PreScript.
func TestScriptsOnce(t *testing.T) {
	s := newScriptRig(t)
	pre, post := s.script(t, "pre.sh", "echo pre >> log; sleep 0.2"), s.script(t, "post.sh", "echo post >> log; sleep 0.2")
	rs := submit(t, s.Controller, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: []*jdl.Job{scriptNode(t, "A", pre, post, "")}})
	if err := s.Send(context.Background(), rs); err != nil || len(s.accepted()) != 0 {
		t.Fatalf("sent past its script: %v", err)
	}
	found, err := s.Store.Find(context.Background(), []string{rs[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	other := newController(func(c *jobs.Controller) { c.Registry, c.Store = s.Registry, s.Store })
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait(t, other, jobs.Outcomes(found), site("a"))
	}()
	wait(t, s.Controller, rs, site("a"))
	<-done
	if got := s.said(t, "log"); got != "pre|post" || len(s.accepted()) != 1 {
		t.Errorf("ran %s, %d jobs", got, len(s.accepted()))
	}

	s = newScriptRig(t)
	rs = submit(t, s.Controller, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: []*jdl.Job{scriptNode(t, "A", nil, s.script(t, "post.sh", "echo post >> log"), "")}})
	if err := s.Refresh(context.Background(), rs); err != nil || rs[0].State != plugins.Finishing || jobs.OwesScript(rs[0].Record) != "PostScript" {
		t.Fatalf("%v: %s", err, rs[0].State)
	}
	if err := s.Controller.Cancel(context.Background(), rs); err != nil || rs[0].State != plugins.Done {
		t.Fatalf("%v: %s", err, rs[0].State)
	}
	wait(t, s.Controller, rs, site("a"))
	if got := s.said(t, "log"); got != "" {
		t.Errorf("ran %s", got)
	}
}
