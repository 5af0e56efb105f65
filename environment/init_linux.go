package environment

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Init is process 1 inside an environment: it makes what its launcher left to it, closes the doors (keys, capabilities,
// new privileges, seccomp, limits), starts the job and waits for it. It ends when the job or its supervisor ends, and
// the kernel then kills what is left in its process namespace.
//
// It is started for every job, and so does without files that Go's poller watches, and with as few threads as it can.
func Init() int {
	runtime.LockOSThread() // the job inherits what this thread gives up
	status := fd(statusFD)
	for _, n := range []int{controlFD, statusFD, stderrFD} {
		unix.CloseOnExec(n)
	}
	keepSignals()
	control := bufio.NewReader(fd(controlFD))
	t, err := readTask(control)
	if err == nil {
		err = t.prepare()
	}
	if err != nil {
		fmt.Fprintf(status, "unfit %s\n", oneLine(err))
		return exitNotDeployed
	}
	if len(t.Argv) == 0 {
		fmt.Fprint(status, "started\nexit 0\n")
		return 0
	}
	return t.supervise(control, status)
}

// fd is an open descriptor, read and written as it is: without the poller's thread.
type fd int

// Read implements io.Reader.
func (f fd) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Write implements io.Writer. A signal ends a call that has written a part to a pipe; the rest is written by the next one.
func (f fd) Write(p []byte) (int, error) {
	for done := 0; ; {
		n, err := unix.Write(int(f), p[done:])
		if done += max(n, 0); errors.Is(err, unix.EINTR) {
			err = nil
		}
		if err != nil || done == len(p) {
			return done, err
		}
	}
}

// keepSignals sees to it that batch systems, which signal every process of a job, do not end process 1: what has the
// default action does not reach the first process of a namespace (pid_namespaces(7)). Elsewhere they are caught and
// dropped. Neither is passed on to the job, as being ignored would be.
func keepSignals() {
	list := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
	if os.Getpid() != 1 {
		for _, sig := range list {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
		return
	}
	var byDefault [4]uint64 // struct sigaction of the kernel: handler SIG_DFL, no flags, an empty mask
	for _, sig := range list {
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	}
}

func (t *task) prepare() error {
	if t.Setup != nil {
		if err := t.Setup.make(); err != nil {
			return err
		}
	}
	if err := t.takeStreams(); err != nil {
		return err
	}
	closeFrom(firstFile)
	if err := t.limit(); err != nil {
		return err
	}
	c := &calls{}
	leaveKeys(c)
	switch {
	case t.User != nil: // the job gets a namespace of its user, and the rest there
		shut(c)
		keepCapabilities(c, 1<<unix.CAP_SETFCAP)
		filterCalls(c, true)
	case os.Getpid() != 1: // proot, which traces, has no namespace and gives no capabilities
		noNewPrivileges(c)
		keepCapabilities(c, 0)
		filterCalls(c, t.Nested)
	default:
		dropPrivileges(c)
		filterCalls(c, t.Nested)
	}
	return c.run()
}

// takeStreams puts the job's standard input and output in their places.
func (t *task) takeStreams() error {
	for n := range 2 {
		if t.Streams == 0 {
			return nil
		}
		if err := unix.Dup3(t.Streams+n, n, 0); err != nil {
			return fmt.Errorf("the job's streams: %w", err)
		}
	}
	return nil
}

// closeFrom sees to it that no descriptor from outside reaches the job.
func closeFrom(first uint) {
	unix.CloseRange(first, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
}

// limit sets what setrlimit can bound; memory is watched, since an address space says little about it.
func (t *task) limit() error {
	own, _ := os.ReadDir("/proc/self/task")
	processes := withOwn(t.Limits.Processes, len(own))
	if t.User != nil {
		processes = 0 // see jobEntry
	}
	if t.Limits.OpenFiles == 0 && t.Files > 0 { // some launchers' programs raise it
		var lim unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(t.Files, lim.Max), Max: lim.Max}); err != nil {
			return fmt.Errorf("limit of open files: %w", err)
		}
	}
	for _, b := range t.Limits.bounds(processes) {
		v := uint64(b.value)
		if err := unix.Setrlimit(b.which, &unix.Rlimit{Cur: v, Max: v}); err != nil {
			return fmt.Errorf("limit of %s: %w", b.name, err)
		}
	}
	return nil
}

// A bound is a limit of the kernel's.
type bound struct {
	name  string
	which int
	value int64
}

// bounds are those of the kernel's limits that are set.
func (l *Limits) bounds(processes int64) []bound {
	list := []bound{
		{"file size", unix.RLIMIT_FSIZE, int64(l.FileSize)},
		{"processes", unix.RLIMIT_NPROC, processes},
		{"open files", unix.RLIMIT_NOFILE, int64(l.OpenFiles)},
	}
	list = slices.DeleteFunc(list, func(b bound) bool { return b.value == 0 })
	return append(list, bound{"core", unix.RLIMIT_CORE, 0})
}

// withOwn adds to a limit of processes what process 1 itself takes: the kernel counts threads.
func withOwn(n, threads int) int64 {
	if n == 0 {
		return 0
	}
	return int64(n + threads + 4)
}

// supervise starts the job and passes on what comes over the control pipe.
func (t *task) supervise(control *bufio.Reader, status io.Writer) int {
	program, err := lookPath(t.Argv[0], t.Env, t.Dir)
	if err != nil {
		fmt.Fprintf(status, "failed %s\n", oneLine(err))
		return 127
	}
	child, err := t.start(program)
	if err != nil {
		fmt.Fprintf(status, "failed cannot start %s: %v\n", t.Argv[0], err)
		return 126
	}
	fmt.Fprintln(status, "started")
	for _, n := range []int{0, 1, stderrFD} { // the job's alone: whoever reads them sees its end
		unix.Close(n)
	}
	go obey(control, child)
	if t.Limits.Memory > 0 {
		go watchMemory(int64(t.Limits.Memory), status)
	}
	ws := reap(child)
	endRest()
	if ws.Signaled() {
		fmt.Fprintf(status, "signal %d\n", ws.Signal())
		return 128 + int(ws.Signal())
	}
	fmt.Fprintf(status, "exit %d\n", ws.ExitStatus())
	return ws.ExitStatus()
}

func (t *task) start(program string) (child int, err error) {
	if t.User != nil {
		return t.enter(program)
	}
	return syscall.ForkExec(program, t.Argv, &syscall.ProcAttr{
		Dir: t.Dir, Env: t.Env, Files: []uintptr{0, 1, stderrFD}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// obey passes signals to the job. When the supervisor is gone, nobody waits for the job any more: all of it is killed.
func obey(control *bufio.Reader, child int) {
	for {
		n, err := control.ReadByte()
		if err != nil {
			killAll()
			os.Exit(137)
		}
		syscall.Kill(child, syscall.Signal(n))
	}
}

// killAll kills every process of this process namespace but this one; outside a namespace of its own it does nothing.
func killAll() {
	if os.Getpid() == 1 {
		syscall.Kill(-1, syscall.SIGKILL)
	}
}

// reap waits for children until the job itself has ended: process 1 inherits those whose parents died.
func reap(child int) syscall.WaitStatus {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if pid == child || err != nil && !errors.Is(err, syscall.EINTR) {
			return ws
		}
	}
}

// endRest kills what the job left behind and waits until it is gone, so that what is said of the job's end is the end of
// all that it started.
func endRest() {
	if os.Getpid() != 1 {
		return
	}
	killAll()
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return // no child is left
		}
	}
}

// watchMemory kills the job when all processes inside together hold more than the limit, looked at twice a second.
func watchMemory(limit int64, status io.Writer) {
	for {
		time.Sleep(500 * time.Millisecond)
		if residentBytes(processesInside()) > limit {
			fmt.Fprintln(status, "memory")
			killAll()
		}
	}
}

// lookPath finds a program as execvp does, by the job's own PATH, inside the tree.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, v := range env {
		list, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, d := range filepath.SplitList(list) {
			if full := filepath.Join(d, name); executable(full) == nil {
				return full, nil
			}
		}
	}
	return "", fmt.Errorf("%s: no such program in the environment's PATH", name)
}
