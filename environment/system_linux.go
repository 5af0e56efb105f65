package environment

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// supported tells why environments cannot be made on this system.
func supported() error { return nil }

// syncDisk puts the file system that dir is on onto its disk (syncfs(2)).
func syncDisk(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }

// lockFile takes a lock of an open file without waiting, shared (unix.F_RDLCK) or alone (unix.F_WRLCK), see fcntl(2).
func lockFile(f *os.File, how int16) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: how})
}

// endsWithParent has a process told to end when the one that started it is gone (prctl(2), PR_SET_PDEATHSIG).
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
