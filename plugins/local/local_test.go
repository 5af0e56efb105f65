package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/durable"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
	"gridbroker/testdata/testbed"
)

// TestMain lets the test binary stand in for the program's helper verbs.
func TestMain(m *testing.M) {
	args := os.Args
	if len(args) == 3 {
		var err error
		switch args[1] {
		case local.RunnerVerb:
			err = local.RunSite(context.Background(), args[2], args[:1], time.Now)
		case local.SupervisorVerb:
			err = local.RunJob(context.Background(), args[2], time.Now)
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newBackend(t *testing.T, sites ...local.Site) *local.Backend {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := local.New(local.Options{Dir: testbed.Home(t), Sites: sites, Helper: []string{exe}, Now: time.Now, CPUs: 2, Memory: 4096})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func shell(script string) *jdl.Job {
	return &jdl.Job{Name: "test", Executable: "/bin/sh", Args: []string{"-c", script}, StdOutput: "out", StdError: "err"}
}

func request(site, id string, job *jdl.Job) plugins.Request {
	return plugins.Request{ID: id, Job: job, Endpoint: glue.Endpoint{URL: local.EndpointURL(site), Interface: glue.InterfaceLocal}}
}

func submit(t *testing.T, b *local.Backend, reqs ...plugins.Request) []plugins.Handle {
	t.Helper()
	var hs []plugins.Handle
	for _, r := range b.Submit(context.Background(), reqs, nil) {
		if r.Err != nil {
			t.Fatalf("submit %s: %v", r.ID, r.Err)
		}
		hs = append(hs, r.Handle)
	}
	return hs
}

func wait(t *testing.T, b *local.Backend, h plugins.Handle, until func(plugins.State) bool) plugins.Status {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		st := b.Status(context.Background(), []plugins.Handle{h})[0]
		if until(st.State) {
			return st
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %s is still %s", h.ID, st.State)
		}
	}
}

func fetched(t *testing.T, b *local.Backend, h plugins.Handle, name string) string {
	t.Helper()
	dir := t.TempDir()
	if r := b.Fetch(context.Background(), []plugins.FetchRequest{{Handle: h, Dir: dir}}, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRunsAndKeepsExitCodeAndOutput(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	input := filepath.Join(t.TempDir(), "input.txt")
	os.WriteFile(input, []byte("from the sandbox\n"), 0o600)
	job := shell(`cat in.txt; echo "$WORD" >&2; pwd > made.txt; exit 7`)
	job.InputSandbox = []jdl.InputFile{{Source: input, Name: "in.txt"}}
	job.OutputSandbox = []jdl.OutputFile{{Name: "made.*"}}
	job.Environment = []jdl.EnvVar{{Name: "WORD", Value: "two words; $(id)"}}
	h := submit(t, b, request("a", "j1", job))[0]
	st := wait(t, b, h, plugins.State.Final)
	if st.State != plugins.Done || st.ExitCode != glue.Some(7) {
		t.Errorf("state %s exit %v reason %q, want done 7", st.State, st.ExitCode, st.Reason)
	}
	if got := fetched(t, b, h, "out"); got != "from the sandbox\n" {
		t.Errorf("out = %q", got)
	}
	if got := fetched(t, b, h, "err"); got != "two words; $(id)\n" {
		t.Errorf("err = %q", got)
	}
	if got := fetched(t, b, h, "made.txt"); !strings.HasSuffix(got, "/j1/work\n") {
		t.Errorf("made.txt = %q", got)
	}
}

func TestPrologueAndEpilogue(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	job := shell("echo main")
	job.Prologue, job.PrologueArgs = "/bin/echo", []string{"before"}
	job.Epilogue, job.EpilogueArgs = "/bin/echo", []string{"after"}
	h := submit(t, b, request("a", "j1", job))[0]
	wait(t, b, h, plugins.State.Final)
	if got := fetched(t, b, h, "out"); got != "before\nmain\nafter\n" {
		t.Errorf("out = %q", got)
	}
	job.Prologue = "/bin/false"
	h = submit(t, b, request("a", "j2", job))[0]
	if st := wait(t, b, h, plugins.State.Final); st.State != plugins.Failed || !strings.Contains(st.Reason, "prologue") {
		t.Errorf("%s %q, want a failed prologue", st.State, st.Reason)
	}
}

func TestSlotsQueueTheRest(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a", Slots: 2})
	log := filepath.Join(t.TempDir(), "log")
	var reqs []plugins.Request
	for i := range 6 {
		job := shell(fmt.Sprintf("echo start %d >> %s; sleep 0.3; echo end >> %s", i, log, log))
		reqs = append(reqs, request("a", fmt.Sprintf("j%d", i), job))
	}
	hs := submit(t, b, reqs...)
	src, err := b.Source(&url.URL{Scheme: "local"})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, b, hs[0], func(s plugins.State) bool { return s == plugins.Running })
	rs, err := src.Resources(t.Context())
	if err != nil || rs[0].FreeSlots.V > 1 || rs[0].Waiting.V < 4 {
		t.Errorf("while busy: free %v waiting %v, %v", rs[0].FreeSlots, rs[0].Waiting, err)
	}
	for _, h := range hs {
		wait(t, b, h, plugins.State.Final)
	}
	text, _ := os.ReadFile(log)
	running, order := 0, 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "end") {
			running--
			continue
		}
		if running++; running > 2 {
			t.Fatalf("more than two at once:\n%s", text)
		}
		n, _ := strconv.Atoi(strings.Fields(line)[1])
		if n/2 < order/2 {
			t.Errorf("out of order:\n%s", text)
		}
		order = n
	}
}

func TestWallTimeEndsTheWholeTree(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a", MaxWall: 300 * time.Millisecond})
	pids := filepath.Join(t.TempDir(), "pids")
	// A daemon of its own session, and a child that ignores SIGTERM.
	h := submit(t, b, request("a", "j1", shell(fmt.Sprintf(
		`setsid sh -c 'echo $$ >> %[1]s; sleep 300' & (trap "" TERM; echo $$ >> %[1]s; sleep 300) & sleep 300`, pids))))[0]
	st := wait(t, b, h, plugins.State.Final)
	if st.State != plugins.Failed || !strings.Contains(st.Reason, "wall time") {
		t.Errorf("%s %q, want failed by wall time", st.State, st.Reason)
	}
	text, _ := os.ReadFile(pids)
	if len(strings.Fields(string(text))) != 2 {
		t.Fatalf("pids: %q", text)
	}
	for _, f := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(f)
		if cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(cmdline, []byte("sleep")) {
			t.Errorf("process %d is still there: %q", pid, cmdline)
		}
	}
}

func TestCancelWaitingAndRunning(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a", Slots: 1})
	hs := submit(t, b, request("a", "j1", shell("sleep 300")), request("a", "j2", shell("sleep 300")))
	wait(t, b, hs[0], func(s plugins.State) bool { return s == plugins.Running })
	for range 2 { // twice is fine
		for _, err := range b.Cancel(t.Context(), []plugins.Handle{hs[1], hs[0]}) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	for _, h := range hs {
		if st := wait(t, b, h, plugins.State.Final); st.State != plugins.Cancelled {
			t.Errorf("%s: %s %q", h.ID, st.State, st.Reason)
		}
	}
	for _, err := range b.Clean(t.Context(), hs) {
		if err != nil {
			t.Error(err)
		}
	}
	if st := b.Status(t.Context(), hs)[0]; st.State != plugins.Lost || st.Err == nil {
		t.Errorf("after clean: %s, %v", st.State, st.Err)
	}
}

// TestPipeForInput: a job whose standard input is a pipe that nobody writes to fails, and is not one that nobody can end.
func TestPipeForInput(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a", Slots: 1})
	pipe := filepath.Join(t.TempDir(), "pipe")
	check(t, syscall.Mkfifo(pipe, 0o600))
	job, device := shell("cat"), shell("head -c 3 | wc -c")
	job.StdInput, device.StdInput = pipe, "/dev/zero"
	hs := submit(t, b, request("a", "piped", job), request("a", "device", device))
	if st := wait(t, b, hs[1], plugins.State.Final); st.State != plugins.Done {
		t.Errorf("a device: %+v", st)
	}
	if st := wait(t, b, hs[0], plugins.State.Final); st.State != plugins.Failed || !strings.Contains(st.Reason, "is a named pipe") {
		t.Errorf("%+v", st)
	}
}

// TestCancelMany: hundreds of jobs are cancelled together, one named twice;
// what an interrupted call has not come to goes on waiting.
func TestCancelMany(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a", Slots: 1})
	var reqs []plugins.Request
	for i := range 300 {
		reqs = append(reqs, request("a", fmt.Sprintf("j%03d", i), shell("sleep 300")))
	}
	hs := submit(t, b, reqs...)
	gone, stop := context.WithCancel(t.Context())
	stop()
	for _, err := range b.Cancel(gone, hs) {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted: %v", err)
		}
	}
	for i, err := range b.Cancel(t.Context(), append(hs, hs[7], plugins.Handle{Endpoint: hs[0].Endpoint, ID: "nosuch"})) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	for _, h := range hs {
		if st := wait(t, b, h, plugins.State.Final); st.State != plugins.Cancelled {
			t.Fatalf("%s: %s %q", h.ID, st.State, st.Reason)
		}
	}
}

func TestSubmitTwiceRunsOnce(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	log := filepath.Join(t.TempDir(), "log")
	req := request("a", "j1", shell("echo ran >> "+log))
	h := submit(t, b, req)[0]
	submit(t, b, req)
	wait(t, b, h, plugins.State.Final)
	submit(t, b, req)
	time.Sleep(200 * time.Millisecond)
	if text, _ := os.ReadFile(log); string(text) != "ran\n" {
		t.Errorf("log: %q", text)
	}
	found, err := b.Find(t.Context(), req.Endpoint, []string{"j1", "j2", "../j1"})
	if err != nil || len(found) != 1 || found["j1"] != h {
		t.Errorf("Find = %v, %v", found, err)
	}
}

func TestSupervisorKilled(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	pids := filepath.Join(t.TempDir(), "pids")
	h := submit(t, b, request("a", "j1", shell(fmt.Sprintf(`echo $PPID $$ > %s; sleep 300`, pids))))[0]
	var supervisor, child int
	for supervisor == 0 {
		time.Sleep(20 * time.Millisecond)
		text, _ := os.ReadFile(pids)
		fmt.Sscan(string(text), &supervisor, &child)
	}
	syscall.Kill(supervisor, syscall.SIGKILL)
	st := wait(t, b, h, plugins.State.Final)
	if st.State != plugins.Failed || !strings.Contains(st.Reason, "supervisor") {
		t.Errorf("%s %q", st.State, st.Reason)
	}
	for deadline := time.Now().Add(time.Minute); syscall.Kill(child, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child)); bytes.Contains(stat, []byte(") Z ")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the job's process outlived its supervisor")
		}
	}
}

