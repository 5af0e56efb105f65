package remote

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// TestURLs: where each URL leads, and what is no URL of ours.
func TestURLs(t *testing.T) {
	for raw, want := range map[string]string{
		"x:":                                 "here ",
		"x:/scratch/jobs":                    "here /scratch/jobs",
		"x+ssh://host":                       "host ",
		"x+ssh://me@host:2222/dir":           "me@host:2222 /dir",
		"x+ssh://[::1]:22/d":                 "::1:22 /d",
		"x+ssh://host?ssh=external":          "host  external",
		"x+ssh://host?ssh=builtin":           "host ",
		"x+ssh://host?ssh=x&ssh=external":    "host  external",
		"x+ssh://host?queue=q":               "host  queue=q",
		"x:/d?launcher=/opt/g-l&node=/etc/n": "here /d",
		"x:?cache=http://h:80":               "here ",
		"x:relative":                         "!this machine's is x:",
		"x://host/dir":                       "!another's is x+ssh://host",
		"x+ssh:///dir":                       "!no host",
		"x+ssh://-oProxyCommand=id/dir":      "!no host",
		"x+ssh://-l@host":                    "!no host",
		"x+ssh://me:secret@host":             "!passwords are not accepted",
		"x+ssh://host?ssh=putty":             "!external or builtin",
		"x:?launcher=grid-launch":            "!absolute path",
		"x:?node=/etc/$(id)":                 "!absolute path",
		"x:?cache=ftp://h":                   "!cache",
		"y:":                                 "!not a URL of x",
		"%zz":                                "!invalid URL escape",
	} {
		target, rest, err := ParseURL(raw, "x")
		got := "here"
		if target.Host != "" {
			got = target.Host
		}
		if target.User != "" {
			got = target.User + "@" + got
		}
		if target.Port != "" {
			got += ":" + target.Port
		}
		got += " " + target.Base
		if target.External {
			got += " external"
		}
		if len(rest) > 0 {
			got += " " + rest.Encode()
		}
		if bad, no := strings.CutPrefix(want, "!"); no {
			if err == nil || !strings.Contains(err.Error(), bad) {
				t.Errorf("%s: %v, want %s", raw, err, bad)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the password is told: %v", raw, err)
			}
			continue
		}
		if err != nil || strings.TrimSuffix(got, " ") != strings.TrimSuffix(want, " ") {
			t.Errorf("%s: %q %v, want %q", raw, got, err, want)
		}
	}
}

// TestEnvironmentHere: commands of a batch system see what they need of the
// caller's environment, and no credential.
func TestEnvironmentHere(t *testing.T) {
	got := keepEnv([]string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LCX=1", "BEARER_TOKEN=secret", "X509_USER_PROXY=/p", "SSH_AUTH_SOCK=/s", "SLURM_CONF=/etc/s", "PATHX=1",
		"_CONDOR_A=1", "_CONDOR=2", "odd", "TZ="}, []string{"SLURM_CONF", "_CONDOR_*"})
	want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "SLURM_CONF=/etc/s", "_CONDOR_A=1", "TZ="}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSSHConfiguration: what ~/.ssh/config says of a host, and what of it only
