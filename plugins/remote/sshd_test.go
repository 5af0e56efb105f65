package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"gridbroker/asked"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// sshd is an SSH server in this process: it runs commands by sh and serves
// files, unless it is told to do otherwise.
type sshd struct {
	*testing.T
	addr    net.Addr
	host    ssh.Signer
	user    ssh.Signer // whose key it takes
	command func(line string, ch ssh.Channel) (done bool)
	banner  string                    // before anybody is let in
	noFiles bool                      // it has no sftp
	ignores func(r *ssh.Request) bool // requests that it does not answer
	files   func(ch ssh.Channel)      // instead of its files; nil: those of this machine
	deaf    bool                      // it opens no channel, and refuses none

	mu    sync.Mutex // of all that is told it, and of what follows
	conns []net.Conn
	dials int
}

// tell changes what the server does.
func (d *sshd) tell(how func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	how()
}

// dialled is how many connections there have been.
func (d *sshd) dialled() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dials
}

// answers makes the server answer commands so; nil: it runs them.
func (d *sshd) answers(command func(line string, ch ssh.Channel) (done bool)) {
	d.tell(func() { d.command = command })
}

// requests makes the server leave requests without an answer.
func (d *sshd) requests(ignored func(r *ssh.Request) bool) {
	d.tell(func() { d.ignores = ignored })
}

func newKey(t testing.TB) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s, key
}

func newSSHD(t *testing.T) *sshd {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &sshd{T: t, addr: l.Addr()}
	d.host, _ = newKey(t)
	t.Cleanup(func() { l.Close(); d.cut() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.conns, d.dials = append(d.conns, conn), d.dials+1
			d.mu.Unlock()
			go d.serve(conn)
		}
	}()
	return d
}

// cut ends all connections, as a host does that is switched off.
func (d *sshd) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.Close()
	}
	d.conns = nil
}

func (d *sshd) serve(conn net.Conn) {
	d.mu.Lock()
	host, user, banner := d.host, d.user, d.banner
	d.mu.Unlock()
	conf := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if bytes.Equal(key.Marshal(), user.PublicKey().Marshal()) {
			return nil, nil
		}
		return nil, errors.New("no such key")
	}}
	if banner != "" {
		conf.BannerCallback = func(ssh.ConnMetadata) string { return banner }
	}
	conf.AddHostKey(host)
	_, chans, reqs, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	for c := range chans {
		d.mu.Lock()
		deaf := d.deaf
		d.mu.Unlock()
		if deaf {
			continue
		}
		ch, reqs, err := c.Accept()
		if err == nil {
			go d.session(ch, reqs)
		}
	}
}

func (d *sshd) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	for r := range reqs {
		var text struct{ S string }
		ssh.Unmarshal(r.Payload, &text)
		d.mu.Lock()
		command, noFiles, ignores, files := d.command, d.noFiles, d.ignores, d.files
		d.mu.Unlock()
		if ignores != nil && ignores(r) {
			continue
		}
		ok := r.Type == "exec" || r.Type == "subsystem" && !noFiles
		r.Reply(ok, nil)
		switch {
		case !ok:
		case r.Type == "subsystem" && files != nil:
			go files(ch)
		case r.Type == "subsystem":
			go func() {
				if s, err := sftp.NewServer(ch); err == nil {
					s.Serve()
				}
				ch.Close()
			}()
		case command != nil && command(text.S, ch):
		default:
			go d.run(text.S, ch)
		}
	}
}

func (d *sshd) run(line string, ch ssh.Channel) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ch, ch, ch.Stderr()
	cmd.WaitDelay = time.Second
	cmd.Run()
	ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(cmd.ProcessState.ExitCode())}))
	ch.Close()
}

// home is a home directory whose user may enter, and knows the host.
func (d *sshd) home() string {
	d.Helper()
	home := d.TempDir()
	var key ed25519.PrivateKey
	d.tell(func() { d.user, key = newKey(d.T) })
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		d.Fatal(err)
	}
	d.write(home, "id_ed25519", string(pem.EncodeToMemory(block)))
	d.write(home, "known_hosts", knownhosts.Line([]string{d.addr.String()}, d.host.PublicKey())+"\n")
	return home
}

