package htcondor_test

import (
	"context"
	"fmt"
	"maps"
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
	"gridbroker/plugins/htcondor"
	"gridbroker/plugins/plugintest"
	"gridbroker/plugins/remote"
	"gridbroker/testdata/testbed"
)

// pool is the real pool of the testbed, reached by this machine's commands,
// over SSH, and over the network with a token.
type pool struct {
	*htcondor.Backend
	urls map[string]string
	env  map[string]string
}

func newPool(t testing.TB) *pool {
	t.Helper()
	env := testbed.Env(t, "condor")
	base := directory(t, env)
	environ := []string{"PATH=" + env["GRID_CONDOR_BIN"] + ":" + os.Getenv("PATH"), "SSH_AUTH_SOCK="}
	p := &pool{env: env, urls: map[string]string{
		"local": "condor:" + base + "/l",
		"ssh":   fmt.Sprintf("%s/home/condorjob/%s", env["GRID_CONDOR_SSH_URL"], filepath.Base(base)),
	}}
	p.Backend = htcondor.New(htcondor.Options{Options: remote.Options{Environ: environ, Home: t.TempDir(), SSHConfig: filepath.Join(env["GRID_CONDOR_SSH"], "config")}})
	t.Cleanup(func() { p.Close() })
	return p
}

