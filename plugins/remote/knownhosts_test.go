package remote

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// TestHostKeysAsOpenSSH: which host is let in, the built-in client and ssh agree on,
// whatever the file of known hosts has.
func TestHostKeysAsOpenSSH(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("no ssh command here")
	}
	d := newSSHD(t)
	home := d.home()
	d.write(home, "config", fmt.Sprintf("UserKnownHostsFile %s/.ssh/known_hosts\nGlobalKnownHostsFile none\nIdentityFile %s/.ssh/id_ed25519\nIdentityAgent none\n", home, home))
	name, plain := knownhosts.Normalize(d.addr.String()), d.host
	_, port, _ := net.SplitHostPort(d.addr.String())
	other, _ := newKey(t)
	authority, _ := newKey(t)
	key := func(s ssh.Signer) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.PublicKey()))) }
	cert := func(principal string, signer ssh.Signer) ssh.Signer {
		c := &ssh.Certificate{Key: plain.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{principal}, ValidBefore: ssh.CertTimeInfinity}
		if err := c.SignCert(rand.Reader, signer); err != nil {
			t.Fatal(err)
		}
		s, err := ssh.NewCertSigner(c, plain)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for what, c := range map[string]struct {
		known string
		shows ssh.Signer
		in    bool
	}{
		"known":                         {name + " " + key(plain), plain, true},
		"hashed":                        {knownhosts.HashHostname(name) + " " + key(plain), plain, true},
		"pattern":                       {"[127.0.*]:" + port + " " + key(plain), plain, true},
		"pattern that leaves it out":    {"*,!127.0.0.1,!" + name + " " + key(plain), plain, false},
		"without its port":              {"127.0.0.1 " + key(plain), plain, true},
		"another without its port":      {name + " " + key(other) + "\n127.0.0.1 " + key(plain), plain, false},
		"another port":                  {"[127.0.0.1]:1 " + key(plain), plain, false},
		"unknown":                       {"example.org " + key(plain), plain, false},
		"changed":                       {name + " " + key(other), plain, false},
		"one of two":                    {name + " " + key(other) + "\n" + name + " " + key(plain), plain, true},
		"revoked":                       {name + " " + key(plain) + "\n@revoked * " + key(plain), plain, false},
		"another that is revoked":       {name + " " + key(plain) + "\n@revoked * " + key(other), plain, true},
		"a line of a kind of tomorrow":  {"example.org ssh-tomorrow AAAA\n" + name + " " + key(plain), plain, true},
		"a line that is cut":            {"example.org\n" + name + " " + key(plain), plain, true},
		"authority":                     {"@cert-authority " + name + " " + key(authority), cert("127.0.0.1", authority), true},
		"authority of other hosts":      {"@cert-authority *.example.org " + key(authority), cert("127.0.0.1", authority), false},
		"another authority":             {"@cert-authority " + name + " " + key(authority), cert("127.0.0.1", other), false},
		"certificate of another name":   {"@cert-authority " + name + " " + key(authority), cert("example.org", authority), false},
		"authority's own key as host's": {"@cert-authority " + name + " " + key(plain), plain, false},
		"authority that is revoked":     {"@cert-authority " + name + " " + key(authority) + "\n@revoked * " + key(authority), cert("127.0.0.1", authority), false},
	} {
		t.Run(what, func(t *testing.T) {
			d.write(home, "known_hosts", c.known+"\n")
			d.tell(func() { d.host = c.shows })
			out, err := exec.Command(program, "-F", filepath.Join(home, ".ssh", "config"), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-p", port, "127.0.0.1", "true").CombinedOutput()
			if (err == nil) != c.in {
				t.Errorf("ssh: %v %s", err, out)
			}
			if _, err := d.open(home).Command(t.Context(), "true"); (err == nil) != c.in {
				t.Errorf("this client: %v", err)
			}
		})
	}
}

// TestConfigurationOfOthers: a configuration that others can write, or have written, or that
// includes such a one, says nothing: it names the host's address, its known keys, and commands.
func TestConfigurationOfOthers(t *testing.T) {
	home := t.TempDir()
	open := func() error {
		opts := Options{Home: home}.Defaults()
		_, err := readSSHConfig(&opts, Target{Host: "h"})
		return err
	}
	write := func(name, text string, mode os.FileMode, owner int) {
		t.Helper()
		name = filepath.Join(home, ".ssh", name)
		os.MkdirAll(filepath.Dir(name), 0o700)
		os.Remove(name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(name, owner, -1); err != nil {
			t.Skip(err)
		}
	}
	me := os.Geteuid()
	write("config", "HostName evil.example.org\n", 0o644, me)
	if err := open(); err != nil {
		t.Errorf("one that others can read: %v", err)
	}
	for _, mode := range []os.FileMode{0o664, 0o646, 0o666} {
		write("config", "HostName evil.example.org\n", mode, me)
		if err := open(); err == nil || !strings.Contains(err.Error(), "others can write") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, line := range []string{"Include conf.d/*", "  include = \"conf.d/a\"", "Host other\n Include ~/.ssh/conf.d/a", "Include " + home + "/.ssh/conf.d/a"} {
		write("config", line+"\n", 0o600, me)
		write("conf.d/a", "HostName evil.example.org\n", 0o664, me)
		if err := open(); err == nil || !strings.Contains(err.Error(), "others can write") {
			t.Errorf("%q: %v", line, err)
		}
		write("conf.d/a", "Include b\n", 0o644, me)
		write("b", "User x\n", 0o622, me)
		if err := open(); err == nil || !strings.Contains(err.Error(), "others can write") {
			t.Errorf("%q, and that another: %v", line, err)
		}
		write("b", "User x\n", 0o600, me)
		if err := open(); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	os.Remove(filepath.Join(home, ".ssh", "config"))
	for name, want := range map[string]string{"known_hosts": "it is no regular file", "others": ""} { // which would be waited for
		if err := syscall.Mkfifo(filepath.Join(home, ".ssh", name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a pipe %s: %v", name, err)
		}
		os.Remove(filepath.Join(home, ".ssh", name))
	}
	if me == 0 {
		write("config", "HostName evil.example.org\n", 0o600, 65534)
		if err := open(); err == nil || !strings.Contains(err.Error(), "user 65534") {
			t.Errorf("somebody else's: %v", err)
		}
	}
}

// TestServersThatTalkBeforehand: banners without end, and an agent that says nothing, end.
func TestServersThatTalkBeforehand(t *testing.T) {
	d := newSSHD(t)
	home := d.home()
	d.tell(func() { d.banner = strings.Repeat("welcome\x1b]0;x\a\n", 1<<18) })
	if _, err := d.open(home).Command(t.Context(), "true"); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a banner of megabytes: %v", err)
	}
	d.tell(func() { d.banner = "welcome\n" })
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := d.open(home)
	s.Options.Environ = []string{"SSH_AUTH_SOCK=" + socket}
	conf, err := readSSHConfig(s.Options, Target{Host: "127.0.0.1", Port: fmt.Sprint(d.addr.(*net.TCPAddr).Port)})
	if err != nil {
		t.Fatal(err)
	}
	s.Machine = &shell{conf: conf, opts: s.Options}
	start := time.Now()
	if _, err := s.Command(t.Context(), "true"); err != nil || time.Since(start) > s.Options.Command {
		t.Errorf("with an agent that says nothing, after %v: %v", time.Since(start), err)
	}
}

// TestHostsForShells: hosts and users that a shell would act on, where a ProxyCommand has them among
// its words, are none.
func TestHostsForShells(t *testing.T) {
	for _, raw := range []string{"x+ssh://a;id/", "x+ssh://$(id)/", "x+ssh://a'b/", "x+ssh://a,b/", "x+ssh://-oProxyCommand=id/", "x+ssh://-lroot@h/",
		"x+ssh://u%20-oProxyCommand=id@h/", "x+ssh://u%60id%60@h/", "x+ssh://u%3Bid@h/", "x+ssh://u%0a@h/", "x+ssh://[::1%25$(id)]/"} {
		if target, _, err := ParseURL(raw, "x"); err == nil {
			t.Errorf("%s: %+v", raw, target)
		}
	}
	for _, raw := range []string{"x+ssh://alice@login.example.org:22/", "x+ssh://DOM%5Calice@h_1-2/", "x+ssh://[fe80::1%25eth0]:2222/", "x+ssh://alice%40site@h/"} {
		if _, _, err := ParseURL(raw, "x"); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
