package local

import (
	"os"
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

// descendants lists living processes below pid.
func descendants(pid int) []int {
	children := map[int][]int{}
	for p, parent := range parents() {
		children[parent] = append(children[parent], p)
	}
	var all []int
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		below := children[todo[0]]
		all = append(all, below...)
		todo = append(todo, below...)
	}
	return all
}
