package arcrest

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/plugintest"
	"gridbroker/testdata/testbed"
)

// as returns a back-end that acts for a user of the testbed, by proxy.
func as(t testing.TB, bed *testbed.ARC, user string) *Backend {
	t.Helper()
	return open(t, bed, credential.Options{Proxy: bed.Proxy(user), NoToken: true})
}

// withToken acts by bearer token.
func withToken(t testing.TB, bed *testbed.ARC, claims map[string]any) *Backend {
	t.Helper()
	token, err := bed.Issuer.Token("alice", time.Hour, claims)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, bed, credential.Options{TokenFile: file, NoX509: true})
}

func open(t testing.TB, bed *testbed.ARC, o credential.Options) *Backend {
	t.Helper()
	o.CertDir, o.CAs = bed.CADir, credential.GridCA
	set, err := credential.Discover(credential.Env{UID: os.Getuid()}, o)
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }, StateDir: t.TempDir()})
	t.Cleanup(func() { b.Close() })
	return b
}

// shell is a job that runs a line of sh.
func shell(id, line string) plugins.Request {
	return plugins.Request{ID: id, Job: &jdl.Job{
		Name: "test", Executable: "/bin/sh", Args: []string{"-c", line}, StdOutput: "out.txt", StdError: "err.txt",
		Demand: jdl.Demand{Slots: 1, WallTime: 10 * time.Minute},
	}}
}

func at(endpoint string, reqs ...plugins.Request) []plugins.Request {
	for i := range reqs {
		reqs[i].Endpoint = glue.Endpoint{URL: endpoint, Interface: glue.InterfaceARCREST}
	}
	return reqs
}

// submit starts jobs that must be accepted, and removes them at the end.
func submit(t testing.TB, b *Backend, reqs []plugins.Request) []plugins.Handle {
	t.Helper()
	var hs []plugins.Handle
	for _, r := range b.Submit(t.Context(), reqs, nil) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	removeLater(t, b, hs)
	return hs
}

// removeLater cancels and removes jobs at the end of the test.
func removeLater(t testing.TB, b *Backend, hs []plugins.Handle) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		b.Cancel(ctx, hs)
		b.Clean(ctx, hs)
	})
}

// await polls until every job has ended.
func await(t testing.TB, b *Backend, hs []plugins.Handle) []plugins.Status {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		sts, open := b.Status(t.Context(), hs), 0
		for _, st := range sts {
			if st.Err != nil {
				t.Fatal(st.Err)
			}
			if !st.State.Final() {
				open++
			}
		}
		if open == 0 {
			return sts
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs have not ended: %+v", open, sts)
		}
	}
}

func TestRealJobs(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, url := range bed.All() {
		t.Run("proxy "+url, func(t *testing.T) { t.Parallel(); roundTrip(t, as(t, bed, "alice"), url) })
	}
	t.Run("before Slurm", func(t *testing.T) {
		t.Parallel()
		roundTrip(t, as(t, bed, "alice"), testbed.Env(t, "slurmce")["GRID_ARC_SLURM"])
	})
	for i, url := range bed.All() {
		if i == len(bed.All())-1 && len(bed.REST11) > 0 {
			continue // the last one asks for scopes, and ARC 7.0 cannot read several
		}
		t.Run("token "+url, func(t *testing.T) { t.Parallel(); roundTrip(t, withToken(t, bed, nil), url) })
	}
}

// roundTrip: input files up, a job, its output down, compared byte for byte.
func roundTrip(t *testing.T, b *Backend, url string) {
	dir := t.TempDir()
	content := bytes.Repeat([]byte("a line & <another>\x00\xff\n"), 5000)
	script := "#!/bin/sh\ncat data.bin; cat data.bin > sub.bin; echo \"$1\" >&2; exit 7\n"
	write(t, filepath.Join(dir, "run.sh"), []byte(script))
	write(t, filepath.Join(dir, "data.bin"), content)
	req := shell(fmt.Sprintf("t%d", time.Now().UnixNano()), "")
	req.Job.Executable, req.Job.Args = "run.sh", []string{`it's "quoted" & <odd>`}
	req.Job.InputSandbox = []jdl.InputFile{
		{Source: filepath.Join(dir, "run.sh"), Name: "run.sh", Executable: true},
		{Source: filepath.Join(dir, "data.bin"), Name: "data.bin"},
	}
	req.Job.OutputSandbox = []jdl.OutputFile{{Name: "sub.bin"}}
	hs := submit(t, b, at(url, req))
	if found := findLater(t, b, url, []string{req.ID, "not-there"}); len(found) != 1 || found[req.ID] != hs[0] {
		t.Errorf("Find: %v", found)
	}
	st := await(t, b, hs)[0]
	if st.State != plugins.Done || st.ExitCode != glue.Some(7) {
		t.Errorf("ended as %+v", st)
	}
	out := t.TempDir()
	res := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: out}}, nil)
	if res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	same(t, filepath.Join(out, "out.txt"), content)
	same(t, filepath.Join(out, "sub.bin"), content)
	if text, _ := os.ReadFile(filepath.Join(out, "err.txt")); !bytes.Contains(text, []byte(req.Job.Args[0])) {
		t.Errorf("err.txt: %q", text)
	}
	if left, _ := filepath.Glob(filepath.Join(out, ".grid-*")); left != nil {
		t.Errorf("left over: %v", left)
	}
}

