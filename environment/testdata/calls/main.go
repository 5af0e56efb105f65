// Command calls tries, as a job, the system calls that lead out of an environment or deep into the kernel, and prints
// those that were not refused.
package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func text(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(p))
}

// An attempt is one system call.
type attempt struct {
	name string
	call uintptr
	args [6]uintptr
	held []any // what the arguments point to
}

// intoTheKernel are calls for keys, mounts and the larger doors of the kernel.
func intoTheKernel(buf []byte) []attempt {
	at := uintptr(unsafe.Pointer(&buf[0]))
	return []attempt{
		{"keyctl: list the session's keys", unix.SYS_KEYCTL, [6]uintptr{unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0}, nil},
		{"add_key", unix.SYS_ADD_KEY, [6]uintptr{text("user"), text("k"), text("v"), 1, ^uintptr(3)}, nil},
		{"request_key", unix.SYS_REQUEST_KEY, [6]uintptr{text("user"), text("k"), 0, ^uintptr(3)}, nil},
		{"mount", unix.SYS_MOUNT, [6]uintptr{text("tmpfs"), text("/tmp"), text("tmpfs")}, nil},
		{"umount", unix.SYS_UMOUNT2, [6]uintptr{text("/tmp"), unix.MNT_DETACH}, nil},
		{"pivot_root", unix.SYS_PIVOT_ROOT, [6]uintptr{text("/tmp"), text("/tmp")}, nil},
		{"fsopen", unix.SYS_FSOPEN, [6]uintptr{text("tmpfs")}, nil},
		{"open_tree", unix.SYS_OPEN_TREE, [6]uintptr{^uintptr(99), text("/"), unix.OPEN_TREE_CLONE}, nil},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, [6]uintptr{^uintptr(99), text("/"), 0, 0, 0}, nil},
		{"bpf", unix.SYS_BPF, [6]uintptr{0, at, 64}, nil},
		{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{1}, nil},
		{"io_uring", unix.SYS_IO_URING_SETUP, [6]uintptr{1, at}, nil},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{at, 0, ^uintptr(0), ^uintptr(0)}, nil},
	}
}

// outside are calls for what lies outside: the machine, process 1, other users and namespaces.
func outside(buf []byte) []attempt {
	at := uintptr(unsafe.Pointer(&buf[0]))
	local, remote := &unix.Iovec{Base: &buf[0], Len: 64}, &unix.RemoteIovec{Base: 0x400000, Len: 64}
	pid1, _, _ := unix.Syscall(unix.SYS_PIDFD_OPEN, 1, 0, 0)
	return []attempt{
		{"kexec_load", unix.SYS_KEXEC_LOAD, [6]uintptr{}, nil},
		{"init_module", unix.SYS_INIT_MODULE, [6]uintptr{at, 64, text("")}, nil},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{^uintptr(99), at}, nil},
		{"setns to process 1", unix.SYS_SETNS, [6]uintptr{pid1, unix.CLONE_NEWNS}, nil},
		{"unshare mounts", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWNS}, nil},
		{"unshare users", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}, nil},
		{"chroot", unix.SYS_CHROOT, [6]uintptr{text("/tmp")}, nil},
		{"ptrace of process 1", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_ATTACH, 1}, nil},
		{"memory of process 1", unix.SYS_PROCESS_VM_READV, [6]uintptr{1, uintptr(unsafe.Pointer(local)), 1, uintptr(unsafe.Pointer(remote)), 1}, []any{local, remote}},
		{"descriptor of process 1", unix.SYS_PIDFD_GETFD, [6]uintptr{pid1, 3, 0}, nil},
		{"set the clock", unix.SYS_CLOCK_SETTIME, [6]uintptr{0, at}, nil},
		{"host name", unix.SYS_SETHOSTNAME, [6]uintptr{text("x"), 1}, nil},
		{"reboot", unix.SYS_REBOOT, [6]uintptr{0xfee1dead, 672274793, 0}, nil}, // Ctrl-Alt-Del off: harmless where allowed
		{"push input into the terminal", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCSTI, at}, nil},
		{"the same, bits above those that count", unix.SYS_IOCTL, [6]uintptr{0, 1<<32 | unix.TIOCSTI, at}, nil},
		{"paste into the console", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCLINUX, at}, nil},
		{"kernel's messages", unix.SYS_SYSLOG, [6]uintptr{3, at, 256}, nil},
		{"fspick", unix.SYS_FSPICK, [6]uintptr{^uintptr(99), text("/"), 0}, nil},
		{"quotas", unix.SYS_QUOTACTL, [6]uintptr{0x80000100, 0, 0, at}, nil},
		{"swapon", unix.SYS_SWAPON, [6]uintptr{text("/none")}, nil},
		{"user 0", unix.SYS_SETUID, [6]uintptr{0}, nil},
		{"acct", unix.SYS_ACCT, [6]uintptr{text("/tmp/x")}, nil},
		{"raw socket", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_RAW, 1}, nil},
		{"device node", unix.SYS_MKNODAT, [6]uintptr{^uintptr(99), text("/tmp/disk"), unix.S_IFBLK | 0o600, 0x800}, nil},
	}
}

func main() {
	zeros := new([256]byte)
	list := append(intoTheKernel(zeros[:]), outside(zeros[:])...)
	defer func() { fmt.Fprint(io.Discard, zeros, list) }() // all of it lives on the heap until then
	for _, c := range list {
		_, _, e := unix.Syscall6(c.call, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if c.call == unix.SYS_SETUID && e == unix.EINVAL { // there is no such user inside
			continue
		}
		if e != unix.EPERM && e != unix.ENOSYS && e != unix.EACCES {
			fmt.Printf("%s: %v\n", c.name, e)
		}
	}
	limit := unix.Rlimit{Cur: 1 << 20, Max: 1 << 40}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err == nil {
		fmt.Println("a higher limit")
	}
	if _, err := syscall.ForkExec("/proc/self/exe", []string{"calls"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}}); err == nil {
		fmt.Println("a child with another user namespace")
	}
	fmt.Fprintln(os.Stdout, "tried")
}
