package main_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// world is a user's view of the ARC testbed: the program, an empty home.
type world struct {
	t   *testing.T
	bed *testbed.ARC
	exe string
	dir string
	env []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	bed := testbed.NeedARC(t)
	w := newMachine(t)
	w.bed = bed
	w.env = append(w.env, "X509_CERT_DIR="+bed.CADir, "X509_USER_PROXY="+bed.Proxy("alice"))
	return w
}

// newMachine is a world without a testbed.
func newMachine(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: testbed.Home(t), exe: program(t)}
	// The CE is on this machine: what has not arrived after half a minute does not.
	config := filepath.Join(w.dir, "grid.toml")
	if err := os.WriteFile(config, []byte("settle = \"30s\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"HOME=" + w.dir, "GRID_CONFIG=" + config, "PATH=" + os.Getenv("PATH"), "GRID_STATE_DIR=" + filepath.Join(w.dir, "state")}
	t.Cleanup(func() { w.try("cancel", "--all"); w.try("status", "--all"); w.try("clean", "--all") })
	return w
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.exe, args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	return cmd
}

// try runs grid and returns standard output, standard error and exit code.
func (w *world) try(args ...string) (out, msg string, code int) {
	var o, e bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		code = x.ExitCode()
	} else if err != nil {
		w.t.Fatal(err)
	}
	return o.String(), e.String(), code
}

type jobLine struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Resource string `json:"resource"`
	ExitCode *int   `json:"exit_code"`
}

func (w *world) status() []jobLine {
	w.t.Helper()
	var doc struct {
		Jobs []jobLine `json:"jobs"`
	}
	out, msg, _ := w.try("status", "--all", "--json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		w.t.Fatalf("%v in %q\n%s", err, out, msg)
	}
	return doc.Jobs
}

// settle polls until no job is in one of the states.
func (w *world) settle(states string) []jobLine {
	w.t.Helper()
	for end := time.Now().Add(6 * time.Minute); ; time.Sleep(time.Second) {
		jobs, left := w.status(), 0
		for _, j := range jobs {
			if strings.Contains(states, j.State) {
				left++
			}
		}
		if left == 0 {
			return jobs
		}
		if time.Now().After(end) {
			out, msg, _ := w.try("status", "--all", "-v")
			w.t.Fatalf("%d jobs do not go on: %+v\n%s%s", left, jobs, out, msg)
		}
	}
}

func (w *world) jobs(n int, line string) (files []string) {
	w.t.Helper()
	for i := range n {
		text := fmt.Sprintf("Executable = \"/bin/sh\"; Arguments = \"-c '%s'\"; StdOutput = \"out\"; StdError = \"err\"; OutputSandbox = {\"out\",\"err\"};\n",
			strings.ReplaceAll(line, "#", fmt.Sprint(i)))
		name := filepath.Join(w.dir, fmt.Sprintf("job%d.jdl", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
		files = append(files, name)
	}
	return files
}

func (w *world) infos(urls ...string) (args []string) {
	for _, u := range urls {
		args = append(args, "--info", u)
	}
	return args
}

// expired is the TLS set-up of a host whose certificate, of the testbed's CA,
// has ended.
func expired(t *testing.T, bed *testbed.ARC) *tls.Config {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(bed.CACert, bed.CAKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// Whatever is wrong with the credential is said before anything is sent, with
// the exit code for it.
func TestARCCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.jobs(1, "echo #")[0]
	submit := append([]string{"submit", "--no-cache"}, append(w.infos(w.bed.REST11...), job)...)
	with := func(proxy string) (string, int) {
		old := w.env
		w.env = append(w.env[:len(w.env):len(w.env)], "X509_USER_PROXY="+proxy)
		defer func() { w.env = old }()
		_, msg, code := w.try(submit...)
		return msg, code
	}
	if msg, code := with(w.bed.Proxy("mallory")); code != 4 || !strings.Contains(msg, "assigned configuration") {
		t.Errorf("a stranger: exit %d: %s", code, msg)
	}
	if msg, code := with(filepath.Join(w.dir, "none")); code != 4 {
		t.Errorf("no proxy: exit %d: %s", code, msg)
	}
	stranger := w.recordCount()
	if msg, code := with(w.oldProxy()); code != 4 || !strings.Contains(msg, "expired") {
		t.Errorf("an expired proxy: exit %d: %s", code, msg)
	}
	if now := w.recordCount(); now != stranger || stranger == 0 {
		t.Errorf("%d jobs are recorded, and %d once a proxy had expired: nothing could be sent, so nothing is to be recorded", stranger, now)
	}
}

// recordCount is how many jobs are recorded.
func (w *world) recordCount() int {
	w.t.Helper()
	out, msg, code := w.try("list", "--columns", "id", "-o", "csv")
	if code != 0 {
		w.t.Fatalf("list: exit %d: %s", code, msg)
	}
	return strings.Count(out, "\n") - 1
}

// oldProxy is a file like a proxy of alice's, expired.
func (w *world) oldProxy() string {
	w.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		w.t.Fatal(err)
	}
	user, err := tls.LoadX509KeyPair(filepath.Join(w.bed.Users, "alice", "usercert.pem"), filepath.Join(w.bed.Users, "alice", "userkey.pem"))
	if err != nil {
		w.t.Fatal(err)
	}
	subject := user.Leaf.Subject
	subject.ExtraNames = append(subject.Names, subject.Names[len(subject.Names)-1])
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: subject, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, user.Leaf, key.Public(), user.PrivateKey)
	if err != nil {
		w.t.Fatal(err)
	}
	var b bytes.Buffer
	for _, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der},
		{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}, {Type: "CERTIFICATE", Bytes: user.Certificate[0]}} {
		_ = pem.Encode(&b, block) // a bytes.Buffer does not fail
	}
	name := filepath.Join(w.dir, "old.pem")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}
