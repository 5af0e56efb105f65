package environment

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// leaveKeys gives the calling thread a session keyring of its own, so that the job does not hold the starter's. A user's
// number of keys is bounded (200 by default): where there is none left, the filter of calls still keeps the job from
// every key.
func leaveKeys(c *calls) {
	c.add(nil, unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0).always = true // 0: a new one without a name
}

// dropPrivileges takes every capability and the way to get new ones from the calling thread, which must be locked, and
// from what it starts. bwrap did so already; process 1 of our own namespaces has them all until here.
//
// To take them from all threads of Go's would stop each of them in turn, for every job. Instead the process is made
// undumpable: the job, which runs as the same user, can neither trace it nor open its memory (ptrace(2), "Ptrace access
// mode checking"). filterCalls bounds the other threads too.
func dropPrivileges(c *calls) {
	shut(c)
	keepCapabilities(c, 0)
}

// shut is all of dropPrivileges but for the capabilities that the thread has now.
func shut(c *calls) {
	c.add(saying("not dumpable"), unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	noNewPrivileges(c)
}

// noNewPrivileges takes the ways to get capabilities.
func noNewPrivileges(c *calls) {
	c.add(saying("no new privileges"), unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	for n := range unix.CAP_LAST_CAP + 1 { // some may not be held, or not known to this kernel
		c.add(nil, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, n, 0, 0, 0).always = true
	}
}

// keepCapabilities takes all capabilities but those of a mask of the first 32 from the calling thread.
func keepCapabilities(c *calls, mask uint32) {
	head := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := &[2]unix.CapUserData{{Effective: mask, Permitted: mask}}
	c.add(saying("capabilities"), unix.SYS_CAPSET, unsafe.Pointer(head), unsafe.Pointer(data))
}

// Numbers of system calls that a job has no use for and that open the kernel or the starter's keys.
func deniedCalls() []uint32 {
	return []uint32{
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
		unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEXEC_LOAD,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_SETNS, unix.SYS_MOVE_MOUNT,
		unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_MOUNT_SETATTR,
		unix.SYS_FSPICK, unix.SYS_FSCONFIG, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_KEXEC_FILE_LOAD,
	}
}

// filterCalls installs a seccomp filter: another architecture's calls kill, the denied ones fail with EPERM, as does
// input that is pushed into a terminal, which the starter's shell would read, and unless nested is allowed so do new user
// namespaces. clone3 hides its flags from a filter: it is said to be missing, and the C library takes clone.
func filterCalls(c *calls, nested bool) {
	prog := callFilter(nested)
	fprog := &unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	const setModeFilter, tsync = 1, 1
	c.add(saying("seccomp"), unix.SYS_SECCOMP, setModeFilter, tsync, unsafe.Pointer(fprog))
}

// Offsets in struct seccomp_data (linux/seccomp.h), and its verdicts.
const (
	offCall, offArch, offArg0, offArg1 = 0, 4, 16, 24 // of the arguments the lower half: both architectures begin with it

	verdictAllow = 0x7fff0000
	verdictKill  = 0x80000000
	verdictErrno = 0x00050000
	x32Bit       = 0x40000000
)

func callFilter(nested bool) []unix.SockFilter {
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	ret := func(v uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: v} }
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | op, K: k, Jt: yes, Jf: no}
	}
	prog := []unix.SockFilter{
		load(offArch), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(verdictKill),
		load(offCall), jump(unix.BPF_JGE, x32Bit, 0, 1), ret(verdictErrno | uint32(unix.ENOSYS)),
	}
	for _, n := range deniedCalls() {
		prog = append(prog, jump(unix.BPF_JEQ, n, 0, 1), ret(verdictErrno|uint32(unix.EPERM)))
	}
	prog = append(prog, jump(unix.BPF_JEQ, unix.SYS_IOCTL, 0, 5), load(offArg1), // the kernel takes 32 bits of it
		jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0), jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1), ret(verdictErrno|uint32(unix.EPERM)), ret(verdictAllow))
	if !nested {
		prog = append(prog, jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), ret(verdictErrno|uint32(unix.ENOSYS)))
		for _, n := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
			prog = append(prog, jump(unix.BPF_JEQ, n, 0, 4), load(offArg0),
				jump(unix.BPF_JSET, unix.CLONE_NEWUSER, 0, 1), ret(verdictErrno|uint32(unix.EPERM)), ret(verdictAllow))
		}
	}
	return append(prog, ret(verdictAllow))
}
