package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
	"gridbroker/testdata/testbed"
)

// What a power cut leaves of one job: any of its files empty, cut or gone, at
// any step of its life. The job ends with a reason, runs after all, or is not
// there; it never stops the others.
func TestOneDamagedJobStopsNoOther(t *testing.T) {
	spoil := map[string]func(path string) error{
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"cut":   func(path string) error { return os.Truncate(path, 9) },
		"gone":  os.Remove,
		"pipe":  func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
	}
	for _, step := range []string{"queue", "running", "orphan"} {
		for _, file := range []string{"spec.json", "status.json", "work"} {
			for how, do := range spoil {
				if file == "work" && how != "gone" || how == "pipe" && step != "running" {
					continue
				}
				t.Run(step+" "+file+" "+how, func(t *testing.T) {
					t.Parallel()
					b, dir := siteWithQueue(t)
					job := filepath.Join(dir, "a", "jobs", "bad")
					status := filepath.Join(job, "status.json")
					if file == "status.json" || step == "running" {
						writeFile(t, status, `{"state":"running","started":"2020-01-01T00:00:00Z"}`)
					}
					if step != "queue" {
						check(t, os.Remove(filepath.Join(dir, "a", "queue", "bad")))
					}
					if step == "running" {
						writeFile(t, filepath.Join(dir, "a", "running", "bad"), "")
					}
					path := filepath.Join(job, file)
					if file == "work" {
						check(t, os.RemoveAll(path))
					} else if err := do(path); err != nil {
						t.Fatal(err)
					}
					good := submit(t, b, request("a", "good", shell("echo well")))[0]
					if st := wait(t, b, good, plugins.State.Final); st.State != plugins.Done {
						t.Errorf("the other job: %+v", st)
					}
					h := good
					h.ID = "bad"
					st := wait(t, b, h, func(s plugins.State) bool { return s.Final() || s == plugins.Lost })
					if st.State == plugins.Failed && st.Reason == "" {
						t.Errorf("no reason: %+v", st)
					}
				})
			}
		}
	}
}

// siteWithQueue has a job "bad" in its queue that nothing has started yet.
func siteWithQueue(t *testing.T) (*local.Backend, string) {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	dir := testbed.Home(t)
	open := func(helper ...string) *local.Backend {
		b, err := local.New(local.Options{Dir: dir, Sites: []local.Site{{Name: "a"}}, Helper: helper, Now: time.Now, CPUs: 2, Memory: 4096})
		check(t, err)
		return b
	}
	if r := open("/bin/true").Submit(context.Background(), []plugins.Request{request("a", "bad", shell("echo bad"))}, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	return open(exe), dir
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// A job's links out of its directory, sockets and pipes are left out and told;
// what stands after them is brought.
func TestOddOutputIsLeftOut(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	job := shell("mkdir d z; ln -s /etc d/etc; ln -s /etc/passwd d/pw; ln -s nowhere d/dangling; mkfifo d/pipe; echo one >d/one; ln -s one d/two; echo z >z/z")
	job.OutputSandbox = []jdl.OutputFile{{Name: "*"}, {Name: "*/*"}}
	h := submit(t, b, request("a", "j", job))[0]
	wait(t, b, h, plugins.State.Final)
	dir := t.TempDir()
	r := b.Fetch(context.Background(), []plugins.FetchRequest{{Handle: h, Dir: dir, Want: []string{"d", "z", "d/*", "z/*"}}}, nil)[0]
	for _, want := range []string{"d/one", "d/two", "z/z"} {
		if _, err := os.Stat(filepath.Join(dir, want)); err != nil {
			t.Error(err)
		}
	}
	if r.Err == nil {
		t.Fatal("nothing was said")
	}
	for _, odd := range []string{"d/etc", "d/pw", "d/dangling", "d/pipe"} {
		if _, err := os.Lstat(filepath.Join(dir, odd)); err == nil || !strings.Contains(r.Err.Error(), odd) {
			t.Errorf("%s: %v", odd, r.Err)
		}
	}
}

// A file that cannot be read keeps no other from being brought, and is told.
// That it cannot be read holds for root, too: somebody has a lease on it.
func TestUnreadableOutputIsLeftOut(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	h := submit(t, b, request("a", "j", shell("mkdir d; echo a >d/a; echo b >d/b; echo c >d/c; pwd; chmod 000 d/b")))[0]
	wait(t, b, h, plugins.State.Final)
	unread := filepath.Join(strings.TrimSpace(fetched(t, b, h, "out")), "d", "b")
	held, err := os.OpenFile(unread, os.O_WRONLY, 0)
	if err != nil { // not root: nobody can open it anyway
		held, err = os.Open(os.DevNull)
	} else if _, _, no := syscall.Syscall(syscall.SYS_FCNTL, held.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); no != 0 {
		t.Fatal(no)
	}
	check(t, err)
	defer held.Close()
	out := t.TempDir()
	r := b.Fetch(context.Background(), []plugins.FetchRequest{{Handle: h, Dir: out, Want: []string{"d/*"}}}, nil)[0]
	for _, want := range []string{"a", "c"} {
		if _, err := os.Stat(filepath.Join(out, "d", want)); err != nil {
			t.Error(err)
		}
	}
	if r.Err == nil || !strings.Contains(r.Err.Error(), `cannot be read: ["d/b"]`) || len(r.Files) != 2 {
		t.Errorf("%v, brought %q", r.Err, r.Files)
	}
}

// A full disk leaves no half of a file under its name.
func TestFullDiskLeavesNoHalfFile(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	h := submit(t, b, request("a", "j", shell("head -c 300000 /dev/zero >big")))[0]
	wait(t, b, h, plugins.State.Final)
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	defer syscall.Unmount(dir, 0)
	r := b.Fetch(context.Background(), []plugins.FetchRequest{{Handle: h, Dir: dir, Want: []string{"big"}}}, nil)[0]
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); r.Err == nil || !strings.Contains(r.Err.Error(), "no space left") || left != nil {
		t.Errorf("%v, left %v", r.Err, left)
	}
}

// Runner and job get neither the caller's open files, such as a script's lock,
// nor its credentials.
func TestNothingOfTheCallerReachesTheJob(t *testing.T) {
	lock, err := os.OpenFile(filepath.Join(t.TempDir(), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	check(t, err)
	defer lock.Close()
	fd, err := syscall.Dup(int(lock.Fd())) // without O_CLOEXEC, as a shell passes it on
	check(t, err)
	defer syscall.Close(fd)
	t.Setenv("BEARER_TOKEN", "do not tell")
	b := newBackend(t, local.Site{Name: "a"})
	job := shell(fmt.Sprintf(`p=$$; while [ $p -gt 1 ] && [ $p != %d ]; do ls -l /proc/$p/fd; tr '\0' '\n' </proc/$p/environ; p=$(awk '/PPid/ {print $2}' /proc/$p/status); grep -q %s /proc/$p/comm || break; done`, os.Getpid(), commOf(t)))
	job.OutputSandbox = []jdl.OutputFile{{Name: "out"}}
	h := submit(t, b, request("a", "j", job))[0]
	wait(t, b, h, plugins.State.Final)
	out := fetched(t, b, h, "out")
	if strings.Contains(out, lock.Name()) || strings.Contains(out, "BEARER_TOKEN") || !strings.Contains(out, "GRID_JOB_ID=j") {
		t.Errorf("%s", out)
	}
}

// commOf is the name of this program as the kernel has it.
func commOf(t *testing.T) string {
	text, err := os.ReadFile("/proc/self/comm")
	check(t, err)
	return strings.TrimSpace(string(text))
}
