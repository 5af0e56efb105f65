package cli_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch/maui"
	"gridbroker/plugins"
	"gridbroker/plugins/slurm"
	"gridbroker/plugins/wiki"
	"gridbroker/testdata/testbed"
)

// TestWikiOnSlurm runs a real Slurm over WIKI: a job that its owner held is
// started on a node that the scheduler names, suspended, resumed and cancelled;
// one that Slurm holds for itself is refused.
func TestWikiOnSlurm(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("to suspend jobs takes an operator of the Slurm, as root is")
	}
	client, submit := wikiOnSlurm(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	nodes, err := client.Nodes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(nodes, func(n wiki.Node) bool { return n.State == maui.NodeIdle })
	if i < 0 {
		t.Skip("no node of the testbed is idle")
	}
	id := submit("--hold")
	awaitWiki(t, ctx, client, id, maui.JobIdle)
	if err := client.Start(ctx, id, []string{nodes[i].Name}); err != nil {
		t.Fatal(err)
	}
	if j := awaitWiki(t, ctx, client, id, maui.JobRunning); !slices.Equal(j.TaskList, []string{nodes[i].Name}) {
		t.Errorf("runs on %v, want %s", j.TaskList, nodes[i].Name)
	}
	if err := client.Start(ctx, id, nil); err == nil {
		t.Error("a running job was started once more")
	}
	for _, step := range []struct {
		do   func(context.Context, string) error
		want maui.JobState
	}{{client.Suspend, maui.JobSuspended}, {client.Resume, maui.JobRunning}} {
		if err := step.do(ctx, id); err != nil {
			t.Fatal(err)
		}
		awaitWiki(t, ctx, client, id, step.want)
	}
	if err := client.Cancel(ctx, id, "test"); err != nil {
		t.Fatal(err)
	}
	later := submit("--begin=now+1hour")
	awaitWiki(t, ctx, client, later, maui.JobHeld)
	if err := client.Start(ctx, later, nil); err == nil {
		t.Error("a job that is Slurm's own was started")
	}
	if err := client.Start(ctx, "1;true", nil); err == nil {
		t.Error("a name that is no job's was taken")
	}
}

// wikiOnSlurm presents the testbed's Slurm and returns a scheduler's side of it,
// and what submits a job there.
func wikiOnSlurm(t *testing.T) (*wiki.Client, func(args ...string) string) {
	t.Helper()
	top := testbed.Dir()
	env := append(os.Environ(), "SLURM_CONF="+filepath.Join(top, "slurm", "slurm.conf"), "SSH_AUTH_SOCK=")
	run := func(argv ...string) (string, error) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = env, "/tmp"
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if _, err := run("sinfo", "-h"); err != nil {
		t.Skip("no Slurm here: testdata/testbed/slurm/up.sh starts one")
	}
	b := slurm.New(slurm.Options{Environ: env, Home: t.TempDir()})
	t.Cleanup(func() { b.Close() })
	q, err := b.QueueReader("slurm:" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := &wiki.Server{Manager: &wiki.Presented{Reader: q.(interface{ Handed() plugins.QueueReader }).Handed()}, Now: time.Now, Timeout: time.Minute}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	t.Cleanup(func() { cancel(); <-done })
	client, err := wiki.ParseURL("wiki://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client.Now = time.Now
	return client, func(args ...string) string {
		id, err := run(append([]string{"sbatch", "--parsable", "--output=/dev/null", "--time=5", "--wrap=sleep 200"}, args...)...)
		if err != nil {
			t.Fatalf("sbatch: %v: %s", err, id)
		}
		t.Cleanup(func() { run("scancel", id) })
		return id
	}
}

// awaitWiki waits until a job is in a state.
func awaitWiki(t *testing.T, ctx context.Context, c *wiki.Client, id string, want maui.JobState) wiki.Job {
	t.Helper()
	for {
		jobs, err := c.Jobs(ctx, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(jobs, func(j wiki.Job) bool { return j.ID == id })
		if i >= 0 && jobs[i].State == want {
			return jobs[i]
		}
		select {
		case <-ctx.Done():
			t.Fatalf("job %s is not in state %v: %+v", id, want, jobs)
		case <-time.After(300 * time.Millisecond):
		}
	}
}
