// Command calls tries, as a job, the system calls that lead out of an environment or deep into the kernel, and prints
// those that were not refused.
package main

import (
	"fmt"
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
}

// intoTheKernel are calls for keys, mounts and the larger doors of the kernel.
func intoTheKernel() []attempt {
	buf := make([]byte, 256)
	at := uintptr(unsafe.Pointer(&buf[0]))
	return []attempt{
		{"keyctl: list the session's keys", unix.SYS_KEYCTL, [6]uintptr{unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0}},
		{"add_key", unix.SYS_ADD_KEY, [6]uintptr{text("user"), text("k"), text("v"), 1, ^uintptr(3)}},
		{"request_key", unix.SYS_REQUEST_KEY, [6]uintptr{text("user"), text("k"), 0, ^uintptr(3)}},
		{"mount", unix.SYS_MOUNT, [6]uintptr{text("tmpfs"), text("/tmp"), text("tmpfs")}},
		{"umount", unix.SYS_UMOUNT2, [6]uintptr{text("/tmp"), unix.MNT_DETACH}},
		{"pivot_root", unix.SYS_PIVOT_ROOT, [6]uintptr{text("/tmp"), text("/tmp")}},
		{"fsopen", unix.SYS_FSOPEN, [6]uintptr{text("tmpfs")}},
		{"open_tree", unix.SYS_OPEN_TREE, [6]uintptr{^uintptr(99), text("/"), unix.OPEN_TREE_CLONE}},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, [6]uintptr{^uintptr(99), text("/"), 0, 0, 0}},
		{"bpf", unix.SYS_BPF, [6]uintptr{0, at, 64}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{1}},
		{"io_uring", unix.SYS_IO_URING_SETUP, [6]uintptr{1, at}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{at, 0, ^uintptr(0), ^uintptr(0)}},
	}
}

// outside are calls for what lies outside: the machine, process 1, other users and namespaces.
func outside() []attempt {
	buf := make([]byte, 256)
	at := uintptr(unsafe.Pointer(&buf[0]))
	local := unix.Iovec{Base: &buf[0], Len: 64}
	remote := unix.RemoteIovec{Base: 0x400000, Len: 64}
	pid1, _, _ := unix.Syscall(unix.SYS_PIDFD_OPEN, 1, 0, 0)
	return []attempt{
		{"kexec_load", unix.SYS_KEXEC_LOAD, [6]uintptr{}},
		{"init_module", unix.SYS_INIT_MODULE, [6]uintptr{at, 64, text("")}},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{^uintptr(99), at}},
		{"setns to process 1", unix.SYS_SETNS, [6]uintptr{pid1, unix.CLONE_NEWNS}},
		{"unshare mounts", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWNS}},
		{"unshare users", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}},
		{"chroot", unix.SYS_CHROOT, [6]uintptr{text("/tmp")}},
		{"ptrace of process 1", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_ATTACH, 1}},
		{"memory of process 1", unix.SYS_PROCESS_VM_READV, [6]uintptr{1, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1}},
		{"descriptor of process 1", unix.SYS_PIDFD_GETFD, [6]uintptr{pid1, 3, 0}},
		{"set the clock", unix.SYS_CLOCK_SETTIME, [6]uintptr{0, at}},
		{"host name", unix.SYS_SETHOSTNAME, [6]uintptr{text("x"), 1}},
		{"reboot", unix.SYS_REBOOT, [6]uintptr{0xfee1dead, 672274793, 0}}, // Ctrl-Alt-Del off: harmless where allowed
		{"swapon", unix.SYS_SWAPON, [6]uintptr{text("/none")}},
		{"user 0", unix.SYS_SETUID, [6]uintptr{0}},
		{"acct", unix.SYS_ACCT, [6]uintptr{text("/tmp/x")}},
		{"raw socket", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_RAW, 1}},
		{"device node", unix.SYS_MKNODAT, [6]uintptr{^uintptr(99), text("/tmp/disk"), unix.S_IFBLK | 0o600, 0x800}},
	}
}

func main() {
	for _, c := range append(intoTheKernel(), outside()...) {
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
