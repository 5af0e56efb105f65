package environment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
		err = &LauncherError{Err: errors.New(s.said())}
	}
	if e, ok := errors.AsType[*LauncherError](err); ok {
		e.Launcher = l.Name()
	}
	return out, err
}

// A supervised is a started launcher and the two pipes to process 1 behind it.
type supervised struct {
	pid     int
	mu      sync.Mutex
	reaped  bool // pid is nobody's, or somebody else's
	control *os.File
	status  *os.File
	words   *os.File // what the launcher's own program said
	gone    chan struct{}
	linger  time.Duration // that it has to end by itself, after its control pipe has
	brief   bool          // nothing of it is needed once process 1 has told the outcome
	boxed   bool          // neither is it then, but it would go on for a while
	first   *first        // process 1, where that is a fork of this process
	argv0   string        // the job's program
	over    atomic.Bool   // the job had more memory than its limit
}

func start(p *process, job *Job, o RunOptions) (s *supervised, err error) {
	var ours, theirs [3]*os.File
	defer func() {
		for i := range theirs {
			theirs[i].Close() // nil is an error that says nothing
			if err != nil {
				ours[i].Close()
			}
		}
	}()
	for i := range ours {
		if ours[i], theirs[i], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	ours[0], theirs[0] = theirs[0], ours[0] // control goes inwards
	errs, err := orNull(o.Stderr)
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	in, out := cmp.Or(o.Stdin, null), cmp.Or(o.Stdout, null)
	files := append([]*os.File{in, out, theirs[2], theirs[0], theirs[1], errs}, p.files...)
	if p.around == boxed {
		files[0], files[1] = null, null
		files = append(files, in, out)
	}
	s = &supervised{control: ours[0], status: ours[1], words: ours[2], gone: make(chan struct{})}
	s.boxed = p.around == boxed
	s.brief = p.bundle == nil && p.machine == nil && !s.boxed
	if p.machine != nil {
		s.linger = machineLinger
	}
	if p.forked {
		return s, s.fork(p, job, [5]*os.File{in, out, errs, theirs[0], theirs[1]}, o.Signals)
	}
	if s.pid, err = startClean(p, files, o.Signals); err != nil {
		return nil, err
	}
	return s, s.send(p, job)
}

// fork starts process 1 without a program of its own.
func (s *supervised) fork(p *process, job *Job, files [5]*os.File, signals chan os.Signal) (err error) {
	if s.first, err = newFirst(p.setup, job, files); err != nil {
		return err
	}
	s.argv0 = job.Argv[0]
	s.pid, err = s.first.start(p.attributes().Cloneflags)
	if limit := int64(job.Definition.Limits.Memory); err == nil && limit > 0 {
		go s.watchMemory(limit, waysBelow())
	}
	if signals != nil {
		signal.Notify(signals, PassedSignals()...)
	}
	return err
}

// startClean starts a launcher with SIGTERM ignored until our own program inside takes it: batch systems signal every
// process of a job at once, and the launcher's program must not die before the job was asked. It gets no variables
// that could leak; our program waits, mostly, and needs no collector of garbage and one processor.
func startClean(p *process, files []*os.File, signals chan os.Signal) (pid int, err error) {
	attr := &syscall.ProcAttr{Env: []string{"PATH=/usr/bin:/bin", "GOGC=off", "GOMAXPROCS=1"}, Sys: p.attributes()}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	// What this process was started with, such as a folder that somebody left open, is of use to nobody further on.
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) {
		return 0, err
	}
	signal.Ignore(syscall.SIGTERM)
	pid, err = syscall.ForkExec(p.argv[0], p.argv, attr)
	if signals == nil {
		signal.Reset(syscall.SIGTERM)
	} else {
		signal.Notify(signals, PassedSignals()...) // which takes as long as our program inside to begin: both at once
	}
	return pid, err
}

// orNull is a descriptor of its own for a stream, or for /dev/null.
func orNull(f *os.File) (*os.File, error) {
	if f == nil {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	return os.NewFile(uintptr(fd), f.Name()), err
}

func (s *supervised) send(p *process, job *Job) error {
	t := task{
		Argv: job.Argv, Env: variables(job), Dir: SandboxTarget, Limits: job.Definition.Limits,
		Nested: job.Definition.Nested, Setup: cmp.Or(p.setup, p.rest), User: p.user, Streams: p.streams(), Machine: p.machine,
	}
	if lim, ok := startersFiles(); ok {
		t.Files = lim.Cur
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
	ended := make(chan result, 2)
	go func() {
		out, err := readOutcome(s.status, s.explain)
		if err == nil && s.brief && !out.Cut { // process 1 is alone and ends, which takes its namespaces a while
			ended <- result{out, err}
			runtime.Gosched() // the only thread would stay with the launcher
		}
		if err == nil && s.boxed && !out.Cut {
			s.kill() // what podman would still do, tidy up, goes with its namespaces
		}
		s.reap()
		s.status.Close()
		ended <- result{out, err}
	}()
	var deadline <-chan time.Time
	if wall > 0 {
		t := time.NewTimer(time.Duration(wall))
		defer t.Stop()
		deadline = t.C
	}
	outOfTime, told := false, syscall.Signal(0)
	for {
		select {
		case r := <-ended:
			r.out.OutOfTime, r.out.Told = outOfTime, told
			r.out.OutOfSpace = r.out.OutOfSpace || s.over.Load()
			return r.out, r.err
		case sig := <-o.Signals:
			s.pass(sig)
			told, _ = sig.(syscall.Signal)
		case <-deadline:
			outOfTime, deadline = true, nil
			go s.end(o.Grace)
		case <-ctx.Done():
			ctx = context.WithoutCancel(ctx)
			go s.end(o.Grace)
		}
	}
}

// watchMemory kills a job that holds more than its limit, looked at twice a second, and down to once in two where a look at all
// processes of a busy node takes long.
func (s *supervised) watchMemory(limit int64, below func(pid int) []int) {
	for wait := memoryWatch; ; {
		select {
		case <-s.gone:
			return
		case <-time.After(wait):
		}
		begin := time.Now()
		if residentBytes(below(s.pid)) > limit {
			s.over.Store(true)
			s.kill()
			return
		}
		wait = min(max(memoryWatch, 20*time.Since(begin)), 4*memoryWatch)
	}
}

const memoryWatch = 500 * time.Millisecond

// explain tells what a word of process 1 means that readOutcome does not know; nil: nothing.
func (s *supervised) explain(word, rest string) error {
	if s.first == nil || word != wordCall && word != wordStart {
		return nil
	}
	return s.first.explain(word, rest, s.argv0)
}

// reap waits for the launcher itself. Its number stays its own until it is reaped under the lock.
func (s *supervised) reap() {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, s.pid, &info, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	syscall.Wait4(s.pid, nil, 0, nil)
	s.reaped = true
	close(s.gone)
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
	if s.linger > 0 {
		select {
		case <-s.gone:
		case <-time.After(s.linger):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reaped {
		syscall.Kill(s.pid, syscall.SIGKILL)
	}
}

// said is the first part of what the launcher's program, which has ended, said about itself.
func (s *supervised) said() string {
	s.words.SetReadDeadline(time.Now().Add(time.Second)) // something of its own may hold the other end
	text := make([]byte, 1024)
	n, err := s.words.Read(text)
	if n == 0 && err != nil {
		return "it ended without a word"
	}
	return strings.TrimSpace(string(text[:n]))
}
