package main_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// A setClock is the clock of programs that are built to look at it: it can be
// set, and the machine can seem to have slept, while they run.
type setClock struct {
	t    *testing.T
	name string
}

// shiftedClock is what package main has more in those programs: the clock that
// package time asks there. How far it is set, in seconds, it reads from a file, which
// also has for how long the machine has slept.
const shiftedClock = `package main

import (
	"sync"
	"syscall"
	"unsafe"
)

var (
	opened sync.Once
	shifts = &none
	none   int64
)

func shift() int64 {
	opened.Do(func() {
		name, _ := syscall.Getenv("GRID_TEST_CLOCK")
		if fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			defer syscall.Close(fd)
			if page, err := syscall.Mmap(fd, 0, 16, syscall.PROT_READ, syscall.MAP_SHARED); err == nil {
				shifts = (*int64)(unsafe.Pointer(&page[0]))
			}
		}
	})
	return *shifts
}

//go:linkname runtimeNow time.runtimeNow
func runtimeNow() (sec int64, nsec int32, mono int64)

func shiftedNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	return sec + shift(), nsec, mono
}
`

// sleeping is what broker/clock does once it has asked a clock of the system:
// CLOCK_BOOTTIME is the one that goes on while the machine sleeps.
const sleeping = "if CLOCK == unix.CLOCK_BOOTTIME {" +
	` page, _ := os.ReadFile(os.Getenv("GRID_TEST_CLOCK"));` +
	" slept := int64(0); for i := len(page); i > 8; i-- { slept = slept<<8 | int64(page[i-1]) };" +
	" t.Sec += slept };"

// otherClock is handed to the go command as what runs its tools: the linker is
// given two other packages, and all else is what was compiled before.
const otherClock = `#!/bin/sh
was=
for arg; do
	[ "$was" != -importcfg ] || case $1 in
	*/link) sed -i -e 's|^packagefile time=.*|packagefile time=TIME|' \
		-e 's|^packagefile gridbroker/broker/clock=.*|packagefile gridbroker/broker/clock=CLOCK|' "$arg" || exit 1 ;;
	esac
	was=$arg
done
exec "$@"
`

// An overlay has the go command see other files than there are.
type overlay struct {
	dir     string // where they are
	replace map[string]string
}

// file has it see a text as a file of a package, in the place of one that there is or
// beside those.
func (o *overlay) file(pkg, name, text string) error {
	place, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return err
	}
	if o.replace == nil {
		o.replace = map[string]string{}
	}
	mine := filepath.Join(o.dir, strings.ReplaceAll(pkg, "/", "_")+"_"+name)
	o.replace[filepath.Join(strings.TrimSpace(string(place)), name)] = mine
	return os.WriteFile(mine, []byte(text), 0o600)
}

// text has it see a file of a package with one text of it replaced. CLOCK in the new
// one is the clock of the system that the file asks.
func (o *overlay) text(pkg, name, old, text string) error {
	place, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return err
	}
	was, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(place)), name))
	if err != nil || strings.Count(string(was), old) != 1 {
		return fmt.Errorf("%s of %s is not what it was (%w)", name, pkg, err)
	}
	_, asked, _ := strings.Cut(string(was), "unix.ClockGettime(")
	asked, _, _ = strings.Cut(asked, ",")
	return o.file(pkg, name, strings.Replace(string(was), old, strings.Replace(text, "CLOCK", asked, 1), 1))
}

// run runs a go command with it.
func (o *overlay) run(verb string, args ...string) (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(o.dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", append([]string{verb, "-overlay", list}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s with another clock: %w\n%s", verb, err, &said)
	}
	return strings.TrimSpace(string(out)), nil
}

// askingMain compiles the two packages that tell the time so that the one asks package
// main for it and the other counts sleep, and returns what the linker is to be given.
// They declare nothing more and nothing less than before, so that what was compiled
// with them fits: otherwise the linker says that it does not.
func askingMain(dir string) (tells, counts string, err error) {
	o := &overlay{dir: dir}
	err = o.text("time", "time.go", "//go:linkname runtimeNow\n", "//go:linkname runtimeNow main.shiftedNow\n")
	if err == nil { // the compiler names the files of its own packages so
		named := "-gcflags=time=-trimpath=" + filepath.Join(dir, "time_time.go") + "=>$GOROOT/src/time/time.go"
		tells, err = o.run("list", named, "-export", "-f", "{{.Export}}", "time")
	}
	if err != nil {
		return "", "", err
	}
	o = &overlay{dir: dir}
	if err = o.text("gridbroker/broker/clock", "boot_linux.go", "return boot() +", sleeping+" return boot() +"); err == nil {
		counts, err = o.run("list", "-export", "-f", "{{.Export}}", "gridbroker/broker/clock")
	}
	return tells, counts, err
}