func TestLinksDoNotLeadOutside(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	secret := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(secret, []byte("secret"), 0o600)
	job := shell("ln -s " + secret + " leak.txt")
	job.OutputSandbox = []jdl.OutputFile{{Name: "leak.txt"}}
	h := submit(t, b, request("a", "j1", job))[0]
	wait(t, b, h, plugins.State.Final)
	dir := t.TempDir()
	r := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: h, Dir: dir}}, nil)[0]
	if r.Err == nil {
		t.Error("a link out of the job's directory was followed")
	}
	if _, err := os.Stat(filepath.Join(dir, "leak.txt")); err == nil {
		t.Error("leak.txt was brought")
	}
}

// TestOnlySite: a URL that names no site is that of the only one, and of none where there are several.
func TestOnlySite(t *testing.T) {
	b := newBackend(t, local.Site{Name: "here", Slots: 2})
	h := submit(t, b, request("", "j1", shell("true")))[0]
	if h.Endpoint != local.EndpointURL("here") {
		t.Errorf("its job is at %s", h.Endpoint)
	}
	wait(t, b, h, plugins.State.Final)
	b = newBackend(t, local.Site{Name: "a", Slots: 2}, local.Site{Name: "b", Slots: 2})
	if r := b.Submit(t.Context(), []plugins.Request{request("", "j1", shell("true"))}, nil)[0]; r.Err == nil || !strings.Contains(r.Err.Error(), "say local:NAME") {
		t.Errorf("of two sites: %v", r.Err)
	}
}

