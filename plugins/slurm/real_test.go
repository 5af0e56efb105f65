package slurm_test

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/slurm"
)

// testbed opens the real Slurm that testdata/testbed/slurm/up.sh starts, once
// through this machine's commands and once through sshd.
func testbed(t testing.TB) (b *slurm.Backend, urls map[string]string) {
	t.Helper()
	top := os.Getenv("GRID_TESTBED_DIR")
	if top == "" {
		top = "/tmp/grid-testbed"
	}
	dir := filepath.Join(top, "slurm")
	conf := filepath.Join(dir, "slurm.conf")
	cmd := exec.Command("sinfo", "-h")
	cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
	if _, err := os.Stat(filepath.Join(dir, "env")); err != nil || cmd.Run() != nil {
		if os.Getenv("GRID_TESTBED") == "require" {
			t.Fatal("the Slurm testbed is not up")
		}
		t.Skip("no Slurm here: testdata/testbed/slurm/up.sh starts one")
	}
	b = slurm.New(slurm.Options{
		Environ: append(os.Environ(), "SLURM_CONF="+conf, "SSH_AUTH_SOCK="),
		Home:    t.TempDir(), SSHConfig: filepath.Join(dir, "ssh", "config"),
	})
	t.Cleanup(func() { b.Close() })
	base := t.TempDir()
	return b, map[string]string{
		"local":    "slurm:" + base + "/l",
		"ssh":      "slurm+ssh://gridlab" + base + "/s",
		"external": "slurm+ssh://gridlab" + base + "/x?ssh=external",
	}
}

// slurmCommand runs one of Slurm's own commands, as the truth to compare with.
func source(t testing.TB, b *slurm.Backend, raw string) (plugins.Source, error) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return b.Source(u)
}

