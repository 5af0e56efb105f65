package slurm_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/plugintest"
	"gridbroker/plugins/slurm"
	bed "gridbroker/testdata/testbed"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, c *cluster) {
		for _, way := range []string{"local", "ssh"} {
			if c.urls[way] == "" {
				continue
			}
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				ep := glue.Endpoint{URL: c.urls[way], Interface: glue.InterfaceSlurm}
				plugintest.TestSubmitter(t, plugintest.Target{
					Submitter: c, Endpoint: ep, Resource: &glue.Resource{Queue: "short"},
					Stray: plugins.Handle{Interface: glue.InterfaceSlurm, Endpoint: ep.URL, ID: "999999/stray"},
					Dead:  glue.Endpoint{URL: c.dead, Interface: glue.InterfaceSlurm},
					Waits: func(r *plugins.Request) { r.Booking = &plugins.Booking{Begin: time.Hour} },
				})
			})
		}
	})
}

// cutter passes bytes on to sshd and hangs up when the server has sent a
// number of them.
type cutter struct {
	net.Listener
	left atomic.Int64 // negative: never cut
}

func newCutter(t testing.TB) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{Listener: l}
	c.left.Store(-1)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(client)
		}
	}()
	return c
}

func (c *cutter) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", "127.0.0.1:17804")
	if err != nil {
		return
	}
	defer server.Close()
	go func() { io.Copy(server, client); server.Close() }()
	buf := make([]byte, 256)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if c.left.Load() >= 0 && c.left.Add(int64(-n)) <= 0 {
			c.left.Store(0)
			return
		}
		client.Write(buf[:n])
	}
}

