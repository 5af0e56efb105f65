package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A jobEntry is what the second stage of a job starts that is another user than process 1 of its environment.
type jobEntry struct {
	Program string   `json:"program"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Nested  bool     `json:"nested"`
	// Processes bounds those of the job; 0: unlimited. The kernel counts those of a user in a namespace of users, and in the
	// one above there may be a launcher's.
	Processes int `json:"processes,omitempty"`
}

// Descriptors of the second stage: its jobEntry comes in at one, what kept it from starting goes out at the other.
const (
	entryFD  = 3
	refuseFD = 4
)

// enter starts the job as its own user, in a user namespace below that of process 1: our program, once more, closes the
// doors there and becomes the job. Process 1 has CAP_SETFCAP until then, without which nobody may give its user 0 another
// name (user_namespaces(7)).
func (t *task) enter(program string) (child int, err error) {
	var in, refused [2]int
	for _, p := range []*[2]int{&in, &refused} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return 0, err
		}
	}
	child, err = syscall.ForkExec("/proc/self/exe", []string{"grid-launch", "enter"}, &syscall.ProcAttr{
		Dir: t.Dir, Env: []string{"GOMAXPROCS=1", "GOGC=off"},
		Files: []uintptr{0, 1, stderrFD, uintptr(in[0]), uintptr(refused[1])},
		Sys: &syscall.SysProcAttr{
			Setsid: true, Cloneflags: unix.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SETPCAP},
			UidMappings: []syscall.SysProcIDMap{{ContainerID: t.User.UID, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: t.User.GID, HostID: os.Getegid(), Size: 1}},
		},
	})
	unix.Close(in[0])
	unix.Close(refused[1])
	if err == nil {
		c := &calls{}
		keepCapabilities(c, 0)
		err = c.run()
	}
	if err == nil {
		err = json.NewEncoder(fd(in[1])).Encode(jobEntry{program, t.Argv, t.Env, t.Nested, t.Limits.Processes})
	}
	unix.Close(in[1])
	if err != nil {
		return child, err
	}
	why, err := io.ReadAll(io.LimitReader(fd(refused[0]), 4096)) // ends when the job's program has begun
	unix.Close(refused[0])
	if len(why) > 0 {
		return child, errors.New(string(why))
	}
	return child, err
}

// becomeJob is the second stage; it returns only where the job does not start.
func becomeJob() int {
	runtime.LockOSThread()
	unix.CloseOnExec(entryFD)
	unix.CloseOnExec(refuseFD)
	var e jobEntry
	err := json.NewDecoder(fd(entryFD)).Decode(&e)
	if err == nil {
		c := &calls{}
		noNewPrivileges(c)
		keepCapabilities(c, 0)
		filterCalls(c, e.Nested)
		err = inOrder(c.run, e.limit, func() error { return syscall.Exec(e.Program, e.Argv, e.Env) })
	}
	fmt.Fprint(fd(refuseFD), err)
	return 126
}

// limit comes last: nothing of ours may start a thread after it.
func (e *jobEntry) limit() error {
	if e.Processes == 0 {
		return nil
	}
	n := uint64(e.Processes)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limit of processes: %w", err)
	}
	return nil
}

// veil is a stage before a runtime that refuses nodes with control groups of both versions, in a mount namespace of its
// own: it sees none, and then makes none.
func veil(argv []string) error {
	if err := cover("/sys/fs/cgroup", "tmpfs", "size=4k"); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

// box is a stage before podman, as process 1 of namespaces made for it: it sees its own processes alone, no control groups,
// and an empty folder for all that it writes.
func box(argv []string) error {
	if err := boxIn(); err != nil {
		return err
	}
	return syscall.Exec(argv[0], argv, podmanEnv())
}

// cell is the same before apptainer, "MOUNTS PROGRAM ARG...", with what it is to mount to, which it does not make itself.
func cell(args []string) error {
	mounts, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := boxIn(); err != nil {
		return err
	}
	places := []string{"/bin", "/dev", "/proc", podTree, podSandbox}
	for i := range mounts {
		places = append(places, podMount(i))
	}
	for _, at := range places {
		if err := os.MkdirAll(cellRoot+at, 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{cellRoot + cellInit: "", cellConfig: apptainerConfig} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			return err
		}
	}
	return syscall.Exec(args[1], args[1:], podmanEnv())
}

// boxIn makes what a launcher's program sees that has namespaces of its own.
func boxIn() error {
	signal.Ignore(syscall.SIGTERM) // which it passes on, and the job gets from its supervisor alone
	return inOrder(
		func() error { return cover("/proc", "proc", "") },
		func() error { return cover("/sys/fs/cgroup", "tmpfs", "size=4k") },
		func() error { return cover(podDir, "tmpfs", "size=64m") },
		func() error { return os.Mkdir(podDir+"/root", 0o755) },
	)
}

// cover mounts something new over a folder of the node, for a launcher's program alone; what is not there needs none.
func cover(at, kind, data string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	err := unix.Mount(kind, at, kind, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, data)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("mount %s at %s: %w", kind, at, err)
	}
	return nil
}

// stage runs one of the stages that our program has between a launcher and a job: "enter", "veil PROGRAM ARG...",
// "box PROGRAM ARG..." or "cell MOUNTS PROGRAM ARG...".
func stage(args []string, errs io.Writer) int {
	switch args[0] {
	case "enter":
		return becomeJob()
	case "box":
		fmt.Fprintln(errs, "grid-launch:", box(args[1:]))
		return exitNotDeployed
	case "cell":
		fmt.Fprintln(errs, "grid-launch:", cell(args[1:]))
		return exitNotDeployed
	case "machine":
		return runMachine(errs)
	case "guest":
		return guest()
	}
	fmt.Fprintln(errs, "grid-launch:", veil(args[1:]))
	return exitNotDeployed
}
