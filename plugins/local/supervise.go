package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// killGrace is how long processes may tidy up between SIGTERM and SIGKILL.
const killGrace = 3 * time.Second

// supervisor runs one job and writes its state.
type supervisor struct {
	dir    string
	spec   spec
	status status
	now    func() time.Time
	log    *slog.Logger
}

var (
	errCancelled = errors.New("cancelled")
	errWallTime  = errors.New("wall time")
	errNoProgram = errors.New("it is neither an input file nor a program of this machine")
)

// RunJob is the supervisor of the job in dir. It returns nil also when the
// job fails: the outcome is in the job's status.
func RunJob(ctx context.Context, dir string, now func() time.Time) error {
	// Waiting, because those who look whether a job has a supervisor hold
	// the lock for a moment.
	l, _, err := lock(filepath.Join(dir, "lock"), true)
	if err != nil {
		return err
	}
	defer l.Close()
	if exists(filepath.Join(dir, "status.json")) {
		return nil // another supervisor has run it
	}
	logFile, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close()
	sv := &supervisor{dir: dir, now: now, log: slog.New(slog.NewTextHandler(logFile, nil))}
	if err := readJSON(filepath.Join(dir, "spec.json"), &sv.spec); err != nil {
		return err
	}
	// Descendants whose parents exit become children of this process, so
	// none of them can get out of sight.
	if err := adoptOrphans(); err != nil {
		sv.log.Warn("cannot become subreaper", "err", err)
	}
	return sv.run(ctx)
}

func (sv *supervisor) run(stop context.Context) error {
	sv.status = status{State: plugins.Running, Started: sv.now()}
	if err := sv.save(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(stop)
	defer cancel(nil)
	if sv.spec.Wall > 0 {
		timer := time.AfterFunc(sv.spec.Wall, func() { cancel(errWallTime) })
		defer timer.Stop()
	}
	go sv.watchCancel(ctx, cancel)
	err := sv.steps(ctx)
	killDescendants(killGrace)
	sv.finish(ctx, err)
	return sv.saveEnd(stop)
}

// saveEnd writes down how the job has ended, on a full disk as soon as there is room: as long as
// this process holds the job's lock nobody takes it for one that died, whose result is lost.
func (sv *supervisor) saveEnd(stop context.Context) error {
	for {
		err := sv.save()
		if err == nil || errors.Is(err, fs.ErrNotExist) { // the job was removed
			return err
		}
		select {
		case <-stop.Done():
			return err
		case <-time.After(saveAgain):
		}
	}
}

// saveAgain is how long to wait with what could not be written down.
const saveAgain = 500 * time.Millisecond

// watchCancel looks for the file that Cancel leaves in the job's directory.
func (sv *supervisor) watchCancel(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		if _, err := os.Stat(filepath.Join(sv.dir, "cancel")); err == nil {
			cancel(errCancelled)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollEvery):
		}
	}
}

// steps runs prologue, executable and epilogue. The exit code kept is the
// executable's, or where that is 0 the epilogue's; where the prologue failed, its own.
func (sv *supervisor) steps(ctx context.Context) error {
	std, err := sv.open()
	if err != nil {
		return err
	}
	defer std.close()
	for _, st := range sv.spec.Steps {
		code, err := sv.step(ctx, st, std)
		if err != nil {
			return err
		}
		if st.Role == "executable" || code != 0 && sv.status.Exit.Or(0) == 0 {
			sv.status.Exit = glue.Some(code)
		}
		if code != 0 && st.Role == "prologue" {
			return fmt.Errorf("prologue %s ended with exit code %d", st.Path, code)
		}
	}
	return nil
}

// startError is that a program could not be started.
type startError struct {
	step
	err error
}

func (e *startError) Error() string {
	return fmt.Sprintf("cannot start %s %s: %v", e.Role, e.Path, e.err)
}
func (e *startError) Unwrap() error { return e.err }

// fault says whose it is that a job failed here: a program that is not there
// or cannot be run, and its own limit, are the job's.
func fault(err error) plugins.Fault {
	if _, ok := errors.AsType[*startError](err); ok || errors.Is(err, errWallTime) {
		return plugins.JobsFault
	}
	return ""
}