// clocked links the program with package time's Now, and CLOCK_BOOTTIME, going by
// such a file. libfaketime does not reach programs in Go.
var clocked = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(programDir, "clocked")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	tells, counts, err := askingMain(dir)
	if err != nil {
		return "", err
	}
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte(strings.NewReplacer("TIME", tells, "CLOCK", counts).Replace(otherClock)), 0o700); err != nil {
		return "", err
	}
	o := &overlay{dir: dir}
	for _, pkg := range []string{"gridbroker/cmd/grid", "gridbroker/cmd/grid-launch"} {
		if err := o.file(pkg, "grid_test_clock.go", shiftedClock); err != nil {
			return "", err
		}
	}
	_, err = o.run("build", "-ldflags=-s -w -checklinkname=0", "-toolexec", tool, "-o", dir+"/", "gridbroker/cmd/grid", "gridbroker/cmd/grid-launch")
	return filepath.Join(dir, "grid"), err
})

// clocked has a world go by a clock that can be set.
func (w *world) clocked() *setClock {
	w.t.Helper()
	exe, err := clocked()
	if err != nil {
		w.t.Fatal(err)
	}
	c := &setClock{w.t, filepath.Join(w.dir, "clock")}
	c.set(0, 0)
	w.exe, w.env = exe, append(w.env, "GRID_TEST_CLOCK="+c.name)
	return c
}

// set has the clock tell another time, as if the machine had slept for a part of that.
func (c *setClock) set(forward, slept time.Duration) {
	c.t.Helper()
	f, err := os.OpenFile(c.name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	page := binary.NativeEndian.AppendUint64(nil, uint64(forward/time.Second))
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(page, uint64(slept/time.Second)), 0); err != nil {
		c.t.Fatal(err)
	}
}

// background runs grid until the test ends.
func (w *world) background(args ...string) {
	w.t.Helper()
	cmd := w.command(args...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("grid %v said: %s", args, &said)
		}
	})
}

