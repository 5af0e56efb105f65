package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/batch/maui"
	"gridbroker/plugins/wiki"
)

// TestTraceOnACluster: the jobs of Maui's trace come to a simulated cluster in their order and
// at their distances, the first now, whatever time the trace is of; each runs for as long as it
// did, one of ages for a century and not for a time that no clock holds; those that never ran
// are left out, and one that is there twice is a mistake.
func TestTraceOnACluster(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	now := began
	// As nanoseconds the run time of ages is some ten seconds more than all that 64 bits count to.
	traced := func(id string, queued, run int64) maui.TraceJob {
		return maui.TraceJob{Job: maui.Job{ID: id, User: "u", Tasks: 1, Limit: 100, Queued: queued, Started: 7, State: maui.JobRunning, TaskList: []string{"old"}}, Ended: 7 + run}
	}
	cluster := func() *wiki.Cluster {
		return wiki.NewCluster([]wiki.Node{{Node: maui.Node{Name: "n1", Procs: 4, Memory: 100}}}, func() time.Time { return now })
	}
	c := cluster()
	err := submitTraced(c, []maui.TraceJob{traced("late", 5_300, 50), traced("first", 5_000, 50), traced("ages", 5_010, 18_446_744_084), traced("never", 5_001, 0), traced("odd", 5_002, -9)}, began)
	if err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		jobs, err := c.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, j := range jobs {
			list = append(list, fmt.Sprint(j.ID, "@", j.Queued-began.Unix(), map[maui.JobState]string{maui.JobIdle: "", maui.JobRunning: " runs"}[j.State]))
		}
		return strings.Join(list, ", ")
	}
	for _, step := range []struct {
		after time.Duration // since the begin
		start string        // a job that is started then
		want  string
	}{
		{0, "", "first@0"},
		{10 * time.Second, "first", "first@0 runs, ages@10"},
		{11 * time.Second, "ages", "first@0 runs, ages@10 runs"},
		{59 * time.Second, "", "first@0 runs, ages@10 runs"},
		{400 * time.Second, "", "ages@10 runs, late@300"},
		{50 * 365 * 24 * time.Hour, "", "ages@10 runs, late@300"},
	} {
		now = began.Add(step.after)
		if step.start != "" {
			if err := c.Start(t.Context(), step.start, []string{"n1"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := shown(); got != step.want {
			t.Errorf("after %v: %s, want %s", step.after, got, step.want)
		}
	}
	if err := submitTraced(cluster(), []maui.TraceJob{traced("a", 1, 5), traced("a", 2, 5)}, began); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a job that is there twice: %v", err)
	}
}

// TestSocketOfABusyServer: the socket of a server that has more callers than it lets in is not taken from it; that of one
// that is no more is.
func TestSocketOfABusyServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for range 10 { // nobody accepts
		c, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			break
		}
		defer c.Close()
	}
	listen := func() error {
		l, err := wikiListen(t.Context(), &deps{env: Env{Err: io.Discard}}, wikiServeOptions{listen: "unix:" + path})
		if err == nil {
			l.Close()
		}
		return err
	}
	if err := listen(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("beside a busy server: %v", err)
	}
	if err := syscall.Close(fd); err != nil {
		t.Fatal(err)
	}
	if err := listen(); err != nil {
		t.Errorf("after it: %v", err)
	}
}
