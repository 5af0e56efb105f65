//go:build linux

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/testdata/testbed"
)

// pseudoTerminal is both ends of one.
func pseudoTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

// told collects what a command says.
type told struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *told) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *told) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

func (s *told) wait(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !s.has(text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing says %q within a minute", text)
		}
	}
}

// thinker starts grid run at a terminal, and returns when its job has begun.
func thinker(t *testing.T, errs *told) (cmd *exec.Cmd, master *os.File) {
	t.Helper()
	master, slave := pseudoTerminal(t)
	var out told
	cmd = exec.Command("grid", "run", "--name", "thinker", "--", "sh", "-c", "echo begun; sleep 60")
	cmd.Env = append(os.Environ(), "HOME="+testbed.Home(t))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	out.wait(t, "begun")
	return cmd, master
}

// TestInterruptedRunWaitsForTheAnswer: who interrupts grid run at a terminal is asked
// whether to cancel, and may take longer to answer than a command that was told to end has.
func TestInterruptedRunWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"y\n": "cancelled", "n\n": "the job goes on"} {
		var errs told
		cmd, master := thinker(t, &errs)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		errs.wait(t, "(thinker)? [y/N]")
		time.Sleep(1500 * time.Millisecond) // twice what a command has that was told to end
		if _, err := master.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its exit code is judged
		if code := cmd.ProcessState.ExitCode(); code != 130 || !errs.has(want) {
			t.Errorf("answer %q: exit code %d: %s", answer, code, errs.text.String())
		}
	}
}

// TestRunInterruptedTwice: a second Ctrl-C at the question of an interrupted grid run is a no, and how to go on is said.
func TestRunInterruptedTwice(t *testing.T) {
	t.Parallel()
	var errs told
	cmd, _ := thinker(t, &errs)
	for range 2 {
		time.Sleep(200 * time.Millisecond) // two signals of one moment are one
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		errs.wait(t, "(thinker)? [y/N]")
	}
	_ = cmd.Wait() // its exit code is judged
	if code := cmd.ProcessState.ExitCode(); code != 130 || !errs.has("\ngrid: interrupted; the job goes on: grid watch ") {
		t.Errorf("exit code %d: %s", code, errs.text.String())
	}
}

// TestInterruptedQuestionIsNo: who interrupts the question whether jobs are to be removed is told that nothing was done, and
// not to look up what was under way.
func TestInterruptedQuestionIsNo(t *testing.T) {
	t.Parallel()
	home := "HOME=" + testbed.Home(t)
	run := exec.Command("grid", "run", "--", "true")
	run.Env = append(os.Environ(), home)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, slave := pseudoTerminal(t)
	var errs told
	cmd := exec.Command("grid", "clean", "--all")
	cmd.Env = append(os.Environ(), home)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &errs, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	errs.wait(t, "clean 1 job? [y/N]")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code is judged
	if code := cmd.ProcessState.ExitCode(); code != 130 || !errs.has("\ngrid: nothing was done") || errs.has("looks up") {
		t.Errorf("exit code %d: %s", code, errs.text.String())
	}
}

// TestQuestionCountsWhatIsCancelled: the question before cancel counts the jobs that have not ended, and is not asked where
// all have.
func TestQuestionCountsWhatIsCancelled(t *testing.T) {
	t.Parallel()
	home := "HOME=" + testbed.Home(t)
	grid := func(in *os.File, words ...string) string {
		cmd := exec.Command("grid", words...)
		cmd.Env, cmd.Stdin = append(os.Environ(), home), in
		out, err := cmd.CombinedOutput()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
		return string(out)
	}
	answered := func(answer string) *os.File {
		master, slave := pseudoTerminal(t)
		if _, err := master.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		return slave
	}
	grid(nil, "run", "--", "true")
	if said := grid(answered("n\n"), "cancel", "--all"); strings.Contains(said, "?") {
		t.Errorf("where all have ended: %s", said)
	}
	file := filepath.Join(t.TempDir(), "j.jdl")
	if err := os.WriteFile(file, []byte(`Executable = "/bin/sleep"; Arguments = "100";`), 0o600); err != nil {
		t.Fatal(err)
	}
	grid(nil, "submit", file)
	if said := grid(answered("y\n"), "cancel", "--all"); !strings.Contains(said, "cancel 1 job? [y/N]") || strings.Contains(said, "nothing was done") {
		t.Errorf("with one of two: %s", said)
	}
}
