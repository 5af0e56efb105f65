package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slurm is a real Slurm of this test alone, reached over SSH. It has no
// accounting and forgets ended jobs after two seconds.
type slurm struct {
	t    *testing.T
	dir  string // its state
	conf string
	port int // the first of its ports
}

func newSlurm(t *testing.T, port int) *slurm {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to start a Slurm of its own")
	}
	if _, err := os.Stat("/usr/sbin/slurmctld"); err != nil {
		t.Skip("no Slurm here")
	}
	top, err := os.MkdirTemp("", "slurm") // below a path that is short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	s := &slurm{t: t, dir: filepath.Join(top, "slurm"), conf: filepath.Join(top, "slurm", "slurm.conf"), port: port}
	t.Cleanup(func() {
		s.script(top, "down.sh")
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	s.script(top, "up.sh", "--no-accounting")
	return s
}

func (s *slurm) script(top, name string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", "testdata", "testbed", "slurm", name), args...)
	cmd.Env = append(os.Environ(), "GRID_TESTBED_DIR="+top, fmt.Sprint("GRID_TESTBED_SLURM_PORT=", s.port), "GRID_TESTBED_SLURM_MINJOBAGE=2")
	log, err := os.Create(filepath.Join(top, name+".log")) // a pipe would be held open by the daemons
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name()) // beside the error itself
		s.t.Fatalf("%s: %v\n%s", name, err, said)
	}
}

// user is somebody who reaches the cluster over SSH, and the cluster's URL.
func (s *slurm) user(t *testing.T) (*world, string) {
	t.Helper()
	w, urls := userOf(t, s)
	return w, urls[0]
}

// userOf is somebody who reaches all the clusters over SSH, and their URLs.
func userOf(t *testing.T, clusters ...*slurm) (w *world, urls []string) {
	t.Helper()
	w = newMachine(t)
	var config strings.Builder
	for i, s := range clusters {
		text, err := os.ReadFile(filepath.Join(s.dir, "ssh", "config"))
		if err != nil {
			t.Fatal(err)
		}
		host := fmt.Sprint("cluster", i)
		config.WriteString(strings.Replace(string(text), "Host gridlab", "Host "+host, 1))
		urls = append(urls, "slurm+ssh://"+host+filepath.Join(w.dir, "jobs"+strconv.Itoa(i)))
	}
	if err := os.Mkdir(filepath.Join(w.dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, ".ssh", "config"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return w, urls
}

// Where there is no accounting and the controller has forgotten a job, its end
// and its exit code are known all the same, and its output is brought.
func TestSlurmWithoutAccounting(t *testing.T) {
	t.Parallel()
	s := newSlurm(t, 27801)
	w, url := s.user(t)
	files := append(w.jobs(1, "echo well"), filepath.Join(w.dir, "bad.jdl"))
	if err := os.WriteFile(files[1], []byte(`JobName = "bad"; Executable = "/bin/sh"; Arguments = "-c 'exit 3'";`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, msg, code := w.try(append([]string{"submit", "--no-cache", "--info", url}, files...)...); code != 0 {
		t.Fatal(msg)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		cmd := exec.Command("scontrol", "--oneliner", "show", "jobs")
		cmd.Env = append(os.Environ(), "SLURM_CONF="+s.conf)
		if out, err := cmd.Output(); err == nil && !bytes.Contains(out, []byte("JobId=")) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the controller does not forget jobs")
		}
	}
	ended := map[int]string{} // ids by exit code
	for _, j := range w.status() {
		if j.State != "done" || j.ExitCode == nil {
			t.Fatalf("%+v", j)
		}
		ended[*j.ExitCode] = j.ID
	}
	if len(ended) != 2 || ended[0] == "" || ended[3] == "" {
		t.Fatalf("exit codes and jobs %v, want 0 and 3", ended)
	}
	out, msg, code := w.try("cat", ended[0], "out")
	if out != "well\n" || code != 0 {
		t.Errorf("output %q, exit code %d\n%s", out, code, msg)
	}
}

// sshd dies in the middle of a submission in bulk, and is started again: what
// Slurm has is recorded, once, and what is recorded as sent is there.
func TestSSHDDies(t *testing.T) {
	t.Parallel()
	s := newSlurm(t, 28801)
	for _, taken := range []int{0, 1, 10} {
		w, url := s.user(t)
		var said bytes.Buffer
		cmd := w.command(append([]string{"submit", "--no-cache", "--info", url}, w.jobs(20, "sleep 600")...)...)
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if taken == 0 && len(s.sessions(t)) > 1 || taken > 0 && s.ours(t, w) >= taken {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("Slurm does not take %d jobs\n%s", taken, said.String())
			}
		}
		for _, pid := range s.sessions(t) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				t.Error(err)
			}
		}
		time.Sleep(2 * time.Second)
		if out, err := exec.Command("/usr/sbin/sshd", "-f", filepath.Join(s.dir, "ssh", "sshd_config"), "-E", filepath.Join(s.dir, "log", "sshd.log")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		err := cmd.Wait()
		w.agreeWith(func() map[string]int { return w.atSlurm(s.conf) }, fmt.Sprintf("killed after %d jobs (%v, %s)", taken, err, said.String()))
		w.try("cancel", "--all")
	}
}

// agreeWith compares the records with what there is after something was broken.
func (w *world) agreeWith(there func() map[string]int, broken string) {
	w.t.Helper()
	recorded := map[string]jobLine{}
	for _, j := range w.settle("submitting") {
		recorded[j.ID] = j
	}
	has, accepted := there(), 0
	for id, j := range recorded {
		if has[id] > 1 || strings.Contains("accepted preparing queued running", j.State) != (has[id] == 1) {
			w.t.Errorf("%s: job %s is %s and is there %d times", broken, id, j.State, has[id])
		}
		accepted += has[id]
	}
	w.t.Logf("%s: %d recorded, %d there", broken, len(recorded), accepted)
}

// sessions are the SSH daemon and all its sessions, the daemon first.
func (s *slurm) sessions(t *testing.T) []int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "run", "sshd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	all := []int{daemon}
	for i := 0; i < len(all); i++ {
		children, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(all[i]), "task", strconv.Itoa(all[i]), "children"))
		if err != nil {
			continue // it has ended
		}
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			if name, err := os.ReadFile(filepath.Join("/proc", child, "comm")); err == nil && strings.TrimSpace(string(name)) == "sshd" {
				all = append(all, pid) // commands go on as they do when a connection is lost
			}
		}
	}
	return all
}
