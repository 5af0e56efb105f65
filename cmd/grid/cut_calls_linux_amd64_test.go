package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A cutter traces a command and whatever it starts (ptrace(2)) and changes what their calls read and write of
// files below a directory: strace(1) can make a call fail, and not do less than it was asked for.
type cutter struct {
	below string
	// cut gives how much of n bytes a call may read or write, or the error with which it ends. It is asked
	// about calls of more than one byte.
	cut   func(c cutCall) (n uint64, err error)
	made  int // calls that were cut or failed
	under map[int]cutCall
}

// A cutCall is a read or a write of one thread.
type cutCall struct {
	cuttable
	asked uint64
	err   syscall.Errno
}

// A cuttable call of amd64 reads or writes; of its registers one has the file and one the number of bytes.
type cuttable struct {
	writes      bool
	file, bytes func(*syscall.PtraceRegs) *uint64
}

var (
	rdi = func(r *syscall.PtraceRegs) *uint64 { return &r.Rdi }
	rdx = func(r *syscall.PtraceRegs) *uint64 { return &r.Rdx }
	r8  = func(r *syscall.PtraceRegs) *uint64 { return &r.R8 }

	cuttables = map[uint64]cuttable{
		syscall.SYS_READ: {false, rdi, rdx}, syscall.SYS_PREAD64: {false, rdi, rdx}, syscall.SYS_WRITE: {true, rdi, rdx}, syscall.SYS_PWRITE64: {true, rdi, rdx},
		unix.SYS_COPY_FILE_RANGE: {true, rdx, r8},
	}
)

// run runs a command until it and all that it has started have ended.
func (c *cutter) run(t *testing.T, dir string, env, argv []string) {
	t.Helper()
	runtime.LockOSThread() // one thread traces, and waits for what it traces alone
	defer runtime.UnlockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, env, &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Skipf("no process may be traced here: %v", err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WALL, nil); err != nil {
		t.Fatal(err)
	}
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK | syscall.PTRACE_O_TRACEEXEC
	if err := syscall.PtraceSetOptions(cmd.Process.Pid, options); err != nil {
		t.Fatal(err)
	}
	c.under = map[int]cutCall{}
	known := map[int]bool{cmd.Process.Pid: true}
	defer cmd.Process.Release()
	for thread := cmd.Process.Pid; ; {
		if err := syscall.PtraceSyscall(thread, c.next(thread, ws, known)); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
		for ended := true; ended; ended = ws.Exited() || ws.Signaled() {
			var err error
			if thread, err = syscall.Wait4(-1, &ws, syscall.WALL|syscall.WNOTHREAD, nil); err == syscall.ECHILD {
				return
			} else if err != nil && err != syscall.EINTR {
				t.Fatal(err)
			}
		}
	}
}

// next looks at why a thread has stopped, and gives the signal to go on with.
func (c *cutter) next(thread int, ws syscall.WaitStatus, known map[int]bool) int {
	switch sig := ws.StopSignal(); {
	case sig == syscall.SIGTRAP|0x80:
		c.call(thread)
		return 0
	case !known[thread]: // it has just begun
		known[thread] = true
		return 0
	case sig == syscall.SIGTRAP:
		return 0
	default:
		return int(sig)
	}
}

// call is at the beginning of a system call, or at its end.
func (c *cutter) call(thread int) {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(thread, &r) != nil {
		return
	}
	if was, ok := c.under[thread]; ok { // its end: programs count on their registers
		delete(c.under, thread)
		*was.bytes(&r) = was.asked
		if was.err != 0 {
			r.Rax = uint64(-int64(was.err))
		}
		syscall.PtraceSetRegs(thread, &r)
		return
	}
	call, ok := cuttables[r.Orig_rax]
	if !ok || int64(r.Rax) != -int64(syscall.ENOSYS) || *call.bytes(&r) < 2 {
		return
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", thread, int32(*call.file(&r))))
	if err != nil || !strings.HasPrefix(name, c.below+"/") {
		return
	}
	one := cutCall{cuttable: call, asked: *call.bytes(&r)}
	n, err := c.cut(one)
	if one.err, _ = err.(syscall.Errno); one.err != 0 {
		r.Orig_rax = ^uint64(0) // no call
	}
	*call.bytes(&r) = n
	if (one.err != 0 || n != one.asked) && syscall.PtraceSetRegs(thread, &r) == nil {
		c.made++
		c.under[thread] = one
	}
}

// TestCallsThatDoLess: reads and writes of files that do less than they were asked for, as they may, change nothing: all jobs run
// once and are done, and their output is brought whole.
func TestCallsThatDoLess(t *testing.T) {
	t.Parallel()
	b := newBench(t, program(t))
	rng := rand.New(rand.NewPCG(3, 4))
	c := &cutter{below: b.home, cut: func(c cutCall) (uint64, error) { return 1 + rng.Uint64N(min(c.asked, 1<<20)), nil }}
	c.run(t, b.home, b.env, b.script())
	b.rest(t)
	said, _ := os.ReadFile(b.said)
	if c.made < 100 || !strings.Contains(string(said), "exit 0") || len(b.runs()) != 3 {
		t.Errorf("%d calls were cut, %d jobs ran: %s", c.made, len(b.runs()), said)
	}
	b.look(t, "calls that do less", string(said), nil)
}

// TestDiskFillsInTheMiddle: a write takes a part of what it was given, and those after it find no room for some seconds, from
// whatever write of the command on, or of what it starts. Nothing that was confirmed is lost, no job runs twice, and all can be
// followed to their end when there is room again.
func TestDiskFillsInTheMiddle(t *testing.T) {
	t.Parallel()
	b := newBench(t, program(t))
	steps := []int{2, 30} // each some 4 s
	if os.Getenv("GRID_LONG") != "" {
		steps = nil
		for n := range 200 {
			steps = append(steps, n+1)
		}
	}
	for _, step := range steps {
		b.fresh(t)
		writes, full := 0, time.Time{}
		c := &cutter{below: b.home, cut: func(c cutCall) (uint64, error) {
			if !c.writes {
				return c.asked, nil
			}
			switch writes++; {
			case writes == step:
				full = time.Now().Add(3 * time.Second)
				return c.asked / 2, nil
			case time.Now().Before(full):
				return c.asked, syscall.ENOSPC
			}
			return c.asked, nil
		}}
		c.run(t, b.home, b.env, b.script())
		b.rest(t)
		said, _ := os.ReadFile(b.said)
		when := fmt.Sprintf("the disk is full in the middle of write %d of %d", step, writes)
		b.look(t, when, string(said), nil)
		if strings.Contains(string(said), "exit 0") && len(b.runs()) != 3 {
			t.Errorf("%s: exit code 0, and %d jobs ran", when, len(b.runs()))
		}
		if t.Logf("%s:\n%s", when, said); t.Failed() {
			return
		}
	}
}