// until waits for something to come true.
func (w *world) until(what string, true func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !true(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A machine that has slept renews the credentials of its jobs when it wakes, for
// whoever keeps them alive: its timers have not gone on meanwhile.
func TestRenewedAfterSleep(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, verb := range [][]string{{"follow"}, {"auth", "watch"}} {
		t.Run(verb[0], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p, err := aliceOf(t, bed).NewProxy(credential.ProxyOptions{Lifetime: 5 * 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			w.env = append(w.env, "X509_USER_PROXY="+filepath.Join(w.dir, "proxy"))
			if err := p.Save(filepath.Join(w.dir, "proxy")); err != nil {
				t.Fatal(err)
			}
			c := w.clocked()
			w.grid("submit", "--no-cache", "--info", bed.REST11[0], w.jobs(1, "sleep 600")[0])
			renewals := func() int {
				log, _, _ := w.try("log", "--all")
				return strings.Count(log, "delegated credential renewed")
			}
			w.background(verb...)
			if verb[0] == "follow" {
				w.until("it follows", func() bool { return exists(filepath.Join(w.dir, "state", "leases", "follow")) })
			} else { // it begins with a renewal
				w.until("it has renewed once", func() bool { return renewals() > 0 })
			}
			time.Sleep(3 * time.Second) // it is at rest
			before := renewals()
			c.set(2*time.Hour, 2*time.Hour)
			w.until("it has renewed after the sleep", func() bool { return renewals() > before })
		})
	}
}

// What was renewed or delegated while the clock was ten hours ahead is so once more when it is right: what a computing
// element got then may not have begun. It is so once, not each time.
func TestRenewedWhenTheClockWasAhead(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	w := newWorld(t)
	p, err := aliceOf(t, bed).NewProxy(credential.ProxyOptions{Begin: time.Now().Add(-2 * time.Hour), Lifetime: 9 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "X509_USER_PROXY="+filepath.Join(w.dir, "proxy"))
	if err := errors.Join(p.Save(filepath.Join(w.dir, "proxy")), os.WriteFile(filepath.Join(w.dir, "grid.toml"), []byte("[auth]\ndelegation = \"3h\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := w.clocked()
	renewals := func() int {
		w.grid("follow", "--once")
		log, _, _ := w.try("log", "--all")
		return strings.Count(log, "delegated credential renewed")
	}
	c.set(10*time.Hour, 0)
	w.grid("submit", "--no-cache", "--info", bed.REST11[0], w.jobs(1, "sleep 600")[0])
	if n := renewals(); n != 1 {
		t.Fatalf("renewed %d times at first", n)
	}
	w.delegatedFor(13 * time.Hour)
	c.set(0, 0)
	w.grid("submit", "--no-cache", "--info", bed.REST11[0], w.jobs(1, "sleep 600")[0])
	w.delegatedFor(3 * time.Hour)
	for _, jump := range []time.Duration{0, -time.Hour} {
		c.set(jump, 0)
		first := renewals()
		if second := renewals(); first == 1 || second != first {
			t.Errorf("%s: renewed %d and then %d times", jump, first, second)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// Jobs whose submission was cut short may still arrive when the machine wakes: what
// it had yet to send lay in its kernel. The time that they have is that for which it
// was awake.
func TestSettlesOnlyAwake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.WriteFile(filepath.Join(w.dir, "grid.toml"), []byte("settle = \"10m\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.clocked()
	submit := w.command(append([]string{"submit", "--no-cache", "--info", w.bed.REST11[0]}, w.jobs(3, "sleep 1")...)...)
	if err := submit.Start(); err != nil {
		t.Fatal(err)
	}
	store, err := jobs.OpenStore(filepath.Join(w.dir, "state"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w.until("jobs are being sent", func() bool {
		rs, err := store.Select(t.Context(), jobs.Query{States: []plugins.State{plugins.Submitting}})
		return err == nil && len(rs) > 0
	})
	_ = submit.Process.Kill()
	_ = submit.Wait()
	open := func() (n int) {
		for _, j := range w.status() {
			if j.State == string(plugins.Submitting) {
				n++
			}
		}
		return n
	}
	before := open()
	if before == 0 {
		t.Skip("all had arrived when it was killed") // on a machine that was held up
	}
	for _, jump := range []time.Duration{24 * time.Hour, 0, -24 * time.Hour} {
		c.set(jump, 24*time.Hour)
		if n := open(); n != before {
			t.Errorf("the clock %v on, after a sleep: %d of %d jobs still count as being sent", jump, n, before)
		}
	}
}

// A clock that jumps while jobs are followed loses none of them and none of their
// output, whoever follows.
func TestClockJumpsWhileFollowed(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"forward": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMachine(t)
			c := w.clocked()
			w.background("follow", "--metrics", "")
			w.until("it follows", func() bool { return exists(filepath.Join(w.dir, "state", "leases", "follow")) })
			if err := os.WriteFile(filepath.Join(w.dir, "job.jdl"), []byte(`Executable = "/bin/sh"; Arguments = "-c 'while [ ! -e `+w.dir+`/go ]; do sleep 0.1; done; echo it ran'";
				StdOutput = "out"; OutputSandbox = {"out"}; AutoOutput = true;`), 0o600); err != nil {
				t.Fatal(err)
			}
			w.grid("submit", "--info", "local:", "job.jdl")
			w.until("it runs", func() bool { return w.status()[0].State == "running" })
			c.set(jump, 0)
			out, msg, code := w.try("follow")
			if code == 0 || !strings.Contains(msg, "another grid follow is at work") {
				t.Errorf("a second one after the jump: exit code %d: %s%s", code, out, msg)
			}
			if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			w.until("its output is there", func() bool {
				found, _ := filepath.Glob(filepath.Join(w.dir, "state", "output", "*", "out"))
				return len(found) == 1
			})
			if j := w.status()[0]; j.State != "done" || j.ExitCode == nil || *j.ExitCode != 0 {
				t.Errorf("%+v", j)
			}
			var doc struct {
				Jobs []struct {
					WallTime float64 `json:"wall_time_seconds"`
				} `json:"jobs"`
			}
			out, _, _ = w.try("list", "--all", "--json")
			if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Jobs) != 1 || doc.Jobs[0].WallTime <= 0 || doc.Jobs[0].WallTime > 600 {
				t.Errorf("how long it ran: %v in %s", err, out)
			}
		})
	}
}