// behind makes a back-end that reaches sshd at the port, with known hosts and
// a key of the caller's choice.
func behind(t testing.TB, port string, change func(known, key string) (string, string)) (b *slurm.Backend, url string) {
	t.Helper()
	c := testbed(t)
	dir := bed.Dir()
	dir = filepath.Join(dir, "slurm", "ssh")
	host, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	known, key := "lab "+string(host), filepath.Join(dir, "id")
	if change != nil {
		known, key = change(known, key)
	}
	home := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(home, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	conf := write("config", fmt.Sprintf("Host lab\n HostName 127.0.0.1\n Port %s\n HostKeyAlias lab\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n",
		port, key, write("known", known)))
	b = slurm.New(slurm.Options{Environ: append(os.Environ(), "SSH_AUTH_SOCK="), Home: home, SSHConfig: conf})
	t.Cleanup(func() { b.Close() })
	return b, strings.Replace(c.urls["ssh"], "gridlab", "lab", 1)
}

// different makes n jobs each of which goes by a call of sbatch of its own.
func different(t testing.TB, b *slurm.Backend, url, prefix string, n int) []plugins.Request {
	var reqs []plugins.Request
	for i := range n {
		job := &jdl.Job{Executable: "true", Demand: jdl.Demand{Slots: 1, WallTime: time.Duration(i+1) * time.Minute}}
		reqs = append(reqs, request(t, b, url, fmt.Sprintf("%s-%d", prefix, i), job))
	}
	return reqs
}

// The connection is cut at many places of a bulk submission: every job is then
// known to be there, known not to be there, or uncertain and found; none is
// there twice.
func TestRealCutConnection(t *testing.T) {
	t.Parallel()
	slurm := testbed(t)
	const n = 20
	reached := map[string]int{}
	for _, at := range []int64{1500, 2500, 3500, 3700, 3900, 4200, 4600, 5200} {
		c := newCutter(t)
		port := fmt.Sprint(c.Addr().(*net.TCPAddr).Port)
		b, url := behind(t, port, nil)
		prefix := fmt.Sprintf("cut%d-%d", at, time.Now().UnixNano())
		reqs := different(t, b, url, prefix, n)
		if _, err := b.Ping(t.Context(), url); err != nil { // the scripts are in place
			t.Fatal(err)
		}
		b.Close()
		c.left.Store(at)
		var ids []string
		handles := map[string]plugins.Handle{}
		for _, r := range b.Submit(t.Context(), reqs, nil) {
			if r.Err == nil {
				handles[r.ID] = r.Handle
				reached["accepted"]++
				continue
			}
			e, ok := r.Err.(*plugins.Error)
			if !ok || e.Kind != plugins.Uncertain && e.Kind != plugins.Unavailable {
				t.Fatalf("cut at %d: %v", at, r.Err)
			}
			reached[e.Kind.String()]++
			ids = append(ids, r.ID)
		}
		c.left.Store(-1)
		found, err := b.Find(t.Context(), reqs[0].Endpoint, ids)
		if err != nil {
			t.Fatalf("cut at %d: find: %v", at, err)
		}
		var missing []plugins.Request
		for _, q := range reqs {
			if h, ok := found[q.ID]; ok {
				handles[q.ID] = h
			} else if _, ok := handles[q.ID]; !ok {
				missing = append(missing, q)
			}
		}
		reached["found"] += len(found)
		for _, r := range b.Submit(t.Context(), missing, nil) {
			if r.Err != nil {
				t.Fatalf("cut at %d: again: %v", at, r.Err)
			}
			handles[r.ID] = r.Handle
		}
		var hs []plugins.Handle
		for _, h := range handles {
			hs = append(hs, h)
		}
		waitFinal(t, b, hs)
		if there := slurm.named(t, prefix); there != n || len(handles) != n {
			t.Errorf("cut at %d: Slurm had %d jobs of this name, we know %d, want %d", at, there, len(handles), n)
		}
		b.Clean(t.Context(), hs)
	}
	t.Logf("outcomes: %v", reached)
	if reached["uncertain"] == 0 || reached["accepted"] == 0 || reached["found"] == 0 {
		t.Errorf("the cuts did not reach the middle of a submission: %v", reached)
	}
}

// named counts the jobs Slurm has or had whose names begin with prefix.
func (c *cluster) named(t *testing.T, prefix string) int {
	t.Helper()
	out := c.command(t, "squeue", "-h", "-r", "-t", "all", "-o", "%j")
	n := 0
	for name := range strings.FieldsSeq(out) {
		if strings.HasPrefix(name, prefix+"-") {
			n++
		}
	}
	return n
}

func TestRealHostKeys(t *testing.T) {
	other := func(known, key string) (string, string) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(key), "id2.pub"))
		if err != nil {
			t.Fatal(err)
		}
		return "lab " + string(text), key
	}
	for name, c := range map[string]struct {
		change func(known, key string) (string, string)
		kind   plugins.Kind
		want   string
	}{
		"changed":    {other, plugins.Unavailable, "host key changed"},
		"unknown":    {func(_, key string) (string, string) { return "", key }, plugins.Unavailable, "not in known_hosts"},
		"not let in": {func(known, key string) (string, string) { return known, key + "2" }, plugins.Credential, "accepts none of the keys"},
		"no key":     {func(known, key string) (string, string) { return known, key + "-missing" }, plugins.Credential, "no usable SSH key"},
	} {
		t.Run(name, func(t *testing.T) {
			b, url := behind(t, "17804", c.change)
			r := b.Submit(t.Context(), different(t, b, url, "hk", 1), nil)[0]
			e, ok := r.Err.(*plugins.Error)
			if !ok || e.Kind != c.kind || !strings.Contains(e.Error(), c.want) {
				t.Errorf("%v (%v), want %s", r.Err, e.Kind, c.want)
			}
			if _, err := b.Ping(t.Context(), url); err == nil {
				t.Error("ping went through")
			}
		})
	}
}

// A server that accepts and then says nothing is given up in time.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	home := t.TempDir()
	key := filepath.Join(home, ".ssh")
	if err := os.MkdirAll(key, 0o700); err != nil {
		t.Fatal(err)
	}
	b := slurm.New(slurm.Options{Home: home, Dial: 300 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Ping(ctx, "slurm+ssh://u@127.0.0.1:"+port); err == nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}
