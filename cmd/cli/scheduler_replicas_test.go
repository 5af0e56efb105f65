package cli_test

import (
	"database/sql"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An agent and a user know both replicas of a scheduler. The one that both ask, which leads, is
// killed and stays away: the cluster's slots stay good, jobs that were handed in before and after go
// on, and each runs once.
func TestReplicaIsKilledForGood(t *testing.T) {
	t.Parallel()
	loseLeader(t, func(p *exec.Cmd) {
		p.Process.Kill()
		p.Wait()
	})
}

// The same where it hangs, and those who ask it get no answer at all.
func TestReplicaHangsForGood(t *testing.T) {
	t.Parallel()
	loseLeader(t, func(p *exec.Cmd) { p.Process.Signal(syscall.SIGSTOP) })
}

func loseLeader(t *testing.T, lose func(*exec.Cmd)) {
	s := newScene(t, "/tmp")
	s.configure("", "slurm1 slurm:")
	s.serve(0)
	s.until("replica 0 leads", func() bool { leads, _ := s.leads(0); return leads })
	s.serve(1)
	both := s.url(0) + "," + s.url(1)
	args := []string{"--lrms", "slurm:", "--cluster", "slurm1", "--scheduler", both, "--start", "begin", "--token-file", "agent.token", "--ttl", "30s"}
	said := s.must(append([]string{"agent", "doctor"}, args...)...)
	for i := range s.ports {
		if !strings.Contains(said, "ok    ask "+s.url(i)) {
			t.Errorf("doctor says\n%s", said)
		}
	}
	s.start("agent", append([]string{"agent", "run"}, args...)...)
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	heard := func() (seen int64) {
		db.QueryRow("select seen from cluster").Scan(&seen)
		return seen
	}
	s.until("the agent is heard", func() bool { return heard() > 0 })
	s.write("via.toml", fmt.Sprintf("scheduler = %q\n", both))
	s.env = append(s.env, "GRID_CONFIG="+s.dir+"/via.toml")
	submit := func(name string) string {
		s.jdl(name, "")
		return s.ids("submit", "--json", name+".jdl")[0]
	}
	var ids []string
	for n := range 3 {
		ids = append(ids, submit(fmt.Sprint("before", n)))
	}
	lose(s.replicas[0])
	killed := time.Now()
	for n := range 3 {
		ids = append(ids, submit(fmt.Sprint("after", n)))
	}
	t.Logf("three submissions by the user in %v after the loss", time.Since(killed).Round(time.Millisecond))
	s.until("the agent is heard again", func() bool { return heard() > killed.Unix() })
	t.Logf("the agent is heard %v after the loss", time.Since(killed).Round(time.Second))
	s.wait(ids)
	for n := range 3 {
		s.ranOnce(fmt.Sprint("before", n))
		s.ranOnce(fmt.Sprint("after", n))
	}
	if out, err := s.command(append([]string{"agent", "doctor"}, args...)...).Output(); err == nil || !strings.Contains(string(out), "WRONG ask "+s.url(0)) || !strings.Contains(string(out), "ok    publish") {
		t.Errorf("doctor without a replica: %v\n%s", err, out)
	}
	if list := s.must("list"); !strings.Contains(list, "grid+http://127.0.0.1") {
		t.Error(list)
	}
	s.balanced()
}