func (d *sshd) write(home, name, text string) {
	d.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Join(home, ".ssh"), 0o700), os.WriteFile(filepath.Join(home, ".ssh", name), []byte(text), 0o600)); err != nil {
		d.Fatal(err)
	}
}

// open opens the machine as the user of a home.
func (d *sshd) open(home string) *Site {
	d.Helper()
	opts := Options{Home: home, Command: 20 * time.Second, Dial: 10 * time.Second}.Defaults()
	raw := fmt.Sprintf("count+ssh://%s%s", d.addr, filepath.Join(home, "base"))
	target, _, err := ParseURL(raw, "count")
	if err != nil {
		d.Fatal(err)
	}
	s, err := Open(&opts, &System{Name: "Counter", Send: counting, Job: "run_job\n", Work: "work"}, raw, target)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { s.Close() })
	return s
}

// TestOverSSH: jobs go, are found and come back over one connection, byte for byte.
func TestOverSSH(t *testing.T) {
	d := newSSHD(t)
	c := counter{site: d.open(d.home())}
	c.base = c.site.Base
	reqs := c.requests("a", "b")
	for _, r := range Submit(t.Context(), reqs, c.check, nil) {
		if r.Err != nil || r.Handle.ID == "" {
			t.Fatalf("%+v", r)
		}
	}
	if found, err := c.site.Find(t.Context(), c, []string{"a", "b"}); err != nil || len(found) != 2 {
		t.Errorf("%v %v", found, err)
	}
	odd := "sub dir/it's \"a\" $(file)"
	files, err := c.site.Machine.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	content := strings.Repeat("0123456789\x00\xff\n", 20_000)
	if err := files.Put(c.site.Dir("jobs", "a", "work", odd), 0o700, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"nothing": "no-such-file", "alink": "outputs", "loop": "."} {
		if err := os.Symlink(target, filepath.Join(c.base, "jobs", "a", "work", name)); err != nil {
			t.Fatal(err)
		}
	}
	where := func(plugins.Handle) (*Site, string, error) { return c.site, "a", nil }
	dir := t.TempDir()
	r := Fetch(t.Context(), []plugins.FetchRequest{{Dir: dir, Want: []string{odd}}}, where, nil)[0]
	if got, _ := os.ReadFile(filepath.Join(dir, odd)); r.Err != nil || string(got) != content {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), r.Err)
	}
	if info, err := os.Stat(filepath.Join(dir, odd)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v %v", info, err)
	}
	if listed := List(t.Context(), []plugins.Handle{{}}, where)[0]; len(listed.Files) != 1 || listed.Files[0] != odd {
		t.Errorf("listed %q %v", listed.Files, listed.Err)
	}
	var tail bytes.Buffer
	if n, err := c.site.Read(t.Context(), "a", "work/"+odd, int64(len(content)-5), &tail); n != 5 || err != nil || tail.String() != content[len(content)-5:] {
		t.Errorf("from an offset on: %d %q %v", n, tail.String(), err)
	}
	if n := d.dialled(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestFilesAreTold: each file that goes or comes over SFTP is told to who listens.
func TestFilesAreTold(t *testing.T) {
	d := newSSHD(t)
	c := counter{site: d.open(d.home())}
	c.base = c.site.Base
	var told []string
	ctx := asked.Telling(t.Context(), func(what string) { told = append(told, what) })
	reqs := c.requests("a")
	job := *reqs[0].Job
	job.InputSandbox = []jdl.InputFile{{Name: "in", Text: "x"}}
	reqs[0].Job = &job
	if r := Submit(ctx, reqs, c.check, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	where := func(plugins.Handle) (*Site, string, error) { return c.site, "a", nil }
	if r := Fetch(ctx, []plugins.FetchRequest{{Dir: t.TempDir(), Want: []string{"in"}}}, where, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	all := strings.Join(told, "\n")
	if !strings.Contains(all, " put "+c.base+"/batches/") || !strings.Contains(all, "/new/a/work/in: done (") || !strings.Contains(all, " get work/in: done (") {
		t.Errorf("told: %s", all)
	}
}

// TestCommandsOverSSH: a command that ended has its code; one whose end nobody
// saw is no failed command, and one that was never started says so.
func TestCommandsOverSSH(t *testing.T) {
	d := newSSHD(t)
	m := d.open(d.home()).Machine
	run := func(ctx context.Context, argv ...string) (string, error) {
		out := &Answer{Max: 1 << 20}
		err := m.Run(ctx, argv, strings.NewReader("in\n"), out)
		return out.String(), err
	}
	if out, err := run(t.Context(), "sh", "-c", "cat; echo \"$1\"", "x", "it's $HOME\nhere"); err != nil || out != "in\nit's $HOME\nhere\n" {
		t.Errorf("%q %v", out, err)
	}
	_, err := run(t.Context(), "sh", "-c", "echo no room >&2; exit 3")
	if e, ok := errors.AsType[*ExitError](err); !ok || e.Code != 3 || e.Stderr != "no room" {
		t.Errorf("a code: %v", err)
	}
	unknown := func(what string, err error) {
		t.Helper()
		_, exited := errors.AsType[*ExitError](err)
		_, unsent := errors.AsType[*DialError](err)
		if err == nil || exited || unsent {
			t.Errorf("%s: %v", what, err)
		}
	}
	d.answers(func(_ string, ch ssh.Channel) bool { ch.Close(); return true })
	_, err = run(t.Context(), "true")
	unknown("no code", err)
	d.answers(func(_ string, ch ssh.Channel) bool {
		ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal    string
			Core      bool
			Msg, Lang string
		}{Signal: "KILL"}))
		ch.Close()
		return true
	})
	_, err = run(t.Context(), "true")
	unknown("killed", err)
	d.answers(func(_ string, ch ssh.Channel) bool { io.WriteString(ch, "ok g0"); d.cut(); return true })
	out, err := run(t.Context(), "true")
	unknown("cut", err)
	if out != "ok g0" {
		t.Errorf("what was said before: %q", out)
	}
	d.answers(nil)
	if out, err := run(t.Context(), "echo", "again"); err != nil || out != "again\n" {
		t.Errorf("a new connection: %q %v", out, err)
	}
	d.answers(func(string, ssh.Channel) bool { return true }) // never
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = run(ctx, "true")
	unknown("no answer", err)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 15*time.Second {
		t.Errorf("no answer: %v after %v", err, time.Since(began))
	}
}

