package htcondor_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
	"gridbroker/plugins/htcondor"
)

// TestHanded lets an external scheduler start jobs of the real pool: one that
// its owner held goes to the slot that is named, is suspended, goes on, is
// taken off and started again elsewhere; others are refused.
func TestHanded(t *testing.T) {
	p := newPool(t)
	q, err := p.QueueReader(p.urls["local"])
	if err != nil {
		t.Fatal(err)
	}
	h := q.(*htcondor.Queue).Handed().(*htcondor.Handed)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	id := p.held(t, true)
	slots := freeSlots(t, ctx, h)
	if len(slots) < 2 {
		t.Skip("no two slots of the pool are free")
	}
	if err := h.Start(ctx, id, []string{slots[0], slots[1]}); !refused(err) {
		t.Errorf("a job in two slots: %v", err)
	}
	if err := h.Start(ctx, id, []string{slots[0]}); err != nil {
		t.Fatal(err)
	}
	if j := find(t, ctx, h, id); j.Started.IsZero() || j.Placed[0].Node != slots[0] {
		t.Errorf("once started it is shown as %+v", j)
	}
	if err := h.Start(ctx, id, nil); !refused(err) {
		t.Errorf("a second start: %v", err)
	}
	p.awaitStatus(t, ctx, id, "2")
	if on := p.ask(t, id, "RemoteHost"); !strings.HasPrefix(on, strings.TrimSuffix(slots[0], "@node@testbed")) {
		t.Errorf("runs on %s, want %s", on, slots[0])
	}
	for _, step := range []struct {
		do   func(context.Context, string) error
		want string
	}{{h.Suspend, "7"}, {h.Resume, "2"}, {h.Requeue, "5"}} {
		if err := step.do(ctx, id); err != nil {
			t.Fatal(err)
		}
		p.awaitStatus(t, ctx, id, step.want)
		if find(t, ctx, h, id); h.Suspended(id) != (step.want == "7") {
			t.Errorf("status %s: suspended %v", step.want, h.Suspended(id))
		}
	}
	if err := h.Start(ctx, id, []string{slots[1]}); err != nil {
		t.Fatal(err)
	}
	p.awaitStatus(t, ctx, id, "2")
	if on := p.ask(t, id, "RemoteHost"); !strings.HasPrefix(on, strings.TrimSuffix(slots[1], "@node@testbed")) {
		t.Errorf("runs on %s, want %s", on, slots[1])
	}
	if err := h.Cancel(ctx, id, "ADMIN"); err != nil {
		t.Fatal(err)
	}
	own := p.held(t, false)
	if j := find(t, ctx, h, own); j.Started.IsZero() && !j.Held {
		t.Errorf("a job of HTCondor's own is shown as %+v", j)
	}
	for _, id := range []string{own, "999999.0", "1;true", "", "-all"} {
		if err := h.Start(ctx, id, nil); !refused(err) {
			t.Errorf("start of %q: %v", id, err)
		}
	}
}

// held submits a job that sleeps, on hold or not, that no slot may take but
// where it is told to.
func (p *pool) held(t *testing.T, hold bool) string {
	t.Helper()
	text := "executable = /bin/sleep\ninitialdir = /tmp\narguments = 300\ntransfer_executable = false\nrequest_memory = 1\nrequest_disk = 1\n+AllowedJobDuration = 600\n"
	if hold {
		text += "hold = true\n"
	} else {
		text += "requirements = false\n"
	}
	id, _, _ := strings.Cut(p.tool(t, text+"queue\n", "condor_submit", "-terse"), " ")
	t.Cleanup(func() { p.tool(t, "", "condor_rm", id) })
	return id
}

// tool runs a command of HTCondor's as the pool's user.
func (p *pool) tool(t *testing.T, in string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(p.env["GRID_CONDOR_BIN"]+"/"+argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + p.env["GRID_CONDOR_BIN"] + ":" + os.Getenv("PATH")}
	cmd.Stdin, cmd.Dir = strings.NewReader(in), p.env["GRID_CONDOR_JOBS"]
	out, err := cmd.CombinedOutput()
	if err != nil && argv[0] != "condor_rm" {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *pool) ask(t *testing.T, id, attribute string) string {
	t.Helper()
	return p.tool(t, "", "condor_q", "-allusers", id, "-af", attribute)
}

func (p *pool) awaitStatus(t *testing.T, ctx context.Context, id, want string) {
	t.Helper()
	for p.ask(t, id, "JobStatus") != want {
		select {
		case <-ctx.Done():
			t.Fatalf("job %s has status %s, want %s\n%s\n%s\n%s", id, p.ask(t, id, "JobStatus"), want,
				p.tool(t, "", "condor_status", "-af", "Name", "State", "Activity", "Start", "JobId", "RemoteUser"),
				p.tool(t, "", "condor_q", "-allusers", "-af:j", "JobStatus", "Owner", "Cmd", "RemoteHost"),
				p.tool(t, "", "condor_q", "-allusers", "-better-analyze", id))
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func refused(err error) bool {
	var failed *plugins.Error
	return errors.As(err, &failed) && failed.Kind == plugins.Refused
}

func freeSlots(t *testing.T, ctx context.Context, h *htcondor.Handed) (free []string) {
	t.Helper()
	s, err := h.Queue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, j := range s.Jobs {
		for _, on := range j.Placed {
			used[on.Node] = true
		}
	}
	for _, n := range s.Nodes {
		if n.Up && !used[n.Name] && n.CPUs == 1 {
			free = append(free, n.Name)
		}
	}
	slices.Reverse(free)
	return free
}

func find(t *testing.T, ctx context.Context, h *htcondor.Handed, id string) batch.Job {
	t.Helper()
	s, err := h.Queue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Jobs, func(j batch.Job) bool { return j.ID == id })
	if i < 0 {
		t.Fatalf("job %s is not in the queue", id)
	}
	return s.Jobs[i]
}
