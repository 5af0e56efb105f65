package environment

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownNetwork makes this process a network of its own, in which it reaches itself alone, on another thread: the kernel takes
// as long for that as for all mounts, which are made meanwhile. What it gives waits for the network and puts every thread
// of the process into it, since a job sees the network of each in /proc. Go moves no threads of programs that are built with
// cgo, see allThreads.
func ownNetwork() (join func() error) {
	made, joined := make(chan error), make(chan struct{})
	var place int
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread() // it is like the others by then
		var err error
		place, err = newNetwork()
		made <- err
		<-joined
	}()
	return func() error {
		defer close(joined)
		if err := <-made; err != nil {
			return fmt.Errorf("a network of its own: %w", err)
		}
		defer unix.Close(place)
		if _, _, e := syscall.AllThreadsSyscall(unix.SYS_SETNS, uintptr(place), unix.CLONE_NEWNET, 0); e != 0 {
			return fmt.Errorf("enter the network: %w", e)
		}
		return nil
	}
}

// newNetwork takes the calling thread, which must be locked, into a new network and gives a descriptor of that.
func newNetwork() (int, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return -1, err
	}
	if err := loopback(); err != nil {
		return -1, err
	}
	return unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// loopback brings the interface of a network of its own up, so that a job reaches itself at 127.0.0.1.
func loopback() error {
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	lo.SetUint16(unix.IFF_UP)
	err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
	if err = errors.Join(err, unix.Close(socket)); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	return nil
}
