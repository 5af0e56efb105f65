package local

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes descendants whose parents exit children of this process,
// so that none of them can get out of sight.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// ownSession starts a program in a session of its own that ends with the
// thread that started it.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// keepFiles keeps every file but the standard streams from programs that are
// started later (close_range(2)).
func keepFiles() { _ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// syncDisk puts the file system that d is on onto its disk (syncfs(2)).
func syncDisk(d *os.File) error { return unix.Syncfs(int(d.Fd())) }

// residentKB is the most memory that a program had, in kB.
func residentKB(ru *syscall.Rusage) int64 { return ru.Maxrss }

// parents maps every living process to its parent, from /proc.
func parents() map[int]int {
	all := map[int]int{}
	for _, p := range processes() {
		if parent, alive := parentOf(p); alive {
			all[p] = parent
		}
	}
	return all
}

// parentOf reads a process's parent. A zombie does not count as alive.
func parentOf(pid int) (parent int, alive bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// "pid (name) state ppid ...": the name may hold blanks and brackets.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killTagged ends what a dead supervisor has left of a job, found by the tag
// in the processes' environment.
func killTagged(id string) {
	tag := []byte(jobTag(id))
	for _, pid := range processes() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil {
			continue
		}
		for _, v := range bytes.Split(env, []byte{0}) {
			if bytes.Equal(v, tag) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// peakKB is the most memory that a process had since it became its program, in
// kB, from /proc; 0: it is over.
func peakKB(pid string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("\nVmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	return n
}

func peakOf(pid int) int64 { return peakKB(strconv.Itoa(pid)) }

// childrenOf are the processes that a process's first thread has started.
func childrenOf(pid int) []int {
	id := strconv.Itoa(pid)
	text, _ := os.ReadFile("/proc/" + id + "/task/" + id + "/children")
	var pids []int
	for _, word := range bytes.Fields(text) {
		if n, err := strconv.Atoi(string(word)); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}
