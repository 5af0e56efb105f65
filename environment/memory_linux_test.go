package environment

import (
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
)

// Where the kernel does not tell of a process's children, they are found by everybody's parents: the same ones, whatever
// they call themselves.
func TestProcessesByParents(t *testing.T) {
	cmd := exec.Command("sh", "-c", `cp "$(command -v sleep)" "$D/a) S 1 (b"; "$D/a) S 1 (b" 60 & (sleep 60 & sleep 60; true) & setsid sleep 60 & wait`)
	cmd.Env = append(os.Environ(), "D="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range processesByParents(cmd.Process.Pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}()
	waitFor(t, "five of them", func() bool { return len(processesByParents(cmd.Process.Pid)) == 5 })
	byParents, told := processesByParents(cmd.Process.Pid), processesBelow(cmd.Process.Pid)
	slices.Sort(byParents)
	slices.Sort(told)
	if len(told) > 0 && !slices.Equal(byParents, told) {
		t.Errorf("%v, the kernel tells of %v", byParents, told)
	}
}

// The limit of memory holds on a kernel that does not tell of children, too.
func TestMemoryIsWatchedByParents(t *testing.T) {
	cmd := exec.Command("sh", "-c", `x=$(head -c 40000000 /dev/zero | tr '\0' x); sleep 60`)
	inner := exec.Command("sh", "-c", `"$@" & wait`, "sh")
	inner.Args = append(inner.Args, cmd.Args...)
	inner.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := inner.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-inner.Process.Pid, syscall.SIGKILL)
	control, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	s := &supervised{pid: inner.Process.Pid, control: control, gone: make(chan struct{})}
	var looks atomic.Int32
	go s.watchMemory(30e6, func(pid int) []int { looks.Add(1); return processesByParents(pid) })
	inner.Wait()
	close(s.gone)
	if !s.over.Load() || looks.Load() == 0 {
		t.Errorf("the job ended by itself, after %d looks", looks.Load())
	}
}

func BenchmarkProcessesByParents(b *testing.B) {
	for b.Loop() {
		processesByParents(os.Getpid())
	}
}
