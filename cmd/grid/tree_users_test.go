package main_test

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// woods are managers as processes, a root with a desk for users and two systems, and an authority of theirs and of users.
type woods struct {
	t     *testing.T
	ca    *testbed.CA
	dir   string
	trust string     // directory of authorities
	args  [][]string // of each manager
	procs []*exec.Cmd
	urls  []string
	desk  string // tree://...
}

func newWoods(t *testing.T, patience string) *woods {
	t.Helper()
	w := &woods{t: t, ca: testbed.NewCA(t, "CA", time.Now(), nil), dir: testbed.Home(t), procs: make([]*exec.Cmd, 3)}
	w.trust = filepath.Join(w.dir, "authorities")
	w.ca.Install(w.trust, credential.NameHash(w.ca.Cert.RawSubject), "/DC=org/CN=CA")
	own := w.ca.Server(nil)
	testbed.WriteFile(t, filepath.Join(w.dir, "ca.pem"), testbed.PEM(w.ca.Cert), 0o644)
	testbed.WriteFile(t, filepath.Join(w.dir, "cert.pem"), testbed.PEM(own.Leaf), 0o644)
	testbed.WriteFile(t, filepath.Join(w.dir, "key.pem"), testbed.KeyPEM(t, own.PrivateKey.(crypto.Signer)), 0o600)
	ports := testbed.FreeAddresses(t, 4)
	w.desk = "tree://" + ports[3]
	for i := range 3 {
		w.urls = append(w.urls, "https://"+ports[i])
		args := []string{"manager", "serve", "--name", w.urls[i], "--dir", fmt.Sprint("m", i), "--metrics", "", "--beat", "200ms", "--interval", "100ms",
			"--cert", "cert.pem", "--key", "key.pem", "--ca", "ca.pem"}
		if i == 0 {
			args = append(args, "--users", ports[3], "--users-ca", w.trust, "--users-patience", patience, "--users-managers", "127.0.0.*")
		} else {
			args = append(args, "--parent", w.urls[0], "--system", fmt.Sprint("site", i), "--cpus", "2")
		}
		w.args = append(w.args, args)
		w.start(i)
	}
	t.Cleanup(func() {
		for i := range w.procs {
			w.kill(i)
		}
		if t.Failed() {
			for i := range w.procs {
				said, _ := os.ReadFile(w.log(i))
				t.Logf("manager %d said: %.3000s", i, said)
			}
		}
	})
	return w
}

func (w *woods) log(i int) string { return filepath.Join(w.dir, fmt.Sprintf("m%d.log", i)) }

func (w *woods) start(i int) {
	w.t.Helper()
	cmd := exec.Command(program(w.t), w.args[i]...)
	cmd.Dir, cmd.Env = w.dir, []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH")}
	said, err := os.OpenFile(w.log(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.procs[i] = cmd
}

// answers waits until the desk knows a user.
func (w *woods) answers(u *world) {
	w.t.Helper()
	said := ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		out, msg, code := u.try("ping", w.desk)
		if said = out + msg; code == 0 {
			return
		}
	}
	w.t.Fatalf("the desk does not answer: %s", said)
}

// kill is kill -9.
func (w *woods) kill(i int) {
	_ = w.procs[i].Process.Kill()
	_ = w.procs[i].Wait()
}

// user is somebody with a proxy of the authority, and two sites that the managers speak for.
func (w *woods) user(name string) *world {
	w.t.Helper()
	u := newMachine(w.t)
	config := "settle = \"5s\"\nsources = [\"local:\"]\n"
	for i := range 2 {
		config += fmt.Sprintf("[[local]]\nname = \"site%d\"\nslots = 2\n", i+1)
	}
	testbed.WriteFile(w.t, filepath.Join(u.dir, "grid.toml"), []byte(config), 0o600)
	id := w.ca.Issue(name, nil)
	testbed.WriteFile(w.t, filepath.Join(u.dir, "cert.pem"), testbed.PEM(id.Cert), 0o644)
	testbed.WriteFile(w.t, filepath.Join(u.dir, "key.pem"), testbed.KeyPEM(w.t, id.Key), 0o600)
	u.env = append(u.env, "X509_CERT_DIR="+w.trust, "X509_USER_PROXY="+filepath.Join(u.dir, "proxy.pem"))
	if _, msg, code := u.try("auth", "proxy", "--cert", "cert.pem", "--key-file", "key.pem", "--key", "ecdsa"); code != 0 {
		w.t.Fatal(msg)
	}
	return u
}

// ask puts a question to the desk as a user.
func (w *woods) ask(u *world, path string, in any) (int, string) {
	w.t.Helper()
	env := credential.Env{Getenv: func(name string) string {
		for _, v := range u.env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}, UID: os.Getuid(), Now: time.Now}
	set, err := credential.Discover(env, credential.Options{NoToken: true})
	if err != nil || set.X509 == nil || set.Trust == nil {
		w.t.Fatal(err, set)
	}
	text, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := set.Trust.HTTPClient(set.X509, 20*time.Second).Post(strings.Replace(w.desk, "tree", "https", 1)+path, "application/json", bytes.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(said))
}

// rest waits until all managers have all free, and nothing waits or runs.
func (w *woods) rest(u *world) {
	w.t.Helper()
	what := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		cmd := exec.Command(program(w.t), "manager", "show", w.urls[0], "--tree", "--json", "--cert", "cert.pem", "--key", "key.pem", "--ca", "ca.pem")
		cmd.Dir = w.dir
		out, err := cmd.Output()
		var tree struct {
			Managers []struct {
				Free, Total      struct{ CPUs int }
				Waiting, Running []string
			}
		}
		if what = string(out); err != nil || json.Unmarshal(out, &tree) != nil || len(tree.Managers) != 3 {
			continue
		}
		busy := false
		for _, m := range tree.Managers {
			busy = busy || m.Free != m.Total || len(m.Waiting)+len(m.Running) > 0
		}
		if !busy {
			return
		}
	}
	w.t.Errorf("not at rest: %.2000s", what)
}

