package environment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	Stdin          *os.File
	Stdout, Stderr *os.File // nil: /dev/null
	// Signals gets PassedSignals of this process, which are handed on to the job; nil: none are.
	Signals chan os.Signal
	// Grace is how long a job has after SIGTERM; 0: 10 s.
	Grace time.Duration
}

// Run runs a job and waits for its end. It leaves no process behind: process 1 inside ends with its supervisor, and
// with it all that the job started. A job whose context ends, or whose wall time is over, gets SIGTERM and, after the
// grace time, SIGKILL. Errors are *StartError where the job's program does not start and *LauncherError where the
// launcher does not work here.
func Run(ctx context.Context, l Launcher, job *Job, o RunOptions) (Outcome, error) {
	p, err := l.Command(job)
	if err != nil {
		return Outcome{}, &LauncherError{l.Name(), err}
	}
	defer p.close()
	s, err := start(p, job, o)
	if err != nil {
		return Outcome{}, &LauncherError{l.Name(), err}
	}
	out, err := s.wait(ctx, job.Definition.Limits.WallTime, o)
	if errors.Is(err, errNoInit) {
		err = &LauncherError{l.Name(), errors.New(s.words.String())}
	}
	return out, err
}

// A supervised is a started launcher and the two pipes to process 1 behind it.
type supervised struct {
	cmd     *exec.Cmd
	control *os.File
	status  *os.File
	words   *tail // what the launcher's own program said
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
	s.cmd.Stderr = s.words
	if o.Stdin != nil {
		s.cmd.Stdin = o.Stdin
	}
	if o.Stdout != nil {
		s.cmd.Stdout = o.Stdout
	}
	errs, err := orNull(o.Stderr)
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	s.cmd.ExtraFiles = append([]*os.File{controlIn, statusOut, errs}, p.files...)
	s.cmd.SysProcAttr = p.attributes()
	if err := startClean(s.cmd, o.Signals); err != nil {
		control.Close()
		status.Close()
		return nil, err
	}
	return s, s.send(p, job)
}

// orNull is a descriptor of its own for a stream, or for /dev/null.
func orNull(f *os.File) (*os.File, error) {
	if f == nil {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	return os.NewFile(uintptr(fd), f.Name()), err
}

// startClean starts a command with a session keyring of its own, so that the job cannot read the starter's, and with
// SIGTERM ignored until our own program inside takes it: batch systems signal every process of a job at once, and the
// launcher's program must not die before the job was asked.
func startClean(cmd *exec.Cmd, signals chan os.Signal) error {
	runtime.LockOSThread()                                                           // keyrings are a thread's; this one is not used again
	_, _, e := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0) // 0: a new one without a name
	if e != 0 && e != unix.ENOSYS && e != unix.EPERM {
		runtime.UnlockOSThread()
		return fmt.Errorf("session keyring: %w", e)
	}
	signal.Ignore(syscall.SIGTERM)
	defer func() {
		signal.Reset(syscall.SIGTERM)
		if signals != nil {
			signal.Notify(signals, PassedSignals()...)
		}
	}()
	return cmd.Start()
}

// PassedSignals are those that a supervisor hands on to its job.
func PassedSignals() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
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
			return r.out, r.err
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
