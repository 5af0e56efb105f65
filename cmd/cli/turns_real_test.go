package cli_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// On a real Slurm: a job for which no slot is in sight is put into the queue of a
// partition whose owner allows it, is told about there, and taken out when a slot
// appears elsewhere. Each job runs once.
func TestTurnsOnSlurm(t *testing.T) {
	s := newScene(t, "/tmp").on(testbed.Env(t, "slurm2")["GRID_SLURM2_CONF"])
	user := strconv.Itoa(os.Getuid())
	t.Cleanup(func() { s.slurm("scancel", "--user", user) })
	local := func(node, minutes string) string {
		t.Helper()
		out, err := s.slurm("sbatch", "--parsable", "--partition", "short", "--nodelist", node, "--exclusive", "--time", minutes, "--output", "/dev/null", "--wrap", "sleep 3000")
		if err != nil {
			t.Fatal(err, out)
		}
		return strings.TrimSpace(out)
	}
	locals := map[string]string{}
	for _, node := range []string{"n1", "n2", "n3", "n4", "n8"} {
		locals[node] = local(node, "50")
	}
	s.until("the local jobs run", func() bool {
		out, _ := s.slurm("squeue", "--noheader", "--states", "R", "--user", user, "--format", "%i")
		return len(strings.Fields(out)) == len(locals)
	})
	s.configure("", "full slurm:", "later slurm:")
	for i := range s.replicas {
		s.serve(i)
	}
	agent := func(cluster, queue string, more ...string) {
		s.start("agent of "+cluster, append([]string{"agent", "run", "--lrms", "slurm:", "--cluster", cluster, "--queue", queue, "--horizon", "10m", "--scheduler", s.url(0),
			"--start", "begin", "--ttl", "30s", "--token-file", "agent.token"}, more...)...)
	}
	agent("full", "infinite", "--turns", "2")
	agent("later", "long")
	ids := []string{s.submit("first", ""), s.submit("second", "")}
	waits := func() string {
		out, _ := s.slurm("squeue", "--noheader", "--states", "PD", "--user", user, "--partition", "infinite", "--format", "%i")
		return out
	}
	s.until("both wait in the queue", func() bool { return len(strings.Fields(waits())) == 2 })
	s.every(time.Second, "why tells of it", func() bool {
		out, _ := s.command("why", ids[0]).Output()
		said := strings.Join(strings.Fields(string(out)), " ") // whatever the width
		return strings.Contains(said, "in the queue of full") && strings.Contains(said, "its turn is expected in ")
	})
	if out, err := s.slurm("scancel", locals["n1"]); err != nil { // a slot elsewhere
		t.Fatal(err, out)
	}
	s.wait(ids)
	for i, name := range []string{"first", "second"} {
		s.must("output", ids[i])
		s.ranOnce(name)
		if out := s.must("log", ids[i]); !strings.Contains(out, "taken out of the queue") || !strings.Contains(out, "later") {
			t.Errorf("%s was not moved to the slot:\n%s", name, out)
		}
	}
	if out := waits(); strings.TrimSpace(out) != "" {
		t.Errorf("in the queue is left: %s", out)
	}
	s.balanced()
}