func write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, want %d (%v)", filepath.Base(name), len(got), len(want), err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	urls := map[string]string{"1.0": bed.REST10[len(bed.REST10)-1]} // the last ones have the most slots
	if len(bed.REST11) > 0 {
		urls["1.1"] = bed.REST11[len(bed.REST11)-1]
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conforms(t, bed, url, 0)
		})
	}
	t.Run("before Slurm", func(t *testing.T) {
		t.Parallel()
		conforms(t, bed, testbed.Env(t, "slurmce")["GRID_ARC_SLURM"], untilForgotten)
	})
}

// untilForgotten is longer than Slurm tells of a job that has ended (MinJobAge, 300 s in
// the testbed). A-REX takes one that was cancelled before its first step began for ended
// only then, as it looks for what the step has used.
const untilForgotten = 8 * time.Minute

func conforms(t *testing.T, bed *testbed.ARC, url string, patience time.Duration) {
	plugintest.TestSubmitter(t, plugintest.Target{
		Submitter: as(t, bed, "alice"),
		Endpoint:  glue.Endpoint{URL: url, Interface: glue.InterfaceARCREST},
		Stray:     plugins.Handle{Interface: glue.InterfaceARCREST, Endpoint: url, ID: "0123456789ab"},
		Dead:      glue.Endpoint{URL: "https://127.0.0.1:9/arex", Interface: glue.InterfaceARCREST},
		Patience:  patience,
	})
}

// A proxy and a token are two users to A-REX. A job of the one must not look
// lost, or cancelled, to the other.
func TestRealOwners(t *testing.T) {
	bed := testbed.NeedARC(t)
	url := bed.REST10[0]
	byProxy, byToken := as(t, bed, "alice"), withToken(t, bed, nil)
	hs := submit(t, byProxy, at(url, shell(fmt.Sprintf("own%d", time.Now().UnixNano()), "sleep 600")))
	st := byToken.Status(t.Context(), hs)[0]
	if st.State != plugins.Unknown || st.Err == nil || kindOf(t, st.Err) != plugins.Credential {
		t.Errorf("status by the other: %+v", st)
	}
	if err := byToken.Cancel(t.Context(), hs)[0]; err == nil || kindOf(t, err) != plugins.Credential {
		t.Errorf("cancel by the other: %v", err)
	}
	proxy, _ := byProxy.o.Credentials()
	token, _ := byToken.o.Credentials()
	both := New(Options{Credentials: func() (*credential.Set, error) {
		return &credential.Set{X509: proxy.X509, Token: token.Token, Trust: proxy.Trust}, nil
	}})
	defer both.Close()
	hs = append(hs, submit(t, byToken, at(url, shell(fmt.Sprintf("own%d", time.Now().UnixNano()), "sleep 600")))...)
	for _, st := range both.Status(t.Context(), hs) {
		if st.Err != nil || st.State == plugins.Lost {
			t.Errorf("with both: %+v", st)
		}
	}
}

// A job that another client has sent without a name hides none of ours.
func TestRealNameless(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, url := range bed.All() {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			b := as(t, bed, "bob") // others look for jobs of alice meanwhile
			c, err := b.client(t.Context(), "test", url, "")
			if err != nil {
				t.Fatal(err)
			}
			adl := `<?xml version="1.0"?><ActivityDescription xmlns="http://www.eu-emi.eu/es/2010/12/adl"><Application><Executable>` +
				`<Path>/bin/sleep</Path><Argument>600</Argument></Executable></Application></ActivityDescription>`
			answer, _, err := c.read(t.Context(), &call{op: "test", method: http.MethodPost, path: c.jobs("?action=new"), body: []byte(adl),
				header: map[string]string{"Content-Type": "application/xml"}, scope: scopeCreate})
			if err != nil {
				t.Fatal(err)
			}
			var made struct {
				Job jobItem `xml:"job"`
			}
			if err := xml.Unmarshal(answer, &made); err != nil || !validID(made.Job.ID) {
				t.Fatalf("%s: %v", answer, err)
			}
			t.Cleanup(func() {
				hs := []plugins.Handle{c.handle(made.Job.ID)}
				b.Cancel(context.WithoutCancel(t.Context()), hs)
			})
			end := time.Now().Add(2 * time.Minute) // the CE writes what it knows of a job every now and then
			for {
				_, err := b.Find(t.Context(), glue.Endpoint{URL: url}, []string{"not-there"})
				if err == nil {
					return
				}
				if time.Now().After(end) {
					t.Fatal(err)
				}
			}
		})
	}
}