// An ordinary user with a proxy hands jobs to a tree of managers by the command. The manager with the desk, a system's manager
// and who follows are killed (-9) again and again meanwhile: each job runs exactly once, at a site where the tree has found it
// room, and at rest all of that is free.
func TestUsersOfTheTree(t *testing.T) {
	t.Parallel()
	w := newWoods(t, "5s")
	alice := w.user("alice")
	const n = 12
	files := alice.jobs(n, "echo # >> "+alice.dir+"/ran#; sleep 0.5")
	w.answers(alice)
	out, msg, code := alice.try(append([]string{"submit", "--via", w.desk}, files...)...)
	if code != 0 || strings.Count(out, w.desk) != n || !strings.Contains(msg, "12 jobs wait in the tree of managers, which offers them to systems only while somebody follows") {
		t.Fatalf("submit: exit %d: %s%s", code, out, msg)
	}
	for round := range 6 {
		follow := alice.command("follow", "--metrics", "")
		if err := follow.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(200+130*round) * time.Millisecond)
		if round%2 == 0 {
			w.kill(round % 3)
		}
		time.Sleep(time.Duration(100+70*round) * time.Millisecond)
		_ = follow.Process.Signal(syscall.SIGKILL)
		_ = follow.Wait()
		if round%2 == 0 {
			w.start(round % 3)
		}
	}
	if out, msg, code := alice.try("watch", "--timeout", "90s"); code != 0 {
		t.Errorf("watch: exit %d: %s%s", code, out, msg)
	}
	where := map[string]int{}
	for _, j := range alice.recorded() {
		where[j.Resource]++
		if j.State != "done" || len(j.Past) == 0 {
			t.Errorf("%+v", j)
		}
	}
	for i := range n {
		if ran, _ := os.ReadFile(filepath.Join(alice.dir, fmt.Sprint("ran", i))); string(ran) != fmt.Sprintln(i) {
			t.Errorf("job %d ran %d times", i, strings.Count(string(ran), "\n"))
		}
	}
	if len(where) != 2 {
		t.Errorf("they ran at %v", where)
	}
	w.rest(alice)
}

