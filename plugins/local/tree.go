package local

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// jobTag is in the environment of every process of a job.
func jobTag(id string) string { return "GRID_LOCAL_JOB=" + id }

// killDescendants ends all processes below this one: SIGTERM, and after the
// grace SIGKILL until none is left. It returns at once when there is none.
func killDescendants(grace time.Duration) {
	deadline := time.Now().Add(grace)
	sig := syscall.SIGTERM
	signalled := map[int]bool{}
	for time.Now().Before(deadline.Add(grace)) {
		pids := descendants(os.Getpid())
		if len(pids) == 0 {
			return
		}
		if time.Now().After(deadline) {
			sig = syscall.SIGKILL
		}
		for _, pid := range pids {
			if sig == syscall.SIGKILL || !signalled[pid] {
				syscall.Kill(pid, sig)
				signalled[pid] = true
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// descendants lists living processes below pid, from /proc.
func descendants(pid int) []int {
	children := map[int][]int{}
	for _, p := range processes() {
		if parent, alive := parentOf(p); alive {
			children[parent] = append(children[parent], p)
		}
	}
	var all []int
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		below := children[todo[0]]
		all = append(all, below...)
		todo = append(todo, below...)
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