// directory is a new one that the pool's user can reach.
func directory(t testing.TB, env map[string]string) string {
	t.Helper()
	base, err := os.MkdirTemp(env["GRID_CONDOR_JOBS"], "t")
	if err == nil {
		err = os.Chmod(base, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	return base
}

// network is the pool as seen from elsewhere: an address and a token.
func (p *pool) network(t testing.TB) (b *htcondor.Backend, url string) {
	t.Helper()
	base := directory(t, p.env)
	environ := []string{"PATH=" + p.env["GRID_CONDOR_BIN"] + ":" + os.Getenv("PATH"), "CONDOR_CONFIG=" + p.env["GRID_CONDOR_CLIENT_CONFIG"],
		"_condor_SEC_TOKEN_DIRECTORY=" + p.env["GRID_CONDOR_TOKENS"]}
	b = htcondor.New(htcondor.Options{Options: remote.Options{Environ: environ, Home: t.TempDir()}})
	t.Cleanup(func() { b.Close() })
	return b, "condor://" + p.env["GRID_CONDOR_REMOTE"] + base + "/n"
}

func (p *pool) conformance(t *testing.T, b *htcondor.Backend, url, iface, dead string) {
	plugintest.TestSubmitter(t, plugintest.Target{
		Submitter: b, Endpoint: glue.Endpoint{URL: url, Interface: iface}, Patience: 4 * time.Minute,
		Stray: plugins.Handle{Interface: iface, Endpoint: url, ID: "999999.0/stray"},
		Dead:  glue.Endpoint{URL: dead, Interface: iface},
		Waits: func(r *plugins.Request) { r.Job.Demand.Memory = 16000 }, // all that one machine has
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	for _, name := range []string{"local", "ssh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.conformance(t, p.Backend, p.urls[name], glue.InterfaceCondor, "condor+ssh://condorlab:1")
		})
	}
	t.Run("network", func(t *testing.T) {
		t.Parallel()
		b, url := p.network(t)
		p.conformance(t, b, url, glue.InterfaceHTCondorCE, "condor://127.0.0.1:1"+strings.SplitN(url, p.env["GRID_CONDOR_REMOTE"], 2)[1])
	})
}

// run sends jobs and waits for their ends.
func (p *pool) run(t *testing.T, url string, jobs ...*jdl.Job) ([]plugins.Handle, []plugins.Status) {
	t.Helper()
	reqs := make([]plugins.Request, len(jobs))
	for i, job := range jobs {
		reqs[i] = plugins.Request{ID: fmt.Sprintf("r%d-%d", time.Now().UnixNano(), i), Endpoint: glue.Endpoint{URL: url}, Job: job}
	}
	var hs []plugins.Handle
	for _, r := range p.Submit(t.Context(), reqs, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	t.Cleanup(func() { p.Clean(context.Background(), hs) })
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		sts := p.Status(t.Context(), hs)
		left := 0
		for _, st := range sts {
			if !st.State.Final() {
				left++
			}
		}
		if left == 0 {
			return hs, sts
		}
		if time.Now().After(end) {
			t.Fatalf("not ended: %+v", sts)
		}
	}
}

func sh(line string) *jdl.Job {
	return &jdl.Job{Executable: "/bin/sh", Args: []string{"-c", line}, StdOutput: "out", StdError: "err", Demand: jdl.Demand{Slots: 1}}
}

// Words and environment arrive byte for byte.
func TestRealHostileWords(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	words := []string{"", "a b", "it's", `say "hi"`, "$(HOME)", "$$(Name)", "$$([1+1])", "$ENV(PATH)", "new\nline", "tab\t", "*;#%&|<>", `\`, "ü€𝄞", "\x01\x1f\x7f", "\xff\xfe", ")", "# x", "-n"}
	job := &jdl.Job{Executable: "show.sh", Args: words, StdOutput: "out $(HOME) 'x'", Demand: jdl.Demand{Slots: 1}}
	script := filepath.Join(t.TempDir(), "show.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s\\0' \"$@\" \"$V\" \"$W\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job.InputSandbox = []jdl.InputFile{{Source: script, Name: "show.sh", Executable: true}}
	job.Environment = []jdl.EnvVar{{Name: "V", Value: "$$(Name) 'q' \"d\" $(x)\nb"}, {Name: "W", Value: ""}}
	hs, sts := p.run(t, p.urls["ssh"], job)
	if sts[0].State != plugins.Done || sts[0].ExitCode != glue.Some(0) {
		t.Fatalf("%+v", sts[0])
	}
	dir := t.TempDir()
	if r := p.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	got, _ := os.ReadFile(filepath.Join(dir, job.StdOutput))
	want := strings.Join(append(words, job.Environment[0].Value, ""), "\x00") + "\x00"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// How jobs end: by code, by a signal of their program, over the wall time, by a
// missing file by URL; what there is of output comes back from all.
func TestRealEnds(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	limited := sh("echo before; sleep 100")
	limited.Demand.WallTime = 3 * time.Second
	noInput := sh("true")
	noInput.InputSandbox = []jdl.InputFile{{Source: "http://127.0.0.1:1/none", Name: "none"}}
	gpu := sh("echo gpus $_CONDOR_AssignedGPUs")
	gpu.Demand.GPUs, gpu.Demand.Memory, gpu.Demand.Slots = 1, 2000, 2
	hs, sts := p.run(t, p.urls["ssh"], sh("echo four; exit 4"), sh("echo k; kill -9 $$"), limited, noInput, gpu)
	for i, want := range []struct {
		state  plugins.State
		code   glue.Opt[int]
		reason string
		fault  plugins.Fault
		output string
	}{
		{plugins.Done, glue.Some(4), "", "", "four\n"},
		{plugins.Done, glue.Some(137), "", "", "k\n"},
		{plugins.Failed, glue.Opt[int]{}, "the wall time was used up", plugins.JobsFault, "before\n"},
		{plugins.Failed, glue.Opt[int]{}, "stage-in failed", plugins.JobsFault, ""},
		{plugins.Done, glue.Some(0), "", "", "gpus "},
	} {
		st := sts[i]
		if st.State != want.state || st.ExitCode != want.code || st.Reason != want.reason || st.Fault != want.fault || st.Node == "" {
			t.Errorf("job %d: %+v, want %+v", i, st, want)
		}
		dir := t.TempDir()
		r := p.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[i], Dir: dir}}, nil)[0]
		text, _ := os.ReadFile(filepath.Join(dir, "out"))
		if r.Err != nil || !strings.HasPrefix(string(text), want.output) {
			t.Errorf("job %d: output %q, %v", i, text, r.Err)
		}
	}
}

// The pool describes itself, START is judged for the job at hand, and what can
// never run is refused instead of waiting for ever.
func TestRealResources(t *testing.T) {
	p := newPool(t)
	r := plugintest.Only(t, p.Backend, p.urls["ssh"])
	if r.Queue != "Debian13/X86_64" || r.TotalSlots != glue.Some[int64](16) || r.MaxMemory != glue.Some[int64](16000) || r.GPUs != glue.Some[int64](2) ||
		r.Site != "TESTBED" || !slices.Contains(r.RuntimeEnvironments, "VEE-Debian13") || r.OSName != "Debian" || r.OSVersion != "13" {
		t.Errorf("%+v", r)
	}
	long := sh("true")
	long.Demand.WallTime = 10 * time.Hour // the eight slots of one core take an hour
	short := sh("true")
	for job, most := range map[*jdl.Job]time.Duration{long: time.Minute, short: time.Minute} {
		f, err := p.Forecast(t.Context(), job, []*glue.Resource{r})
		if err != nil || f[r.ID].Median > most {
			t.Errorf("%v %v", f, err)
		}
	}
	huge := sh("true")
	huge.Demand.Memory = 999_999
	res := p.Submit(t.Context(), []plugins.Request{{ID: "huge1", Job: huge, Resource: r, Endpoint: r.Endpoints[0]}}, nil)[0]
	e, ok := res.Err.(*plugins.Error)
	if !ok || e.Kind != plugins.Refused || !strings.Contains(e.Error(), "16000 MB") {
		t.Errorf("999999 MB asked for: %v", res.Err)
	}
	tagged := sh("true")
	tagged.Demand.RuntimeEnvironments = []string{"vee-debian13"}
	// The slot has the tag, the node has no grid-launch: it is chosen, and nothing runs outside.
	if _, sts := p.run(t, p.urls["ssh"], tagged); sts[0].State != plugins.Failed || sts[0].Fault != plugins.SitesFault {
		t.Errorf("%+v", sts[0])
	}
}

// The queue is read whole: late materialisation included.
func TestRealQueue(t *testing.T) {
	p := newPool(t)
	q, err := p.QueueReader(p.urls["local"])
	if err != nil {
		t.Fatal(err)
	}
	dir := directory(t, p.env)
	sub := "executable = /bin/sleep\narguments = 60\nmax_materialize = 3\nrequest_memory = 100\nhold = true\nqueue 50\n"
	if err := os.WriteFile(filepath.Join(dir, "f.sub"), []byte(sub), 0o644); err != nil {
		t.Fatal(err)
	}
	command := func(argv ...string) string {
		cmd := exec.Command(filepath.Join(p.env["GRID_CONDOR_BIN"], argv[0]), argv[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	out := command("condor_submit", "-terse", "f.sub")
	cluster, _, _ := strings.Cut(out, ".")
	defer command("condor_rm", cluster)
	var seen int
	for range 50 {
		st, err := q.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Nodes) != 9 {
			t.Fatalf("%d nodes", len(st.Nodes))
		}
		seen = 0
		for _, j := range st.Jobs {
			if strings.HasPrefix(j.ID, cluster+".") {
				seen++
			}
		}
		if seen == 50 {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Errorf("%d jobs of 50 seen", seen)
}

func TestRealPing(t *testing.T) {
	p := newPool(t)
	pong, err := p.Ping(t.Context(), p.urls["ssh"])
	if err != nil || !pong.LetIn || !strings.HasPrefix(pong.Identity, "condorjob") || pong.Versions[0] == "" {
		t.Errorf("%+v %v", pong, err)
	}
	b, at := p.network(t)
	if pong, err := b.Ping(t.Context(), at); err != nil || !pong.LetIn {
		t.Errorf("over the network: %+v %v", pong, err)
	}
}

// The log of a job that waits says which slots could run it and why none does.
func TestRealLogOfWaiting(t *testing.T) {
	p := newPool(t)
	whole := func() *jdl.Job {
		job := sh("sleep 100")
		job.Demand.Slots, job.Demand.Memory = 8, 15_000
		return job
	}
	var hs []plugins.Handle
	for i, job := range []*jdl.Job{whole(), whole()} {
		r := p.Submit(t.Context(), []plugins.Request{{ID: fmt.Sprintf("w%d-%d", time.Now().UnixNano(), i), Endpoint: glue.Endpoint{URL: p.urls["ssh"]}, Job: job}}, nil)[0]
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	defer p.Clean(t.Context(), hs)
	for range 200 {
		if sts := p.Status(t.Context(), hs[:1]); sts[0].State == plugins.Running {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	var log strings.Builder
	for range 120 { // slots are shown anew every 15 seconds
		log.Reset()
		if err := p.Log(t.Context(), hs[1], &log); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "0 could start it now") {
			break
		}
		time.Sleep(time.Second)
	}
	for _, want := range []string{"Job submitted from host", "of 9 slots", "0 could start it now", "TARGET.Memory"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, &log)
		}
	}
}

// wait looks at a job until it is in a state.
func (p *pool) wait(t *testing.T, h plugins.Handle, want plugins.State) plugins.Status {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		st := p.Status(t.Context(), []plugins.Handle{h})[0]
		if st.State == want {
			return st
		}
		if time.Now().After(end) {
			t.Fatalf("not %s: %+v", want, st)
		}
	}
}

// What has begun stays where it is when it is withdrawn, what waits is ended.
func TestRealWithdraw(t *testing.T) {
	p := newPool(t)
	var hs []plugins.Handle
	for i := range 2 {
		whole := sh("sleep 600")
		whole.Demand.Slots, whole.Demand.Memory = 8, 15_000 // there is one slot for that
		r := p.Submit(t.Context(), []plugins.Request{{ID: fmt.Sprintf("wd%d-%d", time.Now().UnixNano(), i), Endpoint: glue.Endpoint{URL: p.urls["ssh"]}, Job: whole}}, nil)[0]
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
		defer p.Clean(context.Background(), []plugins.Handle{r.Handle})
		if i == 0 {
			p.wait(t, r.Handle, plugins.Running)
		}
	}
	for range 2 { // the second time there is nothing that waits
		for _, err := range p.Withdraw(t.Context(), hs) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	if st := p.wait(t, hs[1], plugins.Cancelled); !st.Started.IsZero() {
		t.Errorf("what waits: %+v", st)
	}
	if st := p.Status(t.Context(), hs[:1])[0]; st.State != plugins.Running {
		t.Errorf("what runs: %+v", st)
	}
}

// A job whose submission left no id, and that neither the queue nor a history that
// was rotated knows any more, is found by its own log: it has been there.
func TestRealForgotten(t *testing.T) {
	p := newPool(t)
	var reqs []plugins.Request
	var ids []string
	for i := range 3 {
		ids = append(ids, fmt.Sprintf("f%d-%d", time.Now().UnixNano(), i))
		reqs = append(reqs, plugins.Request{ID: ids[i], Endpoint: glue.Endpoint{URL: p.urls["local"]}, Job: sh("true")})
	}
	want := map[string]plugins.Handle{}
	for _, r := range p.Submit(t.Context(), reqs, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		want[r.ID] = r.Handle
	}
	base := strings.TrimPrefix(p.urls["local"], "condor:")
	kept, err := filepath.Glob(base + "/batches/*/*.id")
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if err := os.Remove(kept[0]); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, name := range []string{"condor_q", "condor_history"} {
		if err := os.WriteFile(filepath.Join(empty, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	forgetful := htcondor.New(htcondor.Options{Options: remote.Options{Environ: []string{"PATH=" + empty + ":" + p.env["GRID_CONDOR_BIN"] + ":" + os.Getenv("PATH")}, Home: t.TempDir()}})
	defer forgetful.Close()
	found, err := forgetful.Find(t.Context(), reqs[0].Endpoint, append(ids, "never"))
	if err != nil || !maps.Equal(found, want) {
		t.Errorf("found %v, %v; want %v", found, err, want)
	}
	for _, err := range p.Clean(t.Context(), slices.Collect(maps.Values(want))) {
		if err != nil {
			t.Error(err)
		}
	}
}

// A submission whose end is not seen is found, and never made twice: the
// connection is cut at many moments.
func TestRealUncertain(t *testing.T) {
	p := newPool(t)
	made := map[string]int{}
	if _, err := p.Ping(t.Context(), p.urls["ssh"]); err != nil { // the connection is there
		t.Fatal(err)
	}
	for _, after := range []time.Duration{40, 80, 120, 160, 200, 250, 300, 400, 600} {
		var reqs []plugins.Request
		var ids []string
		for i := range 30 {
			id := fmt.Sprintf("u%d-%d", time.Now().UnixNano(), i)
			reqs, ids = append(reqs, plugins.Request{ID: id, Endpoint: glue.Endpoint{URL: p.urls["ssh"]}, Job: sh("true")}), append(ids, id)
		}
		ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
		rs := p.Submit(ctx, reqs, nil)
		cancel()
		there := map[string]plugins.Handle{}
		for _, r := range rs {
			if r.Err == nil {
				there[r.ID] = r.Handle
			}
		}
		made["accepted"] += len(there)
		found, err := p.Find(t.Context(), reqs[0].Endpoint, ids)
		if err != nil {
			t.Fatal(err)
		}
		made["found"] += len(found) - len(there)
		var again []plugins.Request
		for _, q := range reqs {
			if h, ok := found[q.ID]; ok {
				there[q.ID] = h
			} else {
				again = append(again, q)
			}
		}
		made["sent anew"] += len(again)
		for _, r := range p.Submit(t.Context(), again, nil) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			there[r.ID] = r.Handle
		}
		names := exec.Command(filepath.Join(p.env["GRID_CONDOR_BIN"], "condor_q"), "-allusers", "-af", "GridBrokerId", "-constraint",
			fmt.Sprintf("stringListMember(GridBrokerId, %q)", strings.Join(ids, ",")))
		out, err := names.Output()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(string(out))); n != len(reqs) || len(there) != len(reqs) {
			t.Errorf("cut after %v ms: HTCondor has %d jobs, we know %d, want %d", int(after), n, len(there), len(reqs))
		}
		p.Clean(t.Context(), slices.Collect(maps.Values(there)))
	}
	t.Logf("%v", made)
}
