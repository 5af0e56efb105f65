package slurm_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
	"gridbroker/plugins/slurm"
	bed "gridbroker/testdata/testbed"
)

// jump is a second sshd, of the test's own, before the testbed's.
type jump struct {
	t         testing.TB
	dir, port string
	cmd       *exec.Cmd
}

func startJump(t testing.TB) *jump {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("no sshd here")
	}
	_, port, _ := net.SplitHostPort(bed.FreeAddress(t))
	j := &jump{t: t, dir: t.TempDir(), port: port}
	must(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", j.file("host")).Run())
	j.write("sshd_config", fmt.Sprintf(`Port %s
ListenAddress 127.0.0.1
HostKey %s
PidFile none
AuthorizedKeysFile %s
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
LogLevel DEBUG1
PermitOpen 127.0.0.1:17804
`, j.port, j.file("host"), filepath.Join(sshDir(), "authorized_keys")))
	j.cmd = exec.Command(sshd, "-D", "-f", j.file("sshd_config"), "-E", j.file("log"))
	must(t, j.cmd.Start())
	t.Cleanup(func() { j.cmd.Process.Kill(); j.cmd.Wait() })
	for range 100 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+j.port); err == nil {
			c.Close()
			return j
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("sshd did not come up")
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (j *jump) file(name string) string { return filepath.Join(j.dir, name) }

func (j *jump) write(name, text string) string {
	must(j.t, os.WriteFile(j.file(name), []byte(text), 0o600))
	return j.file(name)
}

// sshDir is where the testbed keeps its keys.
func sshDir() string {
	top := bed.Dir()
	return filepath.Join(top, "slurm", "ssh")
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// config is that of a user whose cluster lies behind a jump host, in two files
// and with patterns.
func (j *jump) config(key string) string {
	j.write("known", fmt.Sprintf("[127.0.0.1]:%s %s\nlab %s\n", j.port, read(j.t, j.file("host.pub")), read(j.t, filepath.Join(sshDir(), "host.pub"))))
	return j.write("config", fmt.Sprintf(`Include %s
Host door
  Port %s
Host *.inside !gate.inside
  ProxyJump door
  HostName 127.0.0.1
  Port 17804
  HostKeyAlias lab
Host *
  HostName 127.0.0.1
  UserKnownHostsFile %s
  GlobalKnownHostsFile /dev/null
`, j.write("keys", "Host *\n  IdentityFile "+key+"\n  IdentitiesOnly yes\n"), j.port, j.file("known")))
}

func (j *jump) backend(key string) (b *slurm.Backend, url string) {
	b = slurm.New(slurm.Options{Environ: append(os.Environ(), "SSH_AUTH_SOCK="), Home: j.dir, SSHConfig: j.config(key)})
	j.t.Cleanup(func() { b.Close() })
	return b, "slurm+ssh://lab.inside" + j.t.TempDir() + "/j"
}

// A cluster behind a jump host is reached by the user's own ssh: jobs go there
// and back, and every connection to the cluster comes through the jump host.
func TestRealJumpHost(t *testing.T) {
	t.Parallel()
	testbed(t)
	j := startJump(t)
	b, url := j.backend(filepath.Join(sshDir(), "id"))
	roundTrip(t, b, url, "jump")
	if log := read(t, j.file("log")); !strings.Contains(log, "direct-tcpip") {
		t.Errorf("nothing went through the jump host: %s", log)
	}
	j.write("known", "door x\n")
	other := read(t, filepath.Join(sshDir(), "id2.pub"))
	j.config(filepath.Join(sshDir(), "id"))
	j.write("known", fmt.Sprintf("[127.0.0.1]:%s %s\nlab %s\n", j.port, other, other))
	b.Close()
	r := b.Submit(t.Context(), different(t, b, url, "jk", 1), nil)[0]
	if e, ok := r.Err.(*plugins.Error); !ok || e.Kind != plugins.Unavailable || !strings.Contains(e.Error(), "HOST IDENTIFICATION HAS CHANGED") {
		t.Errorf("with a changed host key: %v", r.Err)
	}
}

// The jump host dies at many moments of a bulk submission: every job is there,
// not there, or uncertain and found; none is there twice.
func TestRealJumpHostDies(t *testing.T) {
	t.Parallel()
	slurm := testbed(t)
	const n = 10
	outcomes := map[string]int{}
	for _, after := range []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second} {
		j := startJump(t)
		b, url := j.backend(filepath.Join(sshDir(), "id"))
		prefix := fmt.Sprintf("jd%d", time.Now().UnixNano())
		reqs := different(t, b, url, prefix, n)
		if _, err := b.Ping(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(after, j.die)
		there := map[string]plugins.Handle{}
		var ids []string
		for _, r := range b.Submit(t.Context(), reqs, nil) {
			e, _ := r.Err.(*plugins.Error)
			switch {
			case r.Err == nil:
				there[r.ID] = r.Handle
				outcomes["accepted"]++
			case e == nil || e.Kind != plugins.Uncertain && e.Kind != plugins.Unavailable:
				t.Fatalf("after %v: %v", after, r.Err)
			default:
				ids = append(ids, r.ID)
				outcomes[e.Kind.String()]++
			}
		}
		timer.Stop()
		// The same cluster by another way: what is uncertain is found there.
		direct, _ := behind(t, "17804", nil)
		at := reqs[0].Endpoint
		at.URL = "slurm+ssh://lab" + strings.TrimPrefix(url, "slurm+ssh://lab.inside")
		found, err := direct.Find(t.Context(), at, ids)
		if err != nil {
			t.Fatal(err)
		}
		for id, h := range found {
			there[id] = h
		}
		var again []plugins.Request
		for _, q := range reqs {
			if _, ok := there[q.ID]; !ok {
				q.Endpoint = at
				again = append(again, q)
			}
		}
		for _, r := range direct.Submit(t.Context(), again, nil) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			there[r.ID] = r.Handle
		}
		var hs []plugins.Handle
		for _, h := range there {
			h.Endpoint = at.URL
			hs = append(hs, h)
		}
		waitFinal(t, direct, hs)
		if got := slurm.named(t, prefix); got != n {
			t.Errorf("after %v: Slurm had %d jobs of this name, want %d", after, got, n)
		}
	}
	t.Logf("outcomes: %v", outcomes)
}

// die ends the jump host with the connections it carries.
func (j *jump) die() {
	out, _ := exec.Command("ps", "-o", "pid=", "--ppid", fmt.Sprint(j.cmd.Process.Pid)).Output()
	j.cmd.Process.Kill()
	for pid := range strings.FieldsSeq(string(out)) {
		exec.Command("kill", "-9", pid).Run()
	}
}

// A key with a passphrase serves through the agent, also with IdentitiesOnly
// and when only its public half is there; without the agent it is said why not.
func TestRealEncryptedKey(t *testing.T) {
	testbed(t)
	j := &jump{t: t, dir: t.TempDir()}
	sock := filepath.Join(j.dir, "agent")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	agent := exec.CommandContext(ctx, "ssh-agent", "-D", "-a", sock)
	must(t, agent.Start())
	defer agent.Wait()
	defer cancel()
	for range 100 {
		if _, err := os.Stat(sock); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	with := append(os.Environ(), "SSH_AUTH_SOCK="+sock)
	add := exec.Command("ssh-add", "-q", filepath.Join(sshDir(), "id"))
	add.Env = with
	must(t, add.Run())
	locked := j.write("locked", read(t, filepath.Join(sshDir(), "id")))
	must(t, exec.Command("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", locked).Run())
	pub := j.write("only.pub", read(t, filepath.Join(sshDir(), "id.pub")))
	j.write("known", "lab "+read(t, filepath.Join(sshDir(), "host.pub")))
	for name, key := range map[string]string{"encrypted": locked, "public half": pub, "public half beside it": strings.TrimSuffix(pub, ".pub")} {
		conf := j.write("config", fmt.Sprintf("Host lab\n HostName 127.0.0.1\n Port 17804\n HostKeyAlias lab\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n", key, j.file("known")))
		b := slurm.New(slurm.Options{Environ: with, Home: j.dir, SSHConfig: conf})
		if _, err := b.Ping(t.Context(), "slurm+ssh://lab"+t.TempDir()); err != nil {
			t.Errorf("%s, with an agent: %v", name, err)
		}
		b.Close()
		b = slurm.New(slurm.Options{Environ: append(os.Environ(), "SSH_AUTH_SOCK="), Home: j.dir, SSHConfig: conf})
		_, err := b.Ping(t.Context(), "slurm+ssh://lab"+t.TempDir())
		if e, ok := err.(*plugins.Error); !ok || e.Kind != plugins.Credential || !strings.Contains(e.Error(), "ssh-add") ||
			key == locked && !strings.Contains(e.Error(), "passphrase") {
			t.Errorf("%s, without: %v", name, err)
		}
		b.Close()
	}
}
