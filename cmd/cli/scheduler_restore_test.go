package cli_test

import (
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An older copy of the database is brought back as docs/operators.md says: jobs that were handed in
// before it was made and were sent since, and have ended and were brought, are found at their site and not run again, and one that was handed in since is not there, and said not to be. The ledger adds up.
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
	for n := range 6 { // some wait, some are booked or sent by then
		ids = append(ids, s.submit(fmt.Sprint("open", n), ""))
	}
	dump := filepath.Join(s.pg, "dump")
	s.asPostgres("pg_dump", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-Fc", "-f", dump, "postgres")
	since := s.submit("since", "")
	s.every(time.Second, "what was handed in has ended and was brought", func() bool { return s.open() == 0 }) // their users have not asked
	late := s.submit("late", "")                                                                               // and is not known to the copy, either
	for _, p := range s.replicas {
		p.Process.Signal(syscall.SIGKILL)
		p.Wait()
	}
	s.asPostgres("psql", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-d", "template1", "-c", "drop database postgres with (force)", "-c", "create database postgres")
	s.asPostgres("pg_restore", "-p", fmt.Sprint(s.pgPort), "-h", "127.0.0.1", "-d", "postgres", dump)
	s.must("scheduler", "init", "--restored", "--file", "s0.toml")
	s.serve(0)
	s.serve(1)
	s.wait(ids)
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

// open is how many jobs have not ended, and been brought.
func (s *scene) open() (n int) {
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("select count(*) from queue where state not in ('done', 'failed', 'cancelled')").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}