func TestRefusals(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a", Slots: 2}, local.Site{Name: "off", Disabled: true})
	outside := shell("true")
	outside.StdOutput = "../out"
	wide := shell("true")
	wide.Demand.Slots = 3
	remote := shell("true")
	remote.InputSandbox = []jdl.InputFile{{Source: "gsiftp://host/file", Name: "file"}}
	for name, req := range map[string]plugins.Request{
		"leaves the job's directory": request("a", "j1", outside),
		"more processors":            request("a", "j2", wide),
		"gsiftp://host/file":         request("a", "j3", remote),
		"draining":                   request("off", "j4", shell("true")),
		"no such local site":         request("b", "j5", shell("true")),
		"cannot name a directory":    request("a", "../j6", shell("true")),
	} {
		r := b.Submit(t.Context(), []plugins.Request{req}, nil)[0]
		if r.Err == nil || !strings.Contains(r.Err.Error(), name) {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}

// Jobs of a site that has left the configuration can still be followed.
func TestSiteNoLongerConfigured(t *testing.T) {
	exe, _ := os.Executable()
	opts := local.Options{Dir: t.TempDir(), Sites: []local.Site{{Name: "a"}}, Helper: []string{exe}, Now: time.Now, CPUs: 1}
	before, err := local.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	h := submit(t, before, request("a", "j1", shell("sleep 300")))[0]
	opts.Sites = nil
	after, err := local.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, after, h, func(s plugins.State) bool { return s == plugins.Running })
	if r := after.Submit(t.Context(), []plugins.Request{request("a", "j2", shell("true"))}, nil)[0]; r.Err == nil {
		t.Error("a site that is not configured took a job")
	}
	after.Cancel(t.Context(), []plugins.Handle{h})
	if st := wait(t, after, h, plugins.State.Final); st.State != plugins.Cancelled {
		t.Errorf("%s %q", st.State, st.Reason)
	}
}

// A job that leaves a pipe where a file is asked for keeps nobody waiting for a writer.
func TestPeekAtOddFiles(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	h := submit(t, b, request("a", "j1", shell("mkfifo pipe; ln -s pipe link; ln -s /etc/passwd away; mkdir dir; echo yes >file")))[0]
	wait(t, b, h, plugins.State.Final)
	for name, want := range map[string]string{"pipe": "no regular file", "link": "no regular file", "away": "escapes", "dir": "no regular file",
		".": "no regular file", "": "empty path", "../spec.json": "escapes", "/etc/passwd": "escapes", "nothing": "no such file", strings.Repeat("n", 300): "too long"} {
		got := make(chan error, 1)
		var text bytes.Buffer
		go func() {
			_, err := b.Peek(t.Context(), h, name, 0, &text)
			got <- err
		}()
		select {
		case err := <-got:
			if err == nil || !strings.Contains(err.Error(), want) || text.Len() > 0 {
				t.Errorf("%q: %v, want %s; %q", name, err, want, text.String())
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q: no answer", name)
		}
	}
	var text bytes.Buffer
	if _, err := b.Peek(t.Context(), h, "file", 1, &text); err != nil || text.String() != "es\n" {
		t.Errorf("%q %v", text.String(), err)
	}
}

// A job that puts a pipe in the place of its supervisor's log keeps nobody waiting either.
func TestLogThatIsAPipe(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	h := submit(t, b, request("a", "j1", shell("rm ../log; mkfifo ../log")))[0]
	wait(t, b, h, plugins.State.Final)
	got := make(chan error, 1)
	go func() { got <- b.Log(t.Context(), h, io.Discard) }()
	select {
	case err := <-got:
		if !errors.Is(err, durable.ErrNotRegular) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("its other end is waited for")
	}
}

func TestPeekAndLog(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a"})
	h := submit(t, b, request("a", "j1", shell("echo hello; sleep 300")))[0]
	var buf bytes.Buffer
	for deadline := time.Now().Add(time.Minute); buf.Len() == 0 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		b.Peek(t.Context(), h, "out", 1, &buf)
	}
	if buf.String() != "ello\n" {
		t.Errorf("peek: %q", buf.String())
	}
	if _, err := b.Peek(t.Context(), h, "../spec.json", 0, &buf); err == nil {
		t.Error("peek outside of the job's directory")
	}
	buf.Reset()
	if err := b.Log(t.Context(), h, &buf); err != nil || !strings.Contains(buf.String(), "start") {
		t.Errorf("log %q, %v", buf.String(), err)
	}
}

func TestSiteNames(t *testing.T) {
	for _, sites := range [][]local.Site{{{Name: ""}}, {{Name: "../x"}}, {{Name: "a"}, {Name: "a"}}, {{Name: "a", Slots: -1}}} {
		if _, err := local.New(local.Options{Sites: sites}); err == nil {
			t.Errorf("%v was accepted", sites)
		}
	}
}