// step runs one program to its end. An error means that it did not run to
// its end.
func (sv *supervisor) step(ctx context.Context, st step, std *streams) (exit int, err error) {
	cmd, err := sv.prepared(st)
	if err != nil {
		return 0, err
	}
	std.give(cmd)
	// Pdeathsig is bound to the thread that starts the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sv.log.Info("start", "role", st.Role, "path", cmd.Path, "args", len(st.Args))
	if err := cmd.Start(); err != nil {
		return 0, &startError{st, err}
	}
	used := watchMemory(cmd.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		killDescendants(killGrace)
		<-ended
		sv.account(cmd.ProcessState, used)
		return 0, context.Cause(ctx)
	}
	sv.account(cmd.ProcessState, used)
	return sv.exitCode(st, cmd.ProcessState, err)
}

func (sv *supervisor) exitCode(st step, ps *os.ProcessState, err error) (int, error) {
	if ps == nil {
		return 0, err
	}
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		sv.log.Info("killed", "role", st.Role, "signal", ws.Signal())
		sv.status.Reason = fmt.Sprintf("%s was killed by signal %d (%s)", st.Role, ws.Signal(), ws.Signal())
		return killedBySignal + int(ws.Signal()), nil
	}
	sv.log.Info("end", "role", st.Role, "exit", ps.ExitCode())
	return ps.ExitCode(), sv.notRun(st)
}

// killedBySignal is what shells, and with them the other back-ends, add to the signal that ended a
// program to have its exit code (POSIX.1-2017, XCU 2.8.2).
const killedBySignal = 128

// account adds what a program used.
func (sv *supervisor) account(ps *os.ProcessState, used *memory) {
	if ps == nil {
		used.end(0)
		return
	}
	sv.status.CPU += ps.UserTime() + ps.SystemTime()
	if ru, ok := ps.SysUsage().(*syscall.Rusage); ok {
		sv.status.MaxRSS = max(sv.status.MaxRSS, used.end(residentKB(ru)))
	}
}

// command prepares one program with a clean environment. A name without a
// slash is a file of the job's directory if there is one, else it is looked
// up in the standard path.
func (sv *supervisor) command(st step) (*exec.Cmd, error) {
	work := filepath.Join(sv.dir, "work")
	path := st.Path
	if !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) {
			return nil, fmt.Errorf("%s %s leaves the job's directory", st.Role, path)
		}
		if here := filepath.Join(work, path); exists(here) {
			path = here
		} else if found := lookPath(path); found != "" {
			path = found
		} else {
			return nil, &startError{st, errNoProgram}
		}
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{st.Path}, st.Args...), Dir: work}
	cmd.Env = append([]string{
		"PATH=" + strings.Join(searchPath, ":"), "HOME=" + work, "PWD=" + work, "TMPDIR=" + work,
		"LANG=C.UTF-8", "GRID_JOB_ID=" + sv.spec.ID,
	}, located(sv.spec.Env, work)...)
	cmd.Env = append(cmd.Env, jobTag(sv.spec.ID))
	cmd.SysProcAttr = ownSession()
	return cmd, nil
}

// located is the job's environment with the whole path of its BrokerInfo.
func located(env []string, work string) []string {
	env = slices.Clone(env)
	for i, s := range env {
		name, value, _ := strings.Cut(s, "=")
		if plugins.IsBrokerInfoVariable(jdl.EnvVar{Name: name, Value: value}) {
			env[i] = name + "=" + filepath.Join(work, value)
		}
	}
	return env
}

var searchPath = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}

func lookPath(name string) string {
	for _, dir := range searchPath {
		if p := filepath.Join(dir, name); exists(p) {
			return p
		}
	}
	return ""
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// finish turns the outcome into the job's last state.
func (sv *supervisor) finish(ctx context.Context, err error) {
	sv.status.Ended, sv.status.Fault = sv.now(), fault(err)
	sv.status.Ran = sv.status.Ended.Sub(sv.status.Started)
	switch {
	case err == nil:
		sv.status.State = plugins.Done
		if sv.status.Exit.Or(0) != 0 {
			sv.status.Fault = plugins.JobsFault // by its own code: the user's own machine is no black hole
		}
	case errors.Is(err, errCancelled):
		sv.status.State, sv.status.Reason = plugins.Cancelled, "cancelled by the user"
	case errors.Is(err, errWallTime):
		sv.status.State, sv.status.Reason = plugins.Failed, fmt.Sprintf("reached its wall time limit of %v", sv.spec.Wall)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		sv.status.State, sv.status.Reason = plugins.Failed, "the job's supervisor was told to stop"
	default:
		sv.status.State, sv.status.Reason = plugins.Failed, err.Error()
	}
	sv.log.Info("finished", "state", sv.status.State, "reason", sv.status.Reason)
}

func (sv *supervisor) save() error { return writeJSON(filepath.Join(sv.dir, "status.json"), sv.status) }
