package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A comparison that was interrupted, and one that was killed, again and again, goes on
// where it stopped: no run that was kept is played again, and the results are those of one that
// was left alone, to the byte.
func TestSimulationsAreResumed(t *testing.T) {
	testbed.Computes(t)
	for name, c := range map[string]struct {
		args []string
		runs int
	}{
		"seeds": {[]string{"--seeds", "12"}, 24},
		"vary":  {[]string{"--seeds", "5", "--vary", "load=0.2,0.4,0.6"}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t, c.args)
			want, page := p.whole()
			played, stops := 0, 0
			for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGINT, syscall.SIGKILL} {
				if !p.stopped(sig, played+3) {
					break
				}
				stops++
				if played = p.kept(); played >= c.runs {
					t.Fatalf("all of the %d runs were played before the signal", c.runs)
				}
			}
			if stops < 2 {
				t.Fatalf("it was stopped %d times", stops)
			}
			out, html := p.resumed()
			if out != want {
				t.Errorf("resumed after %d runs it says\n%.2000s\nwant\n%.2000s", played, out, want)
			}
			if html != page {
				t.Error("the report of the one that was resumed is another")
			}
			if kept := p.kept(); kept != c.runs {
				t.Errorf("%d runs are kept, want %d", kept, c.runs)
			}
		})
	}
}

// Two programs do not write to one file of runs.
func TestRunsAreKeptByOne(t *testing.T) {
	testbed.Computes(t)
	p := newPlayer(t, []string{"--seeds", "40"})
	first := p.command("--resume", "runs")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { first.Process.Kill(); first.Wait() }()
	p.until(1)
	out, err := p.command("--resume", "runs").CombinedOutput()
	if x, ok := errors.AsType[*exec.ExitError](err); !ok || x.ExitCode() != 2 || !strings.Contains(string(out), "another program") {
		t.Errorf("the second: %v\n%s", err, out)
	}
}

// player plays a scenario with the program.
type player struct {
	t    *testing.T
	dir  string
	args []string
}

func newPlayer(t *testing.T, args []string) *player {
	p := &player{t, t.TempDir(), args}
	text := "policies = [\"random\", \"hybrid\"]\n[jobs]\ncount = 800\nload = 0.4\n"
	for i, procs := range []int{16, 32, 64} {
		text += fmt.Sprintf("[[site]]\nname = \"s%d\"\nprocs = %d\nlocal_load = 0.3\nservices = true\n", i, procs)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "s.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *player) command(more ...string) *exec.Cmd {
	cmd := exec.Command(program(p.t), append(append([]string{"sim", "grid", "s.toml", "--json", "-j", "1"}, p.args...), more...)...)
	cmd.Dir = p.dir
	cmd.Env = []string{"HOME=" + p.dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// whole plays all at once.
func (p *player) whole() (out, page string) { return p.finish("--html", "whole.html") }

func (p *player) resumed() (out, page string) {
	return p.finish("--html", "resumed.html", "--resume", "runs")
}

func (p *player) finish(flags ...string) (out, page string) {
	p.t.Helper()
	text, err := p.command(flags...).Output()
	if err != nil {
		p.t.Fatalf("%v: %v", flags, err)
	}
	html, err := os.ReadFile(filepath.Join(p.dir, flags[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text), string(html)
}

// stopped plays until some runs are kept, and sends the signal; false: it ended first.
func (p *player) stopped(sig syscall.Signal, runs int) bool {
	p.t.Helper()
	cmd := p.command("--resume", "runs", "--html", "never.html")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.until(runs)
	cmd.Process.Signal(sig)
	err := cmd.Wait()
	if err == nil {
		return false
	}
	no := strings.HasPrefix(out.String(), `{"schema":"grid.error/`) || out.Len() == 0
	if _, there := os.Stat(filepath.Join(p.dir, "never.html")); there == nil || !no {
		p.t.Errorf("stopped by %v it wrote results: %s", sig, out.String())
	}
	if x, ok := errors.AsType[*exec.ExitError](err); ok && sig == syscall.SIGINT && x.ExitCode() != 130 {
		p.t.Errorf("interrupted it ended with %d", x.ExitCode())
	}
	return true
}

// until waits until so many runs are kept.
func (p *player) until(runs int) {
	p.t.Helper()
	for began := time.Now(); p.kept() < runs; time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			p.t.Fatalf("%d runs are kept after two minutes, want %d", p.kept(), runs)
		}
	}
}

// kept counts the runs in the files, each of which must be another.
func (p *player) kept() (n int) {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "runs*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, line := range strings.SplitAfter(string(text), "\n") {
			if i == 0 || !strings.HasSuffix(line, "\n") {
				continue
			}
			var r struct {
				Policy string `json:"policy"`
				Seed   int    `json:"seed"`
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				p.t.Fatalf("%s: %v in %.100s", name, err, line)
			}
			key := fmt.Sprint(r.Policy, r.Seed)
			if seen[key] {
				p.t.Errorf("%s: %s was played twice", name, key)
			}
			seen[key] = true
			n++
		}
	}
	return n
}