func slurmCommand(t testing.TB, argv ...string) string {
	t.Helper()
	top := os.Getenv("GRID_TESTBED_DIR")
	if top == "" {
		top = "/tmp/grid-testbed"
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(top, "slurm", "slurm.conf"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	return string(out)
}

func request(t testing.TB, b *slurm.Backend, url, id string, job *jdl.Job) plugins.Request {
	t.Helper()
	if job.Demand.Slots == 0 {
		job.Demand.Slots = 1
	}
	r := &glue.Resource{Queue: "short", MaxWallTime: glue.Some(time.Hour)}
	return plugins.Request{ID: id, Job: job, Resource: r, Endpoint: glue.Endpoint{URL: url, Interface: glue.InterfaceSlurm}}
}

func waitFinal(t testing.TB, b *slurm.Backend, hs []plugins.Handle) []plugins.Status {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(300 * time.Millisecond) {
		sts := b.Status(t.Context(), hs)
		left := 0
		for _, st := range sts {
			if st.Err != nil {
				t.Fatalf("%s: %v", st.Handle.ID, st.Err)
			}
			if !st.State.Final() {
				left++
			}
		}
		if left == 0 {
			return sts
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d jobs not at their end: %+v", left, sts[0])
		}
	}
}

func TestRealSlurm(t *testing.T) {
	t.Parallel()
	b, urls := testbed(t)
	for name, url := range urls {
		t.Run(name, func(t *testing.T) { roundTrip(t, b, url, name) })
	}
}

func roundTrip(t *testing.T, b *slurm.Backend, url, prefix string) {
	in := filepath.Join(t.TempDir(), "in put.txt")
	if err := os.WriteFile(in, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "run.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '<%s>' \"$@\"; echo; cat 'in put.txt'; echo \"$ODD\"; echo bad >&2; echo x > result; exit 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	odd := `a'b "c" $(touch pwned) ; \ ` + "\n`d`"
	job := &jdl.Job{
		Name: "odd", Executable: "run.sh", Args: []string{odd, "", "-n", "*"}, StdOutput: "out dir/std out", StdError: "err",
		OutputSandbox: []jdl.OutputFile{{Name: "res*"}},
		Environment:   []jdl.EnvVar{{Name: "ODD", Value: odd}},
		InputSandbox:  []jdl.InputFile{{Source: in, Name: "in put.txt"}, {Source: script, Name: "run.sh"}},
		Demand:        jdl.Demand{WallTime: 5 * time.Minute, Memory: 100, Slots: 1},
	}
	other := &jdl.Job{Name: "other", Executable: "/bin/sh", Args: []string{"-c", "cat 'in put.txt'; hostname"}, StdOutput: "o", StdError: "o",
		InputSandbox: []jdl.InputFile{{Source: in, Name: "in put.txt"}}, Demand: job.Demand}
	big := &jdl.Job{Name: "big", Executable: "true", Demand: jdl.Demand{Memory: 100_000_000}}
	var reqs []plugins.Request
	for i, j := range []*jdl.Job{job, other, big} {
		reqs = append(reqs, request(t, b, url, prefix+"-"+string(rune('a'+i)), j))
	}
	rs := b.Submit(t.Context(), reqs, nil)
	for _, r := range rs[:2] {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if e, ok := rs[2].Err.(*plugins.Error); !ok || e.Kind != plugins.Refused {
		t.Errorf("100 TB of memory: %v", rs[2].Err)
	}
	hs := []plugins.Handle{rs[0].Handle, rs[1].Handle}
	found, err := b.Find(t.Context(), reqs[0].Endpoint, []string{reqs[0].ID, reqs[1].ID, "nobody-" + prefix})
	if err != nil || len(found) != 2 || found[reqs[0].ID] != hs[0] || found[reqs[1].ID] != hs[1] {
		t.Errorf("found %v, %v; want %v", found, err, hs)
	}
	again := b.Submit(t.Context(), reqs[:1], nil)
	if again[0].Err != nil || again[0].Handle != hs[0] {
		t.Errorf("the same id again: %+v", again[0])
	}
	sts := waitFinal(t, b, hs)
	if st := sts[0]; st.State != plugins.Done || st.ExitCode != glue.Some(3) || st.Started.IsZero() || st.Node == "" {
		t.Errorf("first: %+v", st)
	}
	if st := sts[1]; st.State != plugins.Done || st.ExitCode != glue.Some(0) {
		t.Errorf("second: %+v", st)
	}
	dir := t.TempDir()
	got := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)
	if got[0].Err != nil || !slices.Equal(got[0].Files, []string{"err", "out dir/std out", "result"}) {
		t.Fatalf("fetched %q, %v", got[0].Files, got[0].Err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "out dir/std out"))
	if want := "<" + odd + "><><-n><*>\nhello\n" + odd + "\n"; string(text) != want {
		t.Errorf("output %q, want %q", text, want)
	}
	var buf bytes.Buffer
	if n, err := b.Peek(t.Context(), hs[1], "o", 2, &buf); err != nil || n < 4 || !strings.HasPrefix(buf.String(), "llo\n") {
		t.Errorf("peek %d %q %v", n, buf.String(), err)
	}
	buf.Reset()
	if err := b.Log(t.Context(), hs[0], &buf); err != nil || !strings.Contains(buf.String(), "JobState=") {
		t.Errorf("log %q %v", buf.String(), err)
	}
	for _, err := range b.Clean(t.Context(), hs) {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Peek(t.Context(), hs[1], "o", 0, &buf); err == nil {
		t.Error("the job's directory is still there")
	}
}

func TestRealCancel(t *testing.T) {
	b, urls := testbed(t)
	url := urls["ssh"]
	var reqs []plugins.Request
	for _, id := range []string{"c1", "c2", "c3"} {
		reqs = append(reqs, request(t, b, url, id, &jdl.Job{Executable: "sleep", Args: []string{"600"}}))
	}
	var hs []plugins.Handle
	for _, r := range b.Submit(context.Background(), reqs, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	for range 2 {
		for _, err := range b.Cancel(t.Context(), hs) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	for _, st := range waitFinal(t, b, hs) {
		if st.State != plugins.Cancelled {
			t.Errorf("%+v", st)
		}
	}
}

func TestRealResources(t *testing.T) {
	b, urls := testbed(t)
	src, err := source(t, b, urls["ssh"])
	if err != nil {
		t.Fatal(err)
	}
	rs, err := src.Resources(t.Context())
	if err != nil || len(rs) != 5 {
		t.Fatalf("%d resources, %v", len(rs), err)
	}
	want := map[string]glue.ServingState{"short": glue.Production, "closed": glue.Queueing, "drained": glue.Draining}
	for _, r := range rs {
		t.Logf("%+v", r)
		if w, ok := want[r.Queue]; ok && r.Serving != w {
			t.Errorf("%s: %q", r.Queue, r.Serving)
		}
		if r.Queue == "short" && (r.MaxWallTime.V != time.Hour || r.TotalSlots.V != 64 || r.GPUs.V != 2 || len(r.RuntimeEnvironments) != 3) {
			t.Errorf("short: %+v", r)
		}
		if r.Queue == "infinite" && r.MaxWallTime.OK {
			t.Errorf("infinite: %v", r.MaxWallTime)
		}
	}
	pong, err := b.Ping(t.Context(), urls["ssh"])
	if err != nil || !pong.LetIn {
		t.Errorf("%+v %v", pong, err)
	}
}

func TestRealForecast(t *testing.T) {
	b, urls := testbed(t)
	src, err := source(t, b, urls["ssh"])
	if err != nil {
		t.Fatal(err)
	}
	rs, err := src.Resources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ps []*glue.Resource
	for i := range rs {
		ps = append(ps, &rs[i])
	}
	job := &jdl.Job{Demand: jdl.Demand{Slots: 2, WallTime: 30 * time.Minute}}
	fs, err := b.Forecast(t.Context(), job, ps)
	if err != nil || len(fs) != 3 { // closed is down, drained takes none
		t.Fatalf("%+v %v", fs, err)
	}
	job.Demand.WallTime = 2 * time.Hour
	if fs, err = b.Forecast(t.Context(), job, ps); err != nil || len(fs) != 2 {
		t.Errorf("two hours do not fit in short: %+v %v", fs, err)
	}
	if qs, err := b.QueueLengths(t.Context(), ps); err != nil || len(qs) != 5 {
		t.Errorf("%+v %v", qs, err)
	}
}

// Behind a job without a time limit Slurm plans for the year 7130.
func TestRealForecastBehindJobWithoutLimit(t *testing.T) {
	b, urls := testbed(t)
	url := urls["local"]
	endless := request(t, b, url, "endless", &jdl.Job{Executable: "sleep", Args: []string{"300"}, Demand: jdl.Demand{Slots: 8}})
	endless.Resource = &glue.Resource{ID: "infinite", Queue: "infinite", Serving: glue.Production, Endpoints: []glue.Endpoint{endless.Endpoint}}
	r := b.Submit(t.Context(), []plugins.Request{endless}, nil)[0]
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	defer b.Clean(t.Context(), []plugins.Handle{r.Handle})
	for b.Status(t.Context(), []plugins.Handle{r.Handle})[0].State != plugins.Running {
		if t.Context().Err() != nil {
			t.Fatal("not running")
		}
		time.Sleep(200 * time.Millisecond)
	}
	fs, err := b.Forecast(t.Context(), &jdl.Job{Demand: jdl.Demand{Slots: 8}}, []*glue.Resource{endless.Resource})
	if err != nil || len(fs) != 0 {
		t.Errorf("%+v %v", fs, err)
	}
}
