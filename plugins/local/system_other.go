//go:build !linux

package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// adoptOrphans cannot be had on this system: what leaves its parent behind
// leaves the job too, and is not ended with it.
func adoptOrphans() error {
	return errors.New(runtime.GOOS + " cannot: what a job puts into the background may outlive it")
}

// ownSession starts a program in a session of its own. It does not end with
// its supervisor: only Linux kills for a parent that died.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// keepFiles keeps every file but the standard streams from programs that are
// started later.
func keepFiles() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range open {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n)
		}
	}
}

// syncDisk puts every file and folder below d on the disk, one by one: this
// system has no call for a whole file system that waits.
func syncDisk(d *os.File) error {
	return filepath.WalkDir(d.Name(), func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !e.Type().IsRegular() && !e.IsDir() {
			return nil // a job that ended meanwhile; a link, a pipe
		}
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil // what a job made is the job's
		}
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// residentKB is the most memory that a program had, in kB: Darwin counts bytes
// (getrusage(2)).
func residentKB(ru *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return ru.Maxrss / 1024
	}
	return ru.Maxrss
}

// parents maps every living process to its parent, as ps(1) of POSIX has it.
func parents() map[int]int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ps := exec.CommandContext(ctx, "/bin/ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat=")
	text, err := ps.Output()
	if err != nil {
		return nil
	}
	all := map[int]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.HasPrefix(fields[2], "Z") {
			continue
		}
		pid, perr := strconv.Atoi(fields[0])
		parent, err := strconv.Atoi(fields[1])
		if errors.Join(perr, err) == nil && pid != ps.Process.Pid {
			all[pid] = parent
		}
	}
	return all
}

// killTagged cannot find what a dead supervisor has left of a job: this system
// does not show the environment of processes in /proc.
func killTagged(string) {}

// peakKB, peakOf and childrenOf need /proc: without it what the system tells at
// the end is believed.
func peakKB(string) int64  { return 0 }
func peakOf(int) int64     { return 0 }
func childrenOf(int) []int { return nil }
