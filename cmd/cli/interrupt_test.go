package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A command that is busy with something that does not listen ends within a
// second of a signal, whichever.
func TestSignalsEndEverything(t *testing.T) {
	t.Parallel()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // which nohup has us ignore, and what is started would inherit that
	t.Cleanup(func() { signal.Stop(caught) })
	dir := testbed.Home(t)
	// Requirements that take long to read and to judge: an expression that runs into its
	// bound is one of many.
	job := filepath.Join(dir, "slow.jdl")
	slow := `regexp("(a*)*(a*)*(a*)*(a*)*b\\1\\2$", "` + strings.Repeat("a", 4000) + `")`
	text := `Executable = "/bin/true"; Requirements = ` + slow + strings.Repeat(" || "+slow, 3000) + `;`
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, args := range [][]string{{"match", "--info", "local:", job}, {"jdl", "check", fifo}, {"resources", "--info", "file:" + fifo}} {
			var code int
			var took time.Duration
			for _, after := range []time.Duration{700 * time.Millisecond, 7 * time.Second, 30 * time.Second} {
				// A machine may be so busy that the program had not begun, or does not end at once.
				if code, took = signalled(t, dir, sig, after, args); code != -1 && took <= 4*time.Second {
					break
				}
			}
			if want := 128 + int(sig); code != want && code != notSignalled || took > 4*time.Second {
				t.Errorf("%v, %v: exit code %d after %v, want %d", args, sig, code, took, want)
			}
		}
	}
}

// TestDaemonsEndInOrder: what serves until it is told to end does so with exit code 0, whichever signal tells it, also where
// timeout(1) tells it and its process group at once, and where nobody reads any more what it says.
func TestDaemonsEndInOrder(t *testing.T) {
	t.Parallel()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	dir := testbed.Home(t)
	start := func(stderr io.Writer, args ...string) *exec.Cmd {
		cmd := exec.Command("grid", args...)
		cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), "HOME="+dir), dir, stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	if err := start(nil, "scheduler", "init", "--file", "scheduler.toml").Wait(); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "scheduler.toml")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, bytes.ReplaceAll(text, []byte("127.0.0.1:6120"), []byte("127.0.0.1:0")), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := make(chan bool, 100)
	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- true
		http.Error(w, "out of order", http.StatusInternalServerError)
	}))
	defer sick.Close()
	for _, args := range [][]string{
		{"scheduler", "serve", "--file", "scheduler.toml"},
		{"agent", "run", "--lrms", "local:", "--cluster", "here", "--scheduler", sick.URL, "--start", "plain", "--token-file", "admin.token"},
		{"cache", "serve", "--dir", "cache", "--origin", "https://data.example.org/", "--listen", "127.0.0.1:0"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			says, errs, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := start(errs, args...)
			errs.Close()
			if line, err := bufio.NewReader(says).ReadString('\n'); err != nil { // that it serves
				t.Errorf("%v: %q %v", args, line, err)
			}
			says.Close()
			if args[0] == "agent" { // it complains to nobody, and asks again
				for range 2 {
					select {
					case <-asked:
					case <-time.After(time.Minute):
						t.Errorf("%v: it asks nobody", args)
					}
				}
			}
			if err := errors.Join(cmd.Process.Signal(sig), cmd.Process.Signal(sig), cmd.Wait()); err != nil {
				t.Errorf("%v, %v: %v", args, sig, err)
			}
		}
	}
}

// notSignalled is the code of a command that had ended before it was to be told.
const notSignalled = -2

// signalled starts the command and sends it a signal some time later. It returns its
// exit code, -1 where the signal itself ended it, and how long it took to end.
func signalled(t *testing.T, home string, sig syscall.Signal, after time.Duration, args []string) (code int, took time.Duration) {
	t.Helper()
	cmd := exec.Command("grid", args...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended: // it was fast enough
		return notSignalled, 0
	case <-time.After(after):
	}
	start := time.Now()
	switch err := cmd.Process.Signal(sig); {
	case errors.Is(err, os.ErrProcessDone): // at that moment
		return notSignalled, 0
	case err != nil:
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		<-ended
	}
	return cmd.ProcessState.ExitCode(), time.Since(start)
}

// TestInterruptedSaysSo: a verb that waits for a server when a signal comes says that it was interrupted, and calls nobody down or
// badly set up for that; a test job that it has sent does not stay behind.
func TestInterruptedSaysSo(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and nothing more
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	dir := testbed.Home(t)
	env := append(os.Environ(), "HOME="+dir)
	job := filepath.Join(dir, "job.jdl")
	if err := os.WriteFile(job, []byte(`Executable = "/bin/sleep"; Arguments = "600";`), 0o600); err != nil {
		t.Fatal(err)
	}
	// The test job of probe waits behind it.
	config := filepath.Join(dir, "grid.toml")
	if err := os.WriteFile(config, []byte("sources = [\"local:\"]\n[[local]]\nname = \"desk\"\nslots = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	grid := func(args ...string) string {
		cmd := exec.Command("grid", append([]string{"--config", config}, args...)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(args, err, string(out))
		}
		return string(out)
	}
	grid("submit", job)
	t.Cleanup(func() { grid("cancel", "--all") })
	url := silent.Addr().String()
	for _, args := range [][]string{{"ping", "https://" + url + "/arex"}, {"budget", "--via", "grid://" + url}, {"auth", "login", "--issuer", "https://" + url + "/"},
		{"match", "--info", "https://" + url + "/arex", job}, {"probe", "desk"}} {
		var out, errs bytes.Buffer
		cmd := exec.Command("grid", append([]string{"--config", config}, args...)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if args[0] == "probe" {
			for start := time.Now(); !strings.Contains(grid("list"), "  probe  ") && time.Since(start) < 30*time.Second; {
				time.Sleep(50 * time.Millisecond)
			}
		} else {
			conn, err := silent.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		told := strings.Contains(errs.String(), "test jobs may go on: grid cancel --name probe") // on a machine that is that busy
		if told {
			grid("cancel", "--name", "probe")
			grid("clean", "--name", "probe")
			continue
		}
		if code := cmd.ProcessState.ExitCode(); code != 143 || out.Len() > 0 || errs.String() != "grid: interrupted\n" {
			t.Errorf("%v: %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
	if left := grid("list"); strings.Contains(left, "  probe  ") {
		t.Errorf("the test job is still there: %s", left)
	}
}