// said is what the desk tells of one job, "" where it has none.
func (w *woods) said(u *world, path, key string) (state, system string) {
	w.t.Helper()
	code, text := w.ask(u, path, map[string]any{"keys": []string{key}})
	var doc struct {
		Jobs []struct{ Key, State, System string } `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(text), &doc); code != 200 || err != nil || len(doc.Jobs) > 1 {
		w.t.Fatalf("%s: %d %s", path, code, text)
	}
	if len(doc.Jobs) == 0 {
		return "", ""
	}
	return doc.Jobs[0].State, doc.Jobs[0].System
}

// becomes waits until the desk tells of a job as it should.
func (w *woods) becomes(u *world, path, key, want string) (system string) {
	w.t.Helper()
	state := ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if state, system = w.said(u, path, key); state == want {
			return system
		}
	}
	w.t.Fatalf("the job is %q after half a minute, not %q", state, want)
	return ""
}

// What a user has at the desk of a tree is seen, claimed and ended by that user alone. A place is claimed once, and after the desk
// was killed it is claimed still; one that nobody claims is given back, and its job offered to nobody until somebody asks.
func TestDeskIsOfItsUsers(t *testing.T) {
	t.Parallel()
	w := newWoods(t, "2s")
	alice, bob := w.user("alice"), w.user("bob")
	w.answers(alice)
	w.answers(bob)
	files := alice.jobs(1, "sleep 0")
	if _, msg, code := alice.try("submit", "--via", w.desk, files[0]); code != 0 {
		t.Fatal(msg)
	}
	key := alice.status()[0].ID
	w.becomes(alice, "/v1/jobs/status", key, "away") // assigned, and given back meanwhile
	w.rest(alice)
	system := w.becomes(alice, "/v1/jobs/claim", key, "claimed")
	if !strings.HasPrefix(system, "site") {
		t.Errorf("claimed at %q", system)
	}
	for _, path := range []string{"/v1/jobs/status", "/v1/jobs/claim", "/v1/jobs/end"} {
		if state, at := w.said(bob, path, key); state != "" || at != "" {
			t.Errorf("%s tells another user %s at %s", path, state, at)
		}
	}
	w.kill(0)
	w.start(0)
	w.answers(alice)
	if state, again := w.said(alice, "/v1/jobs/claim", key); state != "claimed" || again != system {
		t.Errorf("after the desk was killed the job is %s at %s, not claimed at %s", state, again, system)
	}
	if out, msg, code := alice.try("cancel", "--all"); code != 0 {
		t.Errorf("cancel: %s%s", out, msg)
	}
	w.offers("https://localhost:1", http.StatusForbidden) // its certificate is good, and its host none of --users-managers
	w.offers("https://127.0.0.1:1", http.StatusOK)
	if state, at := w.said(alice, "/v1/jobs/claim", key); state != "ended" || at != "" {
		t.Errorf("a cancelled job is %s at %s", state, at)
	}
	if got := alice.status()[0].State; got != "cancelled" {
		t.Errorf("it is recorded as %s", got)
	}
	w.rest(alice)
}

// offers offers the desk a place for a job, as a manager with the certificate of all of them.
func (w *woods) offers(manager string, want int) {
	w.t.Helper()
	own, err := tls.LoadX509KeyPair(filepath.Join(w.dir, "cert.pem"), filepath.Join(w.dir, "key.pem"))
	if err != nil {
		w.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.ca.Cert)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: roots}, DisableKeepAlives: true}}
	resp, err := c.Post(w.urls[0]+"/v1/offer", "application/json", strings.NewReader(fmt.Sprintf(`{"job": "x", "manager": %q, "system": "site1"}`, manager)))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		w.t.Errorf("an offer of %s: %s, want %d", manager, resp.Status, want)
	}
}

// A proxy that has run out, and a limited one, which may start no jobs, hand nothing in; nor does somebody without any.
func TestStrangersAtTheDesk(t *testing.T) {
	t.Parallel()
	w := newWoods(t, "5s")
	u := w.user("alice")
	w.answers(u)
	job, env := u.jobs(1, "sleep 0")[0], u.env
	cert, key := filepath.Join(u.dir, "cert.pem"), filepath.Join(u.dir, "key.pem")
	for proxy, want := range map[string]string{"old.pem": "ran out at", "limited.pem": "limited proxy", "none.pem": "certificate"} {
		path := filepath.Join(u.dir, proxy)
		switch proxy {
		case "old.pem":
			w.expired(u, path)
		case "limited.pem":
			if _, msg, code := u.try("auth", "proxy", "--cert", cert, "--key-file", key, "--limited", "--out", path); code != 0 {
				t.Fatal(msg)
			}
		}
		u.env = append(env[:len(env):len(env)], "X509_USER_PROXY="+path)
		out, msg, code := u.try("submit", "--via", w.desk, job)
		if code == 0 || !strings.Contains(msg, want) {
			t.Errorf("%s: exit %d: %s%s", proxy, code, out, msg)
		}
	}
	u.env = env
}

// expired writes a proxy of a user that has run out.
func (w *woods) expired(u *world, path string) {
	w.t.Helper()
	now := time.Now()
	text, err := os.ReadFile(filepath.Join(u.dir, "proxy.pem"))
	if err != nil {
		w.t.Fatal(err)
	}
	x, err := credential.ParseX509("proxy.pem", text)
	if err != nil {
		w.t.Fatal(err)
	}
	old, err := x.NewProxy(credential.ProxyOptions{Now: now.Add(-2 * time.Minute), Begin: now.Add(-4 * time.Minute), Lifetime: time.Minute, Key: "ecdsa"})
	if err == nil {
		err = old.Save(path)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