// TestDeadConnection: one that died while nothing went over it is made anew,
// and nobody notices.
func TestDeadConnection(t *testing.T) {
	d := newSSHD(t)
	m := d.open(d.home()).Machine
	for n := range 3 {
		if err := m.Run(t.Context(), []string{"true"}, nil, io.Discard); err != nil {
			t.Fatalf("command %d: %v", n, err)
		}
		d.cut()
	}
	if n := d.dialled(); n < 3 {
		t.Errorf("%d connections", n)
	}
}

// TestNotLetIn: why a machine cannot be reached is told, with its kind, and
// nothing was sent.
func TestNotLetIn(t *testing.T) {
	for _, c := range []struct {
		what    string
		prepare func(d *sshd, home string)
		kind    string
		said    string
	}{
		{"a host that nobody knows", func(d *sshd, home string) { d.write(home, "known_hosts", "") }, "unavailable", "is not in known_hosts"},
		{"another key than is known", func(d *sshd, _ string) { d.host, _ = newKey(d.T) }, "unavailable", "host key changed"},
		{"a key that is revoked", func(d *sshd, home string) {
			d.write(home, "known_hosts", "@revoked "+knownhosts.Line([]string{d.addr.String()}, d.host.PublicKey())+"\n")
		}, "unavailable", "is revoked by"},
		{"a file of hosts that is damaged", func(d *sshd, home string) { d.write(home, "known_hosts", "x y z\n") }, "unavailable", "host key is known"}, // ssh's own words
		{"a key that is not taken", func(d *sshd, _ string) { d.user, _ = newKey(d.T) }, "credential", "none of the keys"},
		{"no key", func(_ *sshd, home string) { os.Remove(filepath.Join(home, ".ssh", "id_ed25519")) }, "credential", "no usable SSH key"},
		{"a key that is damaged", func(d *sshd, home string) {
			d.write(home, "id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\nhalf")
		}, "credential", "no usable SSH key; "},
		{"a key that others may read", func(d *sshd, home string) { os.Chmod(filepath.Join(home, ".ssh", "id_ed25519"), 0o644) }, "credential", "others may read it"},
	} {
		t.Run(c.what, func(t *testing.T) {
			d := newSSHD(t)
			home := d.home()
			d.tell(func() { c.prepare(d, home) })
			s := d.open(home)
			err := s.Machine.Run(t.Context(), []string{"true"}, nil, io.Discard)
			if _, unsent := errors.AsType[*DialError](err); !unsent || !strings.Contains(err.Error(), c.said) || kindOf(err) != c.kind {
				t.Errorf("%s %v, want %s: %s", kindOf(err), err, c.kind, c.said)
			}
			r := Submit(t.Context(), counter{site: s}.requests("a"), counter{site: s}.check, nil)[0]
			if k := kindOf(r.Err); k == "uncertain" || k == "" {
				t.Errorf("a submission to it: %v", r.Err)
			}
		})
	}
}

