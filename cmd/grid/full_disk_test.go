package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// smallDisk mounts one in a directory.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill leaves so much room on a small disk, in kB, until the ballast is removed.
func fill(t *testing.T, dir string, room int) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, ".ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			break
		}
	}
	size, err := f.Seek(0, 1)
	if err != nil || f.Truncate(size-size%4096-int64(room)<<10) != nil {
		t.Fatalf("cannot leave %d kB: %v", room, err)
	}
	return ballast
}

// disksFull are the words for it of the system and of SQLite.
var disksFull = regexp.MustCompile("no space left on device|disk is full")

// On a disk that is full to any degree the program says so, keeps every job that it
// names, runs none twice, and goes on when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 8, 24, 48, 96, 192, 384, 768} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			t.Parallel()
			w := newMachine(t)
			state, small := filepath.Join(w.dir, "state"), filepath.Join(w.dir, "small")
			smallDisk(t, state, "8m")
			smallDisk(t, small, "64k")
			ballast := fill(t, state, room)
			files := w.jobs(3, "echo ran >>"+w.dir+"/ran.#; head -c 40000 /dev/zero")
			out, msg, code := w.try(append([]string{"submit", "--info", "local:"}, files...)...)
			var ids []string
			for line := range strings.Lines(out) {
				ids = append(ids, strings.Fields(line)[0])
			}
			t.Logf("submit: exit code %d, %d ids, %s", code, len(ids), strings.TrimSpace(msg))
			if code == 0 && len(ids) != 3 || code != 0 && (!disksFull.MatchString(msg) || !strings.Contains(msg, state) || !strings.Contains(msg, "make room")) {
				t.Errorf("exit code %d, jobs %q: %s", code, ids, msg)
			}
			for _, verb := range []string{"list", "status"} { // asked while it is full
				if out, msg, code := w.try(verb, "--all"); code != 0 && !disksFull.MatchString(msg) {
					t.Errorf("%s on the full disk: exit code %d: %s%s", verb, code, out, msg)
				}
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			w.ranOnce(ids)

			// The same with what they left.
			if len(w.status()) == 0 {
				return
			}
			if _, msg, code := w.try("output", "--all", "--dir", small); code != 5 || !strings.Contains(msg, "is free in "+small) {
				t.Errorf("output to a small disk: exit code %d: %s", code, msg)
			}
			wholeFiles(t, small)
			if _, msg, code := w.try("output", "--all", "--dir", small, "--max-size", "1GB"); code == 0 || !disksFull.MatchString(msg) {
				t.Errorf("output to a full disk: exit code %d: %s", code, msg)
			}
			wholeFiles(t, small)
			w.grid("output", "--all", "--dir", filepath.Join(w.dir, "large"))
			if n := wholeFiles(t, filepath.Join(w.dir, "large")); n != len(w.status()) {
				t.Errorf("output of %d of %d jobs", n, len(w.status()))
			}
		})
	}
}

// TestOutputOfManyOnAFullDisk: that a disk has no room for the output of jobs is said once, with how many more it was, whatever
// their files are called.
func TestOutputOfManyOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	small := filepath.Join(w.dir, "small")
	smallDisk(t, small, "64k")
	text := `[JobType = "Parametric"; JobName = "many_PARAM_"; Parameters = 8; Executable = "/bin/sh"; Arguments = "-c 'head -c 30000 /dev/zero > out_PARAM_'"; OutputSandbox = {"out_PARAM_"};]`
	if err := os.WriteFile(filepath.Join(w.dir, "many.jdl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.grid("submit", "--wait", "--info", "local:", "many.jdl")
	for _, more := range [][]string{nil, {"--max-size", "1GB"}} {
		out, msg, code := w.try(append([]string{"output", "--all", "--dir", small}, more...)...)
		n := strings.Count(out, "out")
		if code != 5 || n == 0 || n == 8 || strings.Count(msg, "\n") != 1 || !strings.Contains(msg, fmt.Sprintf("(and %d more jobs likewise)", 8-n-1)) {
			t.Errorf("%v: exit code %d, %d of 8 files: %s", more, code, n, msg)
		}
	}
}

// TestRunOnAFullDisk: where the output of a command does not fit, run says how to go on, and does not end with a code that could
// be the command's.
func TestRunOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	small := filepath.Join(w.dir, "small")
	smallDisk(t, small, "64k")
	_, msg, code := w.try("run", "--info", "local:", "--dir", small, "--out", "big", "--", "sh", "-c", "head -c 400000 /dev/zero > big")
	if code != 125 || !strings.Contains(msg, "with exit code 0: grid output ") || strings.Contains(msg, "no such file") {
		t.Errorf("output to a small disk: exit code %d: %s", code, msg)
	}
}