// the user's own ssh can follow.
func TestSSHConfiguration(t *testing.T) {
	home := t.TempDir()
	const config = `
Host cluster c2
  HostName login.%h.example.org
  User alice
  Port 2200
  IdentityFile ~/.ssh/key_%r
  IdentityFile "%d/keys/%h"
  IdentitiesOnly yes
  HostKeyAlias the-cluster
  UserKnownHostsFile ~/known /dev/null
  GlobalKnownHostsFile none
  IdentityAgent /run/agent
Host jump
  ProxyJump gate
Host nojump
  ProxyJump none
Host gss
  GSSAPIAuthentication yes
Host card
  PKCS11Provider /lib/x.so
Host silent
  IdentityAgent none
Host *.example.org
  User bob
`
	opts := Options{Home: home, Environ: []string{"SSH_AUTH_SOCK=/tmp/agent"}, SSHConfig: filepath.Join(home, "config")}.Defaults()
	write := func(text string) {
		if err := os.WriteFile(opts.SSHConfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(target Target) *sshConfig {
		t.Helper()
		c, err := readSSHConfig(&opts, target)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	plain := read(Target{Host: "h", User: "u"}) // no file at all
	if plain.address() != "h:22" || plain.user != "u" || plain.agent != "/tmp/agent" || len(plain.keys) != 3 || plain.needsCommand() ||
		plain.knownHosts[0] != filepath.Join(home, ".ssh", "known_hosts") || plain.knownHosts[2] != "/etc/ssh/ssh_known_hosts" {
		t.Errorf("without a file: %+v", plain)
	}
	write(config)
	c := read(Target{Host: "cluster"})
	want := &sshConfig{alias: "cluster", user: "alice", host: "login.cluster.example.org", port: "2200", onlyKeys: true, agent: "/run/agent", hostAlias: "the-cluster",
		keys:       []string{filepath.Join(home, ".ssh", "key_alice"), filepath.Join(home, "keys", "login.cluster.example.org")},
		knownHosts: []string{filepath.Join(home, "known")}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if c := read(Target{Host: "c2", User: "carol", Port: "22"}); c.user != "carol" || c.address() != "login.c2.example.org:22" {
		t.Errorf("the URL's own first: %+v", c)
	}
	if c := read(Target{Host: "x.example.org"}); c.user != "bob" {
		t.Errorf("a pattern: %+v", c)
	}
	if c := read(Target{Host: "silent"}); c.agent != "" {
		t.Errorf("no agent: %+v", c)
	}
	for host, why := range map[string]string{"jump": "ProxyJump is set", "nojump": "", "gss": "GSSAPIAuthentication is set", "card": "PKCS11Provider is set", "other": ""} {
		if c := read(Target{Host: host}); c.reason != why || c.needsCommand() != (why != "") {
			t.Errorf("%s: %q, want %q", host, c.reason, why)
		}
	}
	write("Match exec true\n  User y\n")
	if c := read(Target{Host: "x"}); !c.needsCommand() {
		t.Errorf("a file that only ssh reads: %+v", c)
	}
	s, err := Open(&opts, &System{Name: "X"}, "x+ssh://x", Target{Host: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Machine.(*external); !ok || s.Base != defaultBase {
		t.Errorf("%T, base %s", s.Machine, s.Base)
	}
	opts.SSHConfig = home // a directory
	if _, err := readSSHConfig(&opts, Target{Host: "x"}); err == nil {
		t.Error("a configuration that cannot be read is taken as none")
	}
}

// TestNamesThatShellsAgreeOn: which ids and variables are ours to use is decided
// here and in the runner at the site; both say the same.
func TestNamesThatShellsAgreeOn(t *testing.T) {
	_, after, _ := strings.Cut(runnerText, "id_ok() ")
	rule, _, _ := strings.Cut(after, "\n")
	for _, id := range []string{"a", "A-b_c.9", "", ".a", "-a", "a/b", "..", "a b", "a\nb", "é", "a$b", "a*", "9", "_", "a.", "a\x7f"} {
		err := exec.Command("sh", "-c", "LC_ALL=C; id_ok() "+rule+"\nid_ok \"$1\"", "x", id).Run()
		if ok := err == nil; ok != ValidID(id) {
			t.Errorf("id %q: the runner says %v, we %v", id, ok, ValidID(id))
		}
	}
	if ValidID(strings.Repeat("a", 129)) {
		t.Error("an id that is no file's name on every system")
	}
	for _, name := range []string{"A", "_", "a1", "1a", "", "A-B", "A B", "é", "A=", "a.b"} {
		err := exec.Command("sh", "-c", `eval "export $1=x"`, "x", name).Run()
		if identifier(name) && err != nil {
			t.Errorf("variable %q: sh says %v", name, err)
		}
		if want := name == "A" || name == "_" || name == "a1"; identifier(name) != want {
			t.Errorf("variable %q: %v", name, !want)
		}
	}
}

// TestUnsuited: jobs whose words cannot travel are refused before anything is sent.
func TestUnsuited(t *testing.T) {
	c := newCounter(t)
	for want, job := range map[string]*jdl.Job{
		"":                                    {Executable: "/bin/ls", StdOutput: "a b/ü"},
		`"a-b" has no valid name`:             {Environment: []jdl.EnvVar{{Name: "a-b"}}},
		`"../o" would leave`:                  {StdOutput: "../o"},
		`"/o" would leave`:                    {StdError: "/o"},
		`"-rf" would leave`:                   {OutputSandbox: []jdl.OutputFile{{Name: "-rf"}}},
		`"a/../../b" would leave`:             {InputSandbox: []jdl.InputFile{{Name: "a/../../b"}}},
		`"." would leave`:                     {InputSandbox: []jdl.InputFile{{Name: "."}}},
		`"a\nb" would leave`:                  {OutputSandbox: []jdl.OutputFile{{Name: "a\nb"}}},
		`" a" would leave`:                    {OutputSandbox: []jdl.OutputFile{{Name: " a"}}},
		"a word of the job holds a zero byte": {Executable: "/bin/ls", Args: []string{"a\x00b"}},
	} {
		err := c.site.CheckID(plugins.Request{ID: "id", Job: job})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || kindOf(err) != "invalid") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := c.site.CheckID(plugins.Request{ID: "../x", Job: &jdl.Job{}}); kindOf(err) != "invalid" {
		t.Errorf("an id that is a path: %v", err)
	}
}

// TestStreams: what is read in place goes through the site's cache, and only that.
func TestStreamed(t *testing.T) {
	const cache = "http://cache:8080/"
	for value, want := range map[string]string{
		"https://h/f?a=1&b=2": "http://cache:8080/file?url=https%3A%2F%2Fh%2Ff%3Fa%3D1%26b%3D2",
		"http://h/f":          "http://cache:8080/file?url=http%3A%2F%2Fh%2Ff",
		"root://h/f":          "root://h/f",
		"https://me:pw@h/f":   "https://me:pw@h/f",
		"file:///etc/passwd":  "file:///etc/passwd",
		"https:///f":          "https:///f",
		"%zz":                 "%zz",
		"":                    "",
	} {
		if got := Streamed(cache, "GRID_STREAM_A", value); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
		if got := Streamed(cache, "OTHER", value); got != value {
			t.Errorf("another variable with %s: %s", value, got)
		}
		if got := Streamed("", "GRID_STREAM_A", value); got != value {
			t.Errorf("without a cache %s: %s", value, got)
		}
		if u, err := url.Parse(want); want != value && (err != nil || u.Query().Get("url") != value) {
			t.Errorf("%s does not come back from %s", value, want)
		}
	}
	for address, ok := range map[string]bool{"": true, "http://h:1": true, "https://h": true, "h:1": false, "http://": false, "http://u@h": false, "http://h?x": false, "http://h#x": false, "%zz": false} {
		if err := CheckCache(address); (err == nil) != ok {
			t.Errorf("cache %q: %v", address, err)
		}
	}
}

// TestEnvironmentsInside: a job enters the environment by the tag as its site
// writes it, and must where the site deploys or the job brings its own image.
func TestEnvironmentsInside(t *testing.T) {
	n := Nodes{launcher: "/opt/grid-launch", settings: "/etc/n"}
	for _, c := range []struct {
		asked, has []string
		want       string
	}{
		{nil, nil, ""},
		{[]string{"APPS/x"}, nil, "must= enter 'APPS/x'"},
		{[]string{"apps/X"}, []string{"APPS/x"}, "must= enter 'APPS/x'"},
		{[]string{"it's"}, []string{"VRES"}, `must=yes enter 'it'\''s'`},
		{[]string{"a", "b"}, []string{"HasVRES", "B"}, "must=yes enter 'a' 'B'"},
	} {
		req := plugins.Request{Job: &jdl.Job{}}
		req.Job.Demand.RuntimeEnvironments = c.asked
		if c.has != nil {
			req.Resource = &glue.Resource{RuntimeEnvironments: c.has}
		}
		var got []string
		for _, line := range n.inside(req) {
			if strings.HasPrefix(line, "must=") || strings.HasPrefix(line, "enter ") {
				got = append(got, line)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v at %v: %q, want %q", c.asked, c.has, got, c.want)
		}
	}
}

// TestEach: jobs are asked about once per site, a site that fails fails its own
// alone, and handles that are nobody's do nothing.
func TestEach(t *testing.T) {
	bad := errors.New("down")
	split := func(h plugins.Handle) (string, string, string, bool, error) {
		if h.Endpoint == "" {
			return "", "", "", false, bad
		}
		lrmsID, id, ok := SplitHandle(h, "0123456789")
		return h.Endpoint, lrmsID, id, ok, nil
	}
	asked := map[string]string{}
	errs := Each([]plugins.Handle{{Endpoint: "a", ID: "1/x"}, {Endpoint: "b", ID: "2/y"}, {Endpoint: "a", ID: "3/z"}, {Endpoint: "a", ID: "$(id)/x"}, {Endpoint: "a", ID: "4/../x"},
		{Endpoint: "a", ID: "/x"}, {ID: "5/x"}}, split, func(s string, lrmsIDs, ids []string) error {
		asked[s] += fmt.Sprint(lrmsIDs, ids)
		if s == "b" {
			return bad
		}
		return nil
	})
	if want := map[string]string{"a": "[1 3] [x z]", "b": "[2] [y]"}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	for i, err := range errs {
		if (err != nil) != (i == 1 || i == 6) {
			t.Errorf("handle %d: %v", i, err)
		}
	}
}

// fakeSSH puts a program named ssh first on the PATH: it notes its words, one a
// line, and does what the script says.
func fakeSSH(t *testing.T, script string) (words func() string) {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\nfor w; do echo \"$w\"; done >>" + dir + "/words\ncase \" $* \" in *' -O '*) exit 1;; esac\n" + script
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string { all, _ := os.ReadFile(filepath.Join(dir, "words")); return string(all) }
}

// TestUsersOwnSSH: what the ssh command says and how it ends, told apart: not
// connected, connected and ended, and an end that nobody saw.
func TestUsersOwnSSH(t *testing.T) {
	const frame = "@@@@@@@@@@\n@  WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\n@@@@@@@@@@\nHost key verification failed."
	for _, c := range []struct {
		what, master, command string
		unsent                bool
		code                  int // of the remote command; 0: none was seen
		kind, said            string
	}{
		{"a command that fails", "exit 0", "echo no room >&2; exit 3", false, 3, "?", "no room"},
		{"the connection is lost", "exit 0", "echo Connection reset >&2; exit 255", false, 0, "?", "Connection reset"},
		{"killed", "exit 0", "kill -9 $$", false, 0, "?", "ssh to"},
		{"not let in", "echo 'me@h: Permission denied (publickey).' >&2; exit 255", "exit 0", true, 0, "credential", "Permission denied"},
		{"another host", "printf '" + frame + "' >&2; exit 255", "exit 0", true, 0, "unavailable", "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! Host key verification failed."},
		{"silent", "exit 1", "exit 0", true, 0, "?", "exit status 1"},
		{"a jump host that says why", "echo 'Connection closed by UNKNOWN port 65535' >&2; exit 255", "echo 'gate: no such user' >&2; exit 255", true, 0, "unavailable", "gate: no such user"},
	} {
		t.Run(c.what, func(t *testing.T) {
			fakeSSH(t, "case \" $* \" in *' -fN '*) "+c.master+";; *) "+c.command+";; esac\n")
			opts := Options{Home: t.TempDir(), Environ: os.Environ()}.Defaults()
			m := newExternal(&opts, Target{Host: "h", User: "me", Port: "2222", External: true})
			defer m.Close()
			err := m.Run(t.Context(), []string{"true"}, nil, &Answer{})
			_, unsent := errors.AsType[*DialError](err)
			code := 0
			if e, ok := errors.AsType[*ExitError](err); ok {
				code = e.Code
			}
			if err == nil || unsent != c.unsent || code != c.code || kindOf(err) != c.kind || !strings.Contains(err.Error(), c.said) {
				t.Errorf("unsent %v, code %d, kind %s: %v", unsent, code, kindOf(err), err)
			}
		})
	}
}

// TestWordsOfSSH: nothing of a URL or of a command becomes an option of ssh, and
// one connection serves all.
func TestWordsOfSSH(t *testing.T) {
	words := fakeSSH(t, "for last; do :; done; case \" $* \" in *' -fN '*) exit 0;; esac; exec sh -c \"$last\"\n")
	home := t.TempDir()
	opts := Options{Home: home, Environ: os.Environ(), Dial: 7 * time.Second}.Defaults()
	m := newExternal(&opts, Target{Host: "h", User: "me", Port: "2222"})
	out := &Answer{Max: 1000}
	if err := m.Run(t.Context(), []string{"printf", "%s", "-oProxyCommand=id $(id) it's"}, nil, out); err != nil || out.String() != "-oProxyCommand=id $(id) it's" {
		t.Errorf("%q %v", out, err)
	}
	text := words()
	for _, want := range []string{"BatchMode=yes\n", "StrictHostKeyChecking=yes\n", "ConnectTimeout=7\n", "-l\nme\n-p\n2222\n", "-fN\n--\nh\n", "ControlMaster=no\n--\nh\nprintf "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "-F\n") {
		t.Errorf("a configuration that is not there is named:\n%s", text)
	}
	dir := m.dir
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil || !strings.Contains(words(), "-O\nexit\n") {
		t.Errorf("the master's socket was left, or it was not told to end: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestSocketOfTheMaster: who can exchange what lies in TMPDIR does not become the master of our connections: its socket is
// made where nobody else writes.
func TestSocketOfTheMaster(t *testing.T) {
	words := fakeSSH(t, "exit 0\n")
	temp := filepath.Join(t.TempDir(), "scratch")
	for _, err := range []error{os.Mkdir(temp, 0o700), os.Chmod(temp, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", temp)
	opts := Options{Home: t.TempDir(), Environ: os.Environ()}.Defaults()
	m := newExternal(&opts, Target{Host: "h"})
	defer m.Close()
	if err := m.Run(t.Context(), []string{"true"}, nil, &Answer{}); err != nil {
		t.Fatal(err)
	}
	if text := words(); strings.Contains(text, temp) || !strings.Contains(text, "ControlPath=/tmp/") {
		t.Errorf("%s", text)
	}
}
