package main_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/testdata/testbed"
)

// user is somebody with an empty home who calls the command against the real
// ARC servers of the testbed.
type user struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newUser(t *testing.T, bed *testbed.ARC) *user {
	dir := testbed.Home(t)
	return &user{t, dir, map[string]string{"HOME": dir, "X509_CERT_DIR": bed.CADir, "X509_USER_PROXY": bed.Proxy("alice"), "GRID_STATE_DIR": filepath.Join(dir, "state")}}
}

// grid runs the command and returns what it said.
func (u *user) grid(want int, args ...string) (stdout, stderr string) {
	u.t.Helper()
	stdout, stderr, code := u.try(args...)
	if code != want {
		u.t.Fatalf("grid %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return stdout, stderr
}

// insist runs a command that may be repeated, three times at most: on a busy machine a CE answers
// too late now and then.
func (u *user) insist(args ...string) {
	u.t.Helper()
	for range 2 {
		if _, errs, code := u.try(args...); code == 0 {
			return
		} else {
			u.t.Logf("grid %s, once more: exit code %d: %s", strings.Join(args, " "), code, errs)
		}
	}
	u.grid(0, args...)
}

// try runs the command.
func (u *user) try(args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	var environ []string
	for name, value := range u.env {
		environ = append(environ, name+"="+value)
	}
	code = cli.Main(ctx, cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: u.dir, Now: time.Now, UID: os.Getuid(), Environ: environ,
		Exe: os.Args[0], Getenv: func(name string) string { return u.env[name] }}, args)
	return out.String(), errs.String(), code
}

func (u *user) write(name, text string) string {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
	return name
}

// jobs reads the document of list.
func (u *user) jobs() []listed {
	u.t.Helper()
	out, _ := u.grid(0, "list", "--json")
	var doc struct{ Jobs []listed }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		u.t.Fatal(err)
	}
	return doc.Jobs
}

type listed struct {
	ID, Name, Node, State, At string
	Attempts                  int
	Handle                    struct{ Endpoint string }
	Output                    string
}

const sweep = `[
	JobType = "parametric"; Parameters = 20;
	Executable = "/bin/sh"; Arguments = "-c 'cat in.txt; echo _PARAM_'";
	InputSandbox = "in.txt"; StdOutput = "out.txt"; StdError = "err.txt"; OutputSandbox = {"out.txt", "err.txt"};
]`

// Twenty jobs with an input file, brokered over all real CEs of both
// versions, by proxy and by token; every byte of their output is compared.
func TestBrokeredOverRealARC(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	var sources []string
	for _, url := range bed.All() {
		sources = append(sources, "--info", url)
	}
	for _, by := range []string{"proxy", "token"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, bed)
			if by == "token" {
				token, err := bed.Issuer.Token("alice", time.Hour, nil)
				if err != nil {
					t.Fatal(err)
				}
				delete(u.env, "X509_USER_PROXY")
				u.env["BEARER_TOKEN_FILE"] = filepath.Join(u.dir, u.write("token", token))
			}
			input := strings.Repeat("0123456789abcde\n", 640)
			u.write("in.txt", input)
			u.grid(0, append([]string{"submit", "--wait", "--deadline", "60s", "--policy", "random", "--seed", "1", u.write("sweep.jdl", sweep)}, sources...)...)
			u.insist("output", "--all", "--dir", "out")
			places := map[string]int{}
			for _, j := range u.jobs() {
				places[j.Handle.Endpoint]++
				got, err := os.ReadFile(filepath.Join(j.Output, "out.txt"))
				if err != nil || string(got) != input+j.Node+"\n" {
					t.Errorf("job %s at %s: %d bytes of output, want %d (%v)", j.Node, j.At, len(got), len(input)+len(j.Node)+1, err)
				}
			}
			// One CE refuses tokens with several scopes: its jobs go on to others.
			if want := map[string]int{"proxy": len(bed.All()), "token": len(bed.All()) - 1}[by]; len(places) != want {
				t.Errorf("20 jobs drawn over %d CEs went to %v", len(bed.All()), places)
			}
			u.insist("clean", "--all")
		})
	}
}

// The best resource is out of order in all the ways there are: the jobs go
// on to the next best, and it is asked once.
func TestFailureOfTheBestCE(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	good := bed.REST10[0]
	for name, serve := range map[string]func(net.Conn){
		"stopped": nil,
		"hanging": func(c net.Conn) { time.Sleep(time.Minute) },
		"garbage": func(c net.Conn) { fmt.Fprint(c, strings.Repeat("nonsense \x00\xff", 100)) },
		"cut":     func(c net.Conn) {},
		"expired": tlsServer(expired(t, bed)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, bed)
			addr, tries := faulty(t, serve)
			u.grid(0, "resources", "--no-cache", "--info", good, "--snapshot", "good.json")
			snapshot := u.withBest("good.json", "https://"+addr+"/arex")
			job := u.write("hello.jdl", `Executable = "/bin/echo"; Arguments = "hello"; StdOutput = "o"; OutputSandbox = "o"; JobType="parametric"; Parameters = 10;`)
			out, errs := u.grid(0, "submit", "--policy", "fastest-queue", "--info", "file:"+snapshot, job)
			if n := strings.Count(out, "arex1.arc.test"); n != 10 {
				t.Errorf("%d of 10 jobs went to the CE that works:\n%s%s", n, out, errs)
			}
			if n := tries(); serve != nil && (n == 0 || n > 4) {
				t.Errorf("%d connections to the broken CE", n)
			}
			for _, j := range u.jobs() {
				if j.Attempts != 2 {
					t.Errorf("job %s was offered %d times, want 2", j.ID, j.Attempts)
				}
			}
			u.grid(0, "cancel", "--all")
		})
	}
}

// tlsServer shakes hands and waits.
func tlsServer(cfg *tls.Config) func(net.Conn) {
	return func(c net.Conn) { _, _ = tls.Server(c, cfg).Read(make([]byte, 1)) }
}

// faulty listens and serves every connection badly; nil: nobody listens.
func faulty(t *testing.T, serve func(net.Conn)) (addr string, tries func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if serve == nil {
		l.Close()
		return l.Addr().String(), func() int { return 0 }
	}
	t.Cleanup(func() { l.Close() })
	conns := make(chan net.Conn, 1000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c
			go func() {
				serve(c)
				c.Close()
			}()
		}
	}()
	return l.Addr().String(), func() int { return len(conns) }
}

// withBest adds to a snapshot a resource that looks better than all others.
func (u *user) withBest(name, url string) string {
	u.t.Helper()
	f := &infosys.File{URL: "file:" + name, Path: filepath.Join(u.dir, name), Now: time.Now}
	rs, err := f.Resources(context.Background())
	if err != nil || len(rs) == 0 {
		u.t.Fatalf("%d resources, %v", len(rs), err)
	}
	best := rs[0]
	best.ID, best.Name, best.CE, best.CEID, best.Access = "best", "best", "best", "", nil
	best.Endpoints = []glue.Endpoint{{ID: "best", URL: url, Interface: glue.InterfaceARCREST, Health: "ok"}}
	best.FreeSlots, best.TotalSlots, best.Waiting = glue.Some[int64](9999), glue.Some[int64](9999), glue.Some[int64](0)
	best.PreLRMSWaiting, best.Staging, best.Total = best.Waiting, best.Waiting, best.Waiting
	path := filepath.Join(u.dir, "best.json")
	if err := infosys.WriteSnapshot(path, infosys.Snapshot{At: time.Now(), Resources: append(rs, best)}); err != nil {
		u.t.Fatal(err)
	}
	return path
}