// TestJobFillsTheDisk: a job that fills the disk of its own site and of the records keeps nobody waiting, and how it has
// ended is known as soon as there is room: what could not be written down was not lost.
func TestJobFillsTheDisk(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	state := filepath.Join(w.dir, "state")
	smallDisk(t, state, "4m")
	const job = "cat /dev/zero > fill; sleep 1; exit 7"
	_, msg, code := w.try("run", "--info", "local:", "--", "sh", "-c", job)
	if code != 7 && (code != 125 || !strings.Contains(msg, "make room")) {
		t.Errorf("exit code %d: %s", code, msg)
	}
	time.Sleep(3 * time.Second) // the job has ended, on a machine that is not busy
	for _, file := range globbed(t, filepath.Join(state, "local/*/jobs/*/work/fill")) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	w.settle("intended submitting accepted preparing queued running finishing")
	out, msg, _ := w.try("list", "--json", "--jq", `.jobs[] | .state + " " + (.exit_code | tostring)`)
	if out != "done 7\n" {
		t.Errorf("afterwards it is %s%s", out, msg)
	}
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	return files
}

// TestReadOnlyState: output, cat and what only reads work where the records cannot be written, and say that nothing is recorded;
// so do the program's first words and what is known of resources.
func TestReadOnlyState(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	state := filepath.Join(w.dir, "state")
	smallDisk(t, state, "64m")
	if err := os.WriteFile(filepath.Join(w.dir, "job.jdl"), []byte(`JobName = "kept"; Executable = "/bin/echo"; Arguments = "well"; StdOutput = "out";`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.grid("submit", "--wait", "--info", "local:", "job.jdl")
	if err := syscall.Mount("none", state, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("cannot mount read-only here: %v", err)
	}
	const said = "nothing is recorded"
	for range 2 {
		if out, msg, code := w.try("output", "--all", "--dir", "got"); code != 0 || !strings.Contains(out, "/out") || !strings.Contains(msg, said) {
			t.Errorf("output: exit code %d: %s%s", code, out, msg)
		}
	}
	for verb, want := range map[string]string{"cat": "well", "status": "done", "show": "kept", "why": "It is done"} {
		if out, msg, code := w.try(verb, "--all"); code != 0 || !strings.Contains(out, want) || !strings.Contains(msg, said) {
			t.Errorf("%s: exit code %d: %s%s", verb, code, out, msg)
		}
	}
	if out, msg, code := w.try(); code != 0 || !strings.Contains(out, "none under way") || msg != "" {
		t.Errorf("the first words: exit code %d: %s%s", code, out, msg)
	}
	if out, msg, code := w.try("health"); code != 0 || !strings.Contains(out, "local:localhost") || msg != "" {
		t.Errorf("health: exit code %d: %s%s", code, out, msg)
	}
	if _, msg, code := w.try("health", "clear", "--all"); code == 0 || !strings.Contains(msg, "read-only") {
		t.Errorf("health clear: exit code %d: %s", code, msg)
	}
	for _, verb := range []string{"clean", "resubmit"} {
		if _, msg, code := w.try(verb, "--all", "--yes"); code == 0 || !strings.Contains(msg, "--state-dir") {
			t.Errorf("%s: exit code %d: %s", verb, code, msg)
		}
	}
}

// ranOnce sends what was not sent, follows all to their end, and checks that the jobs of
// those ids are recorded and that each has run once.
func (w *world) ranOnce(ids []string) {
	w.t.Helper()
	if _, msg, code := w.try("resubmit", "--state", "intended", "--yes"); code != 0 && len(w.status()) > 0 && !strings.Contains(msg, "no job") {
		w.t.Errorf("resubmit with room again: exit code %d: %s", code, msg)
	}
	recorded := map[string]bool{}
	for _, j := range w.settle("intended submitting accepted preparing queued running finishing") {
		recorded[j.ID] = true
		if j.State != "done" {
			w.t.Errorf("job %s is %s", j.ID, j.State)
		}
	}
	for _, id := range ids {
		if !recorded[id] {
			w.t.Errorf("%s was printed and is not recorded", id)
		}
	}
	ran := 0
	for i := range 3 {
		text, err := os.ReadFile(filepath.Join(w.dir, fmt.Sprint("ran.", i)))
		if n := strings.Count(string(text), "ran"); err == nil && n != 1 {
			w.t.Errorf("job %d ran %d times", i, n)
		} else if err == nil {
			ran++
		}
	}
	if ran != len(recorded) {
		w.t.Errorf("%d jobs are recorded and %d ran", len(recorded), ran)
	}
}

// wholeFiles checks that no file has only a part of a job's output, and counts those that
// have all.
func wholeFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || info.Size() != 40000 {
			t.Errorf("%s: %d bytes (%v)", name, info.Size(), err)
		}
	}
	return len(files)
}

// Programs that all begin with no state directory get along: none is told that a
// database is locked.
func TestManyFirstStarts(t *testing.T) {
	t.Parallel()
	rounds := 3
	if os.Getenv("GRID_LONG") != "" {
		rounds = 11
	}
	for range rounds {
		w := newMachine(t)
		job := w.jobs(1, "true")[0]
		var starts sync.WaitGroup
		for i := range 30 {
			starts.Go(func() {
				args := [][]string{{"list"}, {"submit", "--info", "local:", job}, {"status", "--all"}, {"store", "check"}, {"resources", "--info", "local:"}}[i%5]
				if out, msg, code := w.try(args...); code != 0 {
					t.Errorf("grid %v: exit code %d: %s%s", args, code, out, msg)
				}
			})
		}
		starts.Wait()
		if n := len(w.status()); n != 6 {
			t.Errorf("%d of 6 jobs are recorded", n)
		}
	}
}
