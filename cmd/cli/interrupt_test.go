package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that is busy with something that does not listen ends within a
// second of a signal, whichever.
func TestSignalsEndEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Requirements that take long to read and to judge: an expression that runs into its
	// bound is one of many.
	job := filepath.Join(dir, "slow.jdl")
	slow := `regexp("(a*)*(a*)*(a*)*(a*)*b\\1\\2$", "` + strings.Repeat("a", 4000) + `")`
	text := `Executable = "/bin/true"; Requirements = ` + slow + strings.Repeat(" || "+slow, 3000) + `;`
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, args := range [][]string{{"match", "--info", "local:", job}, {"jdl", "check", fifo}, {"resources", "--info", "file:" + fifo}} {
			cmd := exec.Command("grid", args...)
			cmd.Env = append(os.Environ(), "HOME="+dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended: // it was fast enough
				continue
			case <-time.After(700 * time.Millisecond):
			}
			start := time.Now()
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				cmd.Process.Kill()
				<-ended
			}
			if code, want := cmd.ProcessState.ExitCode(), 128+int(sig); code != want {
				t.Errorf("%v, %v: exit code %d, want %d", args, sig, code, want)
			}
			if took := time.Since(start); took > 4*time.Second { // a second, and the rest for a machine that is busy
				t.Errorf("%v, %v: ended after %v", args, sig, took)
			}
		}
	}
}
