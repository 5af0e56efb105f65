package environment

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A first is process 1 of our own namespaces. It is a fork of its supervisor, and no new program: to start a second Go
// program took a quarter of a launch. A forked process has none of Go's runtime, so that all it does is a list of system
// calls that its supervisor made for it, the start of the job, and a loop that waits for the job's end, all of it without
// memory, locks or threads of its own. What it holds of its supervisor's memory the job cannot read: it is undumpable.
type first struct {
	calls  calls
	args   []string // of this process: what a job sees of process 1
	dir    *byte
	tries  []*byte // paths of the job's program
	argv   []*byte
	env    []*byte
	byDflt [4]uint64 // struct sigaction of the kernel: SIG_DFL, no flags, an empty mask
	mask   uint64    // SIGCHLD alone
	none   uint64
	all    uint64
	old    uint64
	polls  [2]unix.PollFd
	pipe   [2]int32
	buf    [256]byte
	status int32 // of a process that ended
}

// newFirst prepares process 1 of a job; files are the job's standard streams, control and status.
func newFirst(s *setup, job *Job, files [5]*os.File) (*first, error) {
	if len(job.Argv) == 0 {
		return nil, errors.New("there is no command")
	}
	f := &first{args: os.Args[1:], mask: 1 << (unix.SIGCHLD - 1), all: ^uint64(0)}
	c := &f.calls
	c.add(saying("end with the supervisor"), unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, int(unix.SIGKILL))
	c.add(saying("a session"), unix.SYS_SETSID)
	for _, m := range []struct{ name, text string }{
		{"setgroups", "deny"}, {"uid_map", oneID(os.Geteuid())}, {"gid_map", oneID(os.Getegid())},
	} {
		why := saying("the user namespace's %s", m.name)
		c.add(why, unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/self/"+m.name, unix.O_WRONLY|unix.O_CLOEXEC).keep = 1
		c.text(why, m.text)
	}
	takeFiles(c, files)
	s.plan(c)
	leaveKeys(c)
	limits(c, &job.Definition.Limits)
	dropPrivileges(c)
	filterCalls(c, job.Definition.Nested)

	var err error
	if f.dir, err = unix.BytePtrFromString(SandboxTarget); err != nil {
		return nil, err
	}
	env := variables(job)
	if f.argv, err = syscall.SlicePtrFromStrings(job.Argv); err != nil {
		return nil, fmt.Errorf("the job's arguments: %w", err)
	}
	if f.env, err = syscall.SlicePtrFromStrings(env); err != nil {
		return nil, fmt.Errorf("the job's variables: %w", err)
	}
	if f.tries, err = syscall.SlicePtrFromStrings(programPaths(job.Argv[0], env)); err != nil {
		return nil, fmt.Errorf("the job's program: %w", err)
	}
	return f, c.err
}

func oneID(id int) string { return fmt.Sprintf("%d %[1]d 1", id) }

// takeFiles puts a process's files at the first five descriptors and closes all others.
func takeFiles(c *calls, files [5]*os.File) {
	free := controlFD + 2
	for _, f := range files {
		free = max(free, int(f.Fd())+1)
	}
	for i, f := range files {
		c.add(saying("descriptors"), unix.SYS_DUP3, int(f.Fd()), free+i, unix.O_CLOEXEC)
	}
	for i := range files {
		flags := 0
		if i >= controlFD {
			flags = unix.O_CLOEXEC
		}
		c.add(saying("descriptors"), unix.SYS_DUP3, free+i, i, flags)
	}
	c.add(saying("descriptors"), unix.SYS_CLOSE_RANGE, len(files), int(^uint32(0)), 0)
}

// limits sets what setrlimit can bound.
func limits(c *calls, l *Limits) {
	set := func(name string, which int, lim unix.Rlimit) {
		c.add(saying("limit of %s", name), unix.SYS_PRLIMIT64, 0, which, unsafe.Pointer(&lim), 0)
	}
	for _, b := range l.bounds(withOwn(l.Processes, 1)) {
		set(b.name, b.which, unix.Rlimit{Cur: uint64(b.value), Max: uint64(b.value)})
	}
	if lim, ok := startersFiles(); ok && l.OpenFiles == 0 {
		set("open files", unix.RLIMIT_NOFILE, lim)
	}
}

// startersFiles is the number of open files that this process was started with, where that is known to be another one. A
// program of Go's raises its own and does not tell what it was (package syscall): what started it has the same, or it is the
// usual one.
func startersFiles() (lim unix.Rlimit, ok bool) {
	const usual = 1024
	var starters unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil || lim.Cur != lim.Max-1 {
		return lim, false
	}
	if unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, nil, &starters) != nil || starters.Cur == starters.Max-1 {
		starters.Cur = usual
	}
	return unix.Rlimit{Cur: min(starters.Cur, lim.Max), Max: lim.Max}, true
}

// programPaths are those at which execvp would look for a program, by the job's own PATH.
func programPaths(name string, env []string) (list []string) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(SandboxTarget, name)
		}
		return []string{name}
	}
	for _, v := range env {
		if dirs, ok := strings.CutPrefix(v, "PATH="); ok {
			list = list[:0] // of two PATH the last counts, as for the job
			for _, d := range filepath.SplitList(dirs) {
				list = append(list, filepath.Join(cmp.Or(d, "."), name))
			}
		}
	}
	return list
}

// start forks process 1 into its namespaces.
func (f *first) start(flags uintptr) (pid int, err error) {
	pid, e := f.fork(flags)
	if e != 0 {
		return 0, fmt.Errorf("new namespaces: %w", e)
	}
	return pid, nil
}

// Words of process 1 that its supervisor has to explain: which call of the list failed with what, and with what the start
// of the job's program did.
const (
	wordCall  = "call"
	wordStart = "start"
)

// explain turns such a word into an error.
func (f *first) explain(word, rest string, argv0 string) error {
	var i, n int
	if word == wordStart {
		fmt.Sscan(rest, &n)
		if e := syscall.Errno(n); e != unix.ENOENT || strings.Contains(argv0, "/") {
			return &StartError{fmt.Sprintf("cannot start %s: %v", argv0, e)}
		}
		return &StartError{argv0 + ": no such program in the environment's PATH"}
	}
	fmt.Sscan(rest, &i, &n)
	if i < 0 || i >= len(f.calls.why) {
		return errNoInit
	}
	return &LauncherError{Err: f.calls.why[i](syscall.Errno(n))}
}
