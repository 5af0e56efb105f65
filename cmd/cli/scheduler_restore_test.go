package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An older copy of the database is brought back as docs/operators.md says: jobs that were handed in
// before it was made and were sent since are found at their site and not run again, those that had not begun go on, and one that was handed in since is not there, and said not to be. The ledger adds up.
func TestOlderBackupIsBroughtBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, "/tmp")
	s.configure("", "slurm1 slurm:")
	s.serve(0)
	s.serve(1)
	s.start("agent", "agent", "run", "--lrms", "slurm:", "--cluster", "slurm1", "--scheduler", s.url(0)+","+s.url(1), "--start", "begin", "--token-file", "agent.token")
	ended := s.submit("ended", "")
	s.wait([]string{ended})
	ids := []string{ended}
	s.wall = 900
	s.write("hold", "") // what has begun is at its site until the copy is brought back
	for n := range 6 {  // some wait, some are booked or sent by then
		ids = append(ids, s.submit(fmt.Sprint("open", n), ""))
	}
	dump := filepath.Join(s.pg, "dump")
	s.asPostgres("pg_dump", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-Fc", "-f", dump, "postgres")
	since := s.submit("since", "")
	ran := func(name string) bool { _, err := os.Stat(filepath.Join(s.dir, "ran", name)); return err == nil }
	s.until("what was handed in has begun", func() bool { return ran("since") && ran("open0") && ran("open1") && ran("open2") })
	late := s.submit("late", "") // and is not known to the copy, either
	for _, p := range s.replicas {
		p.Process.Signal(syscall.SIGKILL)
		p.Wait()
	}
	s.asPostgres("psql", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-d", "template1", "-c", "drop database postgres with (force)", "-c", "create database postgres")
	s.asPostgres("pg_restore", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-d", "postgres", dump)
	s.must("scheduler", "init", "--restored", "--file", "s0.toml")
	s.serve(0)
	s.serve(1)
	if err := os.Remove(filepath.Join(s.dir, "hold")); err != nil {
		t.Fatal(err)
	}
	gone := s.settle(ids)
	t.Logf("of %d jobs %d had ended, and their output was brought, after the copy was made", len(ids), gone)
	for n := range 6 {
		if s.ranOnce(fmt.Sprint("open", n)); t.Failed() {
			out, _ := s.command("log", ids[1+n]).CombinedOutput()
			t.Logf("%s", out)
		}
	}
	s.ranOnce("ended")
	s.ranOnce("since") // it had been sent
	for _, id := range []string{since, late} {
		out, _ := s.command("status", id).CombinedOutput()
		if !strings.Contains(string(out), "no such job") {
			t.Errorf("%s: %s", id, out)
		}
	}
	time.Sleep(3 * time.Second)
	if out, err := exec.Command(s.grid, "scheduler", "doctor", "--file", filepath.Join(s.dir, "s0.toml")).CombinedOutput(); err != nil || !strings.Contains(string(out), "ledger") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	s.balanced()
}

// settle waits for the ends of jobs, and tells of how many the site knew nothing any more.
func (s *scene) settle(ids []string) (gone int) {
	s.every(time.Second, "all jobs have ended", func() bool {
		var out struct {
			Jobs []struct{ ID, State, Reason string }
		}
		text, _ := s.command(append([]string{"status", "--json"}, ids...)...).Output()
		if json.Unmarshal(text, &out) != nil {
			return false
		}
		over := 0
		gone = 0
		for _, j := range out.Jobs {
			switch {
			case j.State == "done":
				over++
			case j.State == "failed" && strings.Contains(j.Reason, "does not know it any more"):
				over, gone = over+1, gone+1
			case j.State == "failed" || j.State == "cancelled":
				s.t.Fatalf("job %s is %s: %s", j.ID, j.State, j.Reason)
			}
		}
		return over == len(ids)
	})
	return gone
}
