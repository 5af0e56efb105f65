package slurm_test

import (
	"bytes"
	"context"
	"fmt"
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
	bed "gridbroker/testdata/testbed"
)

// cluster is a real Slurm of the testbed.
type cluster struct {
	*slurm.Backend
	urls map[string]string // by the way to it
	dead string            // a URL that nobody answers at
	bin  string            // its own commands, as the truth to compare with; "": those of PATH
	conf string            // their slurm.conf; "": their own
}

// testbed opens the Slurm 22.05 that testdata/testbed/slurm/up.sh starts, through
// this machine's commands and through sshd.
func testbed(t testing.TB) *cluster {
	t.Helper()
	dir := up(t, "slurm")
	c := &cluster{dead: "slurm+ssh://gridlab:1", conf: filepath.Join(dir, "slurm.conf")}
	c.Backend = slurm.New(slurm.Options{
		Environ: append(os.Environ(), "SLURM_CONF="+c.conf, "SSH_AUTH_SOCK="),
		Home:    t.TempDir(), SSHConfig: filepath.Join(dir, "ssh", "config"),
	})
	t.Cleanup(func() { c.Close() })
	base := t.TempDir()
	c.urls = map[string]string{
		"local":    "slurm:" + base + "/l",
		"ssh":      "slurm+ssh://gridlab" + base + "/s",
		"external": "slurm+ssh://gridlab" + base + "/x?ssh=external",
	}
	return c
}

// newer opens the Slurm 24.11 that testdata/testbed/slurm24/up.sh starts, through
// the sshd of its tree.
func newer(t testing.TB) *cluster {
	t.Helper()
	dir := up(t, "slurm24")
	c := &cluster{dead: "slurm+ssh://slurm24:1", bin: filepath.Join(dir, "bin")}
	c.Backend = slurm.New(slurm.Options{
		Environ: append(os.Environ(), "SSH_AUTH_SOCK="), Home: t.TempDir(), SSHConfig: filepath.Join(dir, "ssh_config"),
	})
	t.Cleanup(func() { c.Close() })
	c.urls = map[string]string{"ssh": "slurm+ssh://slurm24/home/condorjob" + t.TempDir()}
	return c
}

// clusters runs a test on the Slurms of every version.
func clusters(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Run("22.05", func(t *testing.T) { test(t, testbed(t)) })
	t.Run("24.11", func(t *testing.T) { test(t, newer(t)) })
}

// up is the directory of a Slurm of the testbed, which is up.
func up(t testing.TB, name string) string {
	t.Helper()
	top := bed.Dir()
	dir := filepath.Join(top, name)
	if _, err := os.Stat(filepath.Join(dir, "env")); err != nil {
		if os.Getenv("GRID_TESTBED") == "require" {
			t.Fatalf("the testbed %s is not up", name)
		}
		t.Skipf("no Slurm here: testdata/testbed/%s/up.sh starts one", name)
	}
	return dir
}

func source(t testing.TB, c *cluster, raw string) (plugins.Source, error) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c.Source(u)
}

// command runs one of Slurm's own commands.
func (c *cluster) command(t testing.TB, argv ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, argv[0]), argv[1:]...)
	if c.bin == "" {
		cmd = exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+c.conf)
	}
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
	clusters(t, func(t *testing.T, c *cluster) {
		for way, url := range c.urls {
			t.Run(way, func(t *testing.T) { roundTrip(t, c.Backend, url, way) })
		}
	})
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
	clusters(t, func(t *testing.T, c *cluster) { cancels(t, c.Backend, c.urls["ssh"]) })
}

func cancels(t *testing.T, b *slurm.Backend, url string) {
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

// What has begun stays where it is when it is withdrawn, what waits is ended.
func TestRealWithdraw(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) { withdraws(t, c.Backend, c.urls["ssh"]) })
}

func withdraws(t *testing.T, b *slurm.Backend, url string) {
	reqs := []plugins.Request{
		request(t, b, url, "w1", &jdl.Job{Executable: "sleep", Args: []string{"600"}}),
		request(t, b, url, "w2", &jdl.Job{Executable: "sleep", Args: []string{"600"}}),
	}
	reqs[1].Booking = &plugins.Booking{Begin: 10 * time.Minute}
	var hs []plugins.Handle
	for _, r := range b.Submit(context.Background(), reqs, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	defer b.Clean(context.Background(), hs)
	for end := time.Now().Add(2 * time.Minute); b.Status(t.Context(), hs[:1])[0].State != plugins.Running; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("the first never runs")
		}
	}
	for range 2 {
		for _, err := range b.Withdraw(t.Context(), hs) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	if st := waitFinal(t, b, hs[1:])[0]; st.State != plugins.Cancelled || !st.Started.IsZero() {
		t.Errorf("what waits: %+v", st)
	}
	if st := b.Status(t.Context(), hs[:1])[0]; st.State != plugins.Running {
		t.Errorf("what runs: %+v", st)
	}
}

// Who is woken begins, however far his begin was.
func TestRealWake(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) { wakes(t, c.Backend, c.urls["ssh"]) })
}

func wakes(t *testing.T, b *slurm.Backend, url string) {
	var reqs []plugins.Request
	for i := range 3 {
		reqs = append(reqs, request(t, b, url, fmt.Sprint("k", i), &jdl.Job{Executable: "true"}))
		reqs[i].Booking = &plugins.Booking{Begin: 10 * time.Minute}
	}
	var hs []plugins.Handle
	for _, r := range b.Submit(context.Background(), reqs, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	defer b.Clean(context.Background(), hs)
	for range 2 { // the second time nobody waits for that any more
		for _, err := range b.Wake(t.Context(), hs) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, st := range waitFinal(t, b, hs) {
		if st.State != plugins.Done {
			t.Errorf("%+v", st)
		}
	}
}

func TestRealResources(t *testing.T) { clusters(t, resources) }

func resources(t *testing.T, c *cluster) {
	src, err := source(t, c, c.urls["ssh"])
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
	pong, err := c.Ping(t.Context(), c.urls["ssh"])
	if err != nil || !pong.LetIn {
		t.Errorf("%+v %v", pong, err)
	}
}

func TestRealForecast(t *testing.T) { clusters(t, forecasts) }

func forecasts(t *testing.T, c *cluster) {
	src, err := source(t, c, c.urls["ssh"])
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
	fs, err := c.Forecast(t.Context(), job, ps)
	if err != nil || len(fs) != 3 { // closed is down, drained takes none
		t.Fatalf("%+v %v", fs, err)
	}
	job.Demand.WallTime = 2 * time.Hour
	if fs, err = c.Forecast(t.Context(), job, ps); err != nil || len(fs) != 2 {
		t.Errorf("two hours do not fit in short: %+v %v", fs, err)
	}
	if qs, err := c.QueueLengths(t.Context(), ps); err != nil || len(qs) != 5 {
		t.Errorf("%+v %v", qs, err)
	}
}

// Behind a job without a time limit Slurm plans for the year 7130.
func TestRealForecastBehindJobWithoutLimit(t *testing.T) { clusters(t, behindEndless) }

func behindEndless(t *testing.T, c *cluster) {
	b := c.Backend
	endless := request(t, b, c.urls["ssh"], "endless", &jdl.Job{Executable: "sleep", Args: []string{"300"}, Demand: jdl.Demand{Slots: 8}})
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
