package environment

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What follows runs in a forked process: every function is nosplit, as a stack that grows takes Go's runtime, and makes
// system calls that do not tell the runtime of them. The linker sees that their frames fit into what a stack has left.

// fork starts process 1 and gives its number. Signals are blocked meanwhile: a handler of Go's must not run in the child.
//
//go:nosplit
//go:norace
func (f *first) fork(flags uintptr) (int, syscall.Errno) {
	f.setMask(&f.all, &f.old)
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e == 0 && pid == 0 {
		f.run()
	}
	f.setMask(&f.old, nil)
	return int(pid), e
}

//go:nosplit
//go:norace
func (f *first) setMask(to, old *uint64) {
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// run is process 1; it ends the process.
//
//go:nosplit
//go:norace
func (f *first) run() {
	f.settle()
	if i, e := runCalls(f.calls.list); e != 0 {
		f.tell(wordCall, i, int(e))
		f.exit(exitNotDeployed)
	}
	job, e := f.forkJob()
	if e == 0 && job == 0 {
		f.becomeJob()
	}
	if e == 0 {
		e = f.started()
	}
	if e != 0 {
		f.tell(wordStart, int(e), -1)
		f.exit(exitNotStarted)
	}
	f.tell("started", -1, -1)
	for n := range uintptr(controlFD) { // the job's alone: whoever reads them sees its end
		f.close(n)
	}
	f.watch(job)
	f.end()
}

// settle takes what Go's runtime and the supervisor's starter left to this process.
//
//go:nosplit
//go:norace
func (f *first) settle() {
	for sig := uintptr(1); sig <= 64; sig++ { // what has the default action does not reach the first process of a namespace
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&f.byDflt)), 0, 8, 0, 0)
	}
	f.setMask(&f.mask, nil)
	for _, arg := range f.args { // they name folders of the node
		wipe(arg)
	}
}

//go:nosplit
//go:norace
func wipe(arg string) {
	bytes := unsafe.Slice(unsafe.StringData(arg), len(arg)) // the kernel's copy, which this process has for itself
	for i := range bytes {
		bytes[i] = 0
	}
}

// forkJob forks what becomes the job.
//
//go:nosplit
//go:norace
func (f *first) forkJob() (int, syscall.Errno) {
	_, _, e := syscall.RawSyscall6(unix.SYS_PIPE2, uintptr(unsafe.Pointer(&f.pipe)), unix.O_CLOEXEC, 0, 0, 0, 0)
	if e != 0 {
		return 0, e
	}
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return int(pid), e
}

// started waits until the job's program has begun.
//
//go:nosplit
//go:norace
func (f *first) started() syscall.Errno {
	f.close(uintptr(f.pipe[1]))
	n, _, _ := syscall.RawSyscall6(unix.SYS_READ, uintptr(f.pipe[0]), uintptr(unsafe.Pointer(&f.status)), 4, 0, 0, 0)
	f.close(uintptr(f.pipe[0]))
	if n == 4 {
		return syscall.Errno(f.status)
	}
	return 0
}

// becomeJob is the job's process until its program begins; of the places where that may be the first counts that has one.
//
//go:nosplit
//go:norace
func (f *first) becomeJob() {
	syscall.RawSyscall6(unix.SYS_SETSID, 0, 0, 0, 0, 0, 0)
	f.setMask(&f.none, nil)
	_, _, e := syscall.RawSyscall6(unix.SYS_CHDIR, uintptr(unsafe.Pointer(f.dir)), 0, 0, 0, 0, 0)
	if e == 0 {
		e = f.exec()
	}
	f.status = int32(e)
	syscall.RawSyscall6(unix.SYS_WRITE, uintptr(f.pipe[1]), uintptr(unsafe.Pointer(&f.status)), 4, 0, 0, 0)
	f.exit(exitNotStarted)
}

//go:nosplit
//go:norace
func (f *first) exec() syscall.Errno {
	said := syscall.Errno(unix.ENOENT)
	for _, path := range f.tries {
		if path == nil {
			break
		}
		_, _, e := syscall.RawSyscall6(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)),
			uintptr(unsafe.Pointer(&f.argv[0])), uintptr(unsafe.Pointer(&f.env[0])), 0, 0, 0)
		if e != unix.ENOENT && e != unix.ENOTDIR && e != unix.EACCES {
			return e
		}
		if e == unix.EACCES { // there, and no program
			said = e
		}
	}
	return said
}

