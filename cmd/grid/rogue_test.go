package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// victim is somebody who runs the built program against servers that mean ill.
type victim struct {
	t   testing.TB
	dir string
	env []string
}

func newVictim(t testing.TB, env ...string) *victim {
	dir := testbed.Home(t)
	return &victim{t, dir, append(env, "HOME="+dir, "PATH="+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+dir, "GRID_STATE_DIR="+filepath.Join(dir, "state"))}
}

// harm is what a command did, and what it cost.
type harm struct {
	code      int
	out, errs string
	processor time.Duration
	memory    int64 // bytes at most
	took      time.Duration
	most      time.Duration // of processor time that it may take: harmTime at the machine's pace
}

// grid runs the program. Where stop is not 0, Ctrl-C is typed after that time.
func (v *victim) grid(stop time.Duration, args ...string) harm {
	v.t.Helper()
	exe := program(v.t) // the first to ask has it built
	ctx, cancel := context.WithTimeout(v.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &out, &errs, v.dir, v.env
	most := testbed.PacedBeside(v.t, harmTime)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	if stop > 0 {
		time.Sleep(stop)
		start = time.Now()
		_ = cmd.Process.Signal(os.Interrupt)
	}
	peak := watchMemory(cmd.Process.Pid)
	err := cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		v.t.Fatal(err)
	}
	took := time.Since(start)
	return harm{code: cmd.ProcessState.ExitCode(), out: out.String(), errs: errs.String(), took: took, memory: <-peak, most: max(most, testbed.PacedBeside(v.t, harmTime)),
		processor: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// watchMemory tells, when a process is gone, how much it had in memory at most.
// What the system says of a child that has ended has its parent's in it.
func watchMemory(pid int) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		most := int64(0)
		for {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, text, found := bytes.Cut(text, []byte("VmHWM:"))
			if err != nil || !found { // ended: a zombie has no memory
				peak <- most
				return
			}
			var kB int64
			if _, err := fmt.Sscan(string(text[:min(len(text), 30)]), &kB); err == nil {
				most = kB << 10
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return peak
}

// Bounds of what a rogue may cost beyond a harmless command.
const (
	harmTime   = 2 * time.Second // of processor time, on a machine of the usual pace
	harmMemory = 200 << 20
	harmWords  = 16 << 10 // what may come of it on standard error
	quietCost  = 60 << 20 // of memory: what the program takes without doing anything
)

// bounded holds what a rogue did against the bounds, and asks for its name.
func (v *victim) bounded(h harm, name string) { v.t.Helper(); v.boundedBy(h, name, harmMemory) }

func (v *victim) boundedBy(h harm, name string, memory int64) {
	v.t.Helper()
	v.t.Logf("exit code %d, %v of processor time, %v in all, %d MB, %d bytes of words: %.300q", h.code, h.processor.Round(time.Millisecond), h.took.Round(time.Millisecond),
		h.memory>>20, len(h.errs), h.errs)
	if h.processor > h.most {
		v.t.Errorf("%v of processor time, and not %v", h.processor, h.most)
	}
	if h.memory > quietCost+memory {
		v.t.Errorf("%d MB", h.memory>>20)
	}
	if len(h.errs) > harmWords {
		v.t.Errorf("%d bytes on standard error", len(h.errs))
	}
	if !strings.Contains(h.errs, name) {
		v.t.Errorf("nothing names %q: %.2000s", name, h.errs)
	}
	if strings.Contains(h.errs, "panic") || h.code < 0 || h.code > 128 {
		v.t.Errorf("it died: %d\n%.3000s", h.code, h.errs)
	}
}

// interrupted types Ctrl-C in the middle: the command ends within a second, and
// within three where the machine has much other work, once in three times at least.
func (v *victim) interrupted(args ...string) {
	v.t.Helper()
	var took time.Duration
	for range 3 {
		if took = v.grid(700*time.Millisecond, args...).took; took <= 3*time.Second {
			return
		}
	}
	v.t.Errorf("%v after Ctrl-C", took)
}

// well is a source that works beside the rogue one.
func (v *victim) well() string {
	v.t.Helper()
	text := "dn: GlueCEUniqueID=well.example.org:8443/cream-pbs-q,Mds-Vo-name=A,o=grid\nobjectClass: GlueCE\nGlueCEUniqueID: well.example.org:8443/cream-pbs-q\nGlueCEName: q\nGlueCEStateStatus: Production\n"
	if err := os.WriteFile(filepath.Join(v.dir, "well.ldif"), []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	return "file:well.ldif"
}
