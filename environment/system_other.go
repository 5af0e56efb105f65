//go:build !linux

package environment

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// supported tells why environments cannot be made on this system: every launcher is made of Linux namespaces, mounts
// and seccomp, or of a program that traces Linux calls.
func supported() error {
	return fmt.Errorf("environments and their launchers need Linux: %s has no namespaces to run a job in", runtime.GOOS)
}

// Run starts nothing here: the error is a *LauncherError that says so.
func Run(_ context.Context, l Launcher, _ *Job, _ RunOptions) (Outcome, error) {
	return Outcome{}, &LauncherError{l.Name(), supported()}
}

// Init is process 1 inside an environment, which this system cannot make: it says so and gives exitNotDeployed.
func Init() int {
	fmt.Fprintln(os.Stderr, "grid-launch:", supported())
	return exitNotDeployed
}

func plainSource(string) (int, error) { return -1, supported() }

// syncDisk is for trees, of which there are none here.
func syncDisk(*os.File) error { return supported() }

// endsWithParent is for deploying, which is not done here.
func endsWithParent() *syscall.SysProcAttr { return nil }

// lockFile takes a lock of an open file without waiting, shared (unix.F_RDLCK) or alone (unix.F_WRLCK), see flock(2).
func lockFile(f *os.File, how int16) error {
	if how == unix.F_WRLCK {
		return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
}

// stage is for launchers, of which there are none here.
func stage(_ []string, errs io.Writer) int {
	fmt.Fprintln(errs, "grid-launch:", supported())
	return exitNotDeployed
}
