package environment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// RunOptions are what the supervisor of a job needs besides the job.
type RunOptions struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Signals are passed on to the job; the supervisor of a whole program gives those it was sent.
	Signals <-chan os.Signal
	// Grace is how long a job has after SIGTERM; 0: 10 s.
	Grace time.Duration
}

// Run runs a job and waits for its end. It leaves no process behind: process 1 inside ends with its supervisor, and
// with it all that the job started. A job whose context ends, or whose wall time is over, gets SIGTERM and, after the
// grace time, SIGKILL. Errors are *StartError where the job never ran.
func Run(ctx context.Context, l Launcher, job *Job, o RunOptions) (Outcome, error) {
	p, err := l.Command(job)
	if err != nil {
		return Outcome{}, &StartError{err.Error()}
	}
	defer p.close()
	s, err := start(p, job, o)
	if err != nil {
		return Outcome{}, &StartError{err.Error()}
	}
	return s.wait(ctx, job.Definition.Limits.WallTime, o)
}

// A supervised is a started launcher and the two pipes to process 1 behind it.
type supervised struct {
	cmd     *exec.Cmd
	control *os.File
	status  *os.File
	words   *tail // what the launcher itself said, where the job's stderr goes elsewhere
}

func start(p *process, job *Job, o RunOptions) (*supervised, error) {
	controlIn, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlIn.Close()
	status, statusOut, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer statusOut.Close()
	s := &supervised{control: control, status: status, words: &tail{}}
	s.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	s.cmd.Env = []string{"PATH=/usr/bin:/bin"} // bwrap gets nothing that could leak
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	if o.Stderr == nil {
		s.cmd.Stderr = s.words
	}
	s.cmd.ExtraFiles = append([]*os.File{controlIn, statusOut}, p.files...)
	s.cmd.SysProcAttr = p.attributes()
	if err := startClean(s.cmd); err != nil {
		control.Close()
		status.Close()
		return nil, err
	}
	return s, s.send(p, job)
}

// startClean starts a command with a session keyring of its own, so that the job cannot read the starter's, and with
// SIGTERM ignored until our own program inside takes it: batch systems signal every process of a job at once, and the
// launcher's program must not die before the job was asked.
func startClean(cmd *exec.Cmd) error {
	runtime.LockOSThread() // keyrings are a thread's; this one is not used again
	_, _, e := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0) // 0: a new one without a name
	if e != 0 && e != unix.ENOSYS && e != unix.EPERM {
		runtime.UnlockOSThread()
		return fmt.Errorf("session keyring: %w", e)
	}
	return startIgnoring(cmd, syscall.SIGTERM)
}

func startIgnoring(cmd *exec.Cmd, sig os.Signal) error {
	signal.Ignore(sig)
	defer signal.Reset(sig)
	return cmd.Start()
}

func (s *supervised) send(p *process, job *Job) error {
	t := task{
		Argv: job.Argv, Env: variables(job), Dir: SandboxTarget, Limits: job.Definition.Limits,
		Nested: job.Definition.Nested, Setup: p.setup,
	}
	line, err := json.Marshal(t)
	if err == nil {
		_, err = s.control.Write(append(line, '\n'))
	}
	if err != nil && !strings.Contains(err.Error(), "broken pipe") { // the launcher failed: its status tells
		s.kill()
		return err
	}
	return nil
}

func (s *supervised) wait(ctx context.Context, wall Duration, o RunOptions) (Outcome, error) {
	defer s.control.Close()
	type result struct {
		out Outcome
		err error
	}
	ended := make(chan result, 1)
	go func() {
		out, err := readOutcome(s.status)
		s.status.Close()
		s.cmd.Wait()
		ended <- result{out, err}
	}()
	var deadline <-chan time.Time
	if wall > 0 {
		t := time.NewTimer(time.Duration(wall))
		defer t.Stop()
		deadline = t.C
	}
	outOfTime := false
	for {
		select {
		case r := <-ended:
			r.out.OutOfTime = outOfTime
			return r.out, s.explain(r.err)
		case sig := <-o.Signals:
			s.pass(sig)
		case <-deadline:
			outOfTime, deadline = true, nil
			go s.end(o.Grace)
		case <-ctx.Done():
			ctx = context.WithoutCancel(ctx)
			go s.end(o.Grace)
		}
	}
}

// explain adds what the launcher's own program said to a job that was not started.
func (s *supervised) explain(err error) error {
	if failed, ok := err.(*StartError); ok && s.words.String() != "" {
		return &StartError{failed.Why + ": " + s.words.String()}
	}
	return err
}

// pass hands a signal on to the job.
func (s *supervised) pass(sig os.Signal) {
	if n, ok := sig.(syscall.Signal); ok {
		s.control.Write([]byte{byte(n)}) // a process 1 that is gone needs none
	}
}

// end asks the job to end, and kills everything when the grace time is over.
func (s *supervised) end(grace time.Duration) {
	if grace == 0 {
		grace = 10 * time.Second
	}
	s.pass(syscall.SIGTERM)
	time.Sleep(grace)
	s.kill()
}

// kill ends the launcher; process 1 inside sees its control pipe end, and goes with all it started.
func (s *supervised) kill() {
	s.control.Close()
	s.cmd.Process.Kill()
}

// A tail keeps the first part of what a launcher says about itself.
type tail struct{ text bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if room := 1024 - t.text.Len(); room > 0 {
		t.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(t.text.String()) }