// TestNoAnswerToTheHandshake: a port that takes connections and says nothing
// costs the time that a connection may take, and no more.
func TestNoAnswerToTheHandshake(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := newSSHD(t)
	d.addr = l.Addr()
	s := d.open(d.home())
	s.Options.Dial = 300 * time.Millisecond
	began := time.Now()
	err = s.Machine.Run(t.Context(), []string{"true"}, nil, io.Discard)
	if _, unsent := errors.AsType[*DialError](err); !unsent || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 15*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// TestNoFiles: a host without sftp is told so, and its commands go on.
func TestNoFiles(t *testing.T) {
	d := newSSHD(t)
	d.tell(func() { d.noFiles = true })
	s := d.open(d.home())
	if _, err := s.Machine.Files(t.Context()); err == nil || !strings.Contains(err.Error(), "sftp on "+d.addr.String()) {
		t.Errorf("%v", err)
	}
	if err := s.Machine.Run(t.Context(), []string{"true"}, nil, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestFilesOverSSHFail: what a disk or the connection does in the middle is an
// error, not half a file under its name.
func TestFilesOverSSHFail(t *testing.T) {
	d := newSSHD(t)
	s := d.open(d.home())
	files, err := s.Machine.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := files.Put(in("file/below"), 0o600, strings.NewReader("x")); err == nil {
		t.Error("put below a file")
	}
	if err := files.Put(in("new/dir/f"), 0o600, iotest{"abc", io.ErrUnexpectedEOF}.reader()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a source that fails: %v", err)
	}
	if info, err := os.Stat(in("new/dir")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directories are not closed to others: %v %v", info, err)
	}
	for _, name := range []string{"nothing", "new"} {
		if _, _, err := files.Get(filepath.Dir(in(name)), filepath.Base(in(name)), 0); err == nil {
			t.Errorf("get %s", name)
		}
	}
	if _, err := files.List(in("nothing")); err == nil {
		t.Error("a list of nothing")
	}
	d.cut()
	if _, err := files.List(dir); err == nil {
		t.Error("a list after the connection ended")
	}
	if err := files.Put(in("late"), 0o600, strings.NewReader("x")); err == nil {
		t.Error("put after the connection ended")
	}
}

// iotest is a source that has some text and then fails.
type iotest struct {
	text string
	err  error
}

func (s iotest) reader() io.Reader { return io.MultiReader(strings.NewReader(s.text), failing{s.err}) }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