// watch waits for the end of the job, or of its supervisor, and passes signals on meanwhile. It also waits for processes
// whose parents died.
//
//go:nosplit
//go:norace
func (f *first) watch(job int) {
	ended, _, e := syscall.RawSyscall6(unix.SYS_SIGNALFD4, ^uintptr(0), uintptr(unsafe.Pointer(&f.mask)), 8, unix.SFD_CLOEXEC, 0, 0)
	if e != 0 {
		f.exit(exitNotDeployed)
	}
	f.polls[0] = unix.PollFd{Fd: controlFD, Events: unix.POLLIN}
	f.polls[1] = unix.PollFd{Fd: int32(ended), Events: unix.POLLIN}
	for over := f.reap(job); !over; { // it may have ended before
		syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&f.polls)), 2, 0, 0, 0, 0)
		if f.polls[0].Revents != 0 {
			f.obey(job)
		}
		if f.polls[1].Revents != 0 {
			f.read(ended)
			over = f.reap(job)
		}
	}
}

// read fills buf from a descriptor.
//
//go:nosplit
//go:norace
func (f *first) read(fd uintptr) (uintptr, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&f.buf)), uintptr(len(f.buf)), 0, 0, 0)
	return n, e
}

// obey passes signals to the job. When the supervisor is gone, nobody waits for the job any more: all of it is killed.
//
//go:nosplit
//go:norace
func (f *first) obey(job int) {
	n, e := f.read(controlFD)
	if e == unix.EAGAIN || e == unix.EINTR {
		return
	}
	if e != 0 || n == 0 {
		f.exit(137) // the kernel kills what is left
	}
	for i := range f.buf {
		if uintptr(i) < n {
			f.kill(job, uintptr(f.buf[i]))
		}
	}
}

// reap waits for all that has ended; true with the job.
//
//go:nosplit
//go:norace
func (f *first) reap(job int) bool {
	for {
		pid, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&f.status)), unix.WNOHANG, 0, 0, 0)
		if e != 0 || pid == 0 {
			return false
		}
		if int(pid) == job {
			return true
		}
	}
}

// end tells of the job's end when all that it started is gone.
//
//go:nosplit
//go:norace
func (f *first) end() {
	f.kill(-1, uintptr(unix.SIGKILL))
	for {
		_, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, 0, 0, 0, 0)
		if e != 0 && e != unix.EINTR {
			break // no child is left
		}
	}
	if sig := int(f.status & 0x7f); sig != 0 {
		f.tell("signal", sig, -1)
		f.exit(128 + uintptr(sig))
	}
	code := int(f.status>>8) & 0xff
	f.tell("exit", code, -1)
	f.exit(uintptr(code))
}

//go:nosplit
//go:norace
func (f *first) kill(pid int, sig uintptr) {
	syscall.RawSyscall6(unix.SYS_KILL, uintptr(pid), sig, 0, 0, 0, 0)
}

//go:nosplit
//go:norace
func (f *first) close(fd uintptr) {
	syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
}

//go:nosplit
//go:norace
func (f *first) exit(code uintptr) {
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}

// tell writes a line for the supervisor, with up to two numbers; those below 0 are none.
//
//go:nosplit
//go:norace
func (f *first) tell(word string, a, b int) {
	n := f.number(uint8(copy(f.buf[:], word)), a)
	n = f.number(n, b)
	f.buf[n] = '\n'
	syscall.RawSyscall6(unix.SYS_WRITE, statusFD, uintptr(unsafe.Pointer(&f.buf)), uintptr(n)+1, 0, 0, 0)
}

//go:nosplit
//go:norace
func (f *first) number(at uint8, v int) uint8 {
	if v < 0 {
		return at
	}
	f.buf[at] = ' '
	digits := uint8(1)
	for rest := v; rest >= 10; rest /= 10 {
		digits++
	}
	for i := at + digits; i > at; i-- {
		f.buf[i] = '0' + byte(v%10)
		v /= 10
	}
	return at + digits + 1
}
