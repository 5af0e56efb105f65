package oidc_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/oidc"
	"gridbroker/testdata/testbed"
)

// realAgent starts Debian's oidc-agent, with an account of the issuer named
// "grid" loaded, and ends it with the test.
func realAgent(t *testing.T, d *testbed.DeviceIssuer) (socket string) {
	for _, tool := range []string{"oidc-agent", "oidc-gen"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed (package oidc-agent-cli)")
		}
	}
	home := t.TempDir()
	testbed.WriteFile(t, filepath.Join(home, "password"), []byte("testbed\n"), 0o600)
	env := append(os.Environ(), "HOME="+home, "TMPDIR="+home, "OIDC_CONFIG_DIR="+filepath.Join(home, "agent"))
	if err := os.Mkdir(filepath.Join(home, "agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(argv ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	started := regexp.MustCompile(`(OIDC_SOCK|OIDCD_PID)=([^;]+);`).FindAllStringSubmatch(run("oidc-agent", "--no-autoload", "--no-webserver"), -1)
	if len(started) != 2 {
		t.Fatalf("oidc-agent prints %q", started)
	}
	for _, m := range started {
		env = append(env, m[1]+"="+m[2])
		if m[1] == "OIDC_SOCK" {
			socket = m[2]
		}
	}
	t.Cleanup(func() {
		kill := exec.Command("oidc-agent", "--kill")
		kill.Env = env
		if out, err := kill.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	// The agent says where it listens before it does.
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	run("oidc-gen", "grid", "--issuer", d.URL, "--cert-path", d.CACert, "--manual", "--client-id", "grid-client", "--client-secret", "", "--redirect-uri", "http://localhost:4242",
		"--scope", "compute.read compute.create", "--flow", "device", "--prompt", "none", "--pw-file", filepath.Join(home, "password"), "--confirm-yes", "--device-authorization-endpoint", d.URL+"/device")
	return socket
}

// The real oidc-agent: tokens for each audience and scope, and its words when
// it has none.
func TestRealAgent(t *testing.T) {
	d := testbed.StartDeviceIssuer(t, nil)
	socket := realAgent(t, d)
	for _, a := range []oidc.Agent{{Socket: socket, Account: "grid"}, {Socket: socket, Issuer: d.URL}} {
		tok, err := a.Mint(t.Context(), "https://ce.example.org", []string{"compute.read"})
		if err != nil {
			t.Fatal(err)
		}
		if f := tok.Fits("https://ce.example.org:443/arex", "compute.read"); f != nil || tok.HasScope("compute.create") {
			t.Errorf("%v; scopes %v", f, tok.Scopes())
		}
	}
	_, err := oidc.Agent{Socket: socket, Account: "nobody"}.Mint(t.Context(), "https://ce", nil)
	if !hasID(err, "agent.refused") || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an account that is not loaded: %v", err)
	}
	set := &credential.Set{Minter: &oidc.Minter{Agent: oidc.Agent{Socket: socket, Account: "grid"}}}
	if tok, err := set.TokenFor(t.Context(), "https://other.example.org:8443/arex", "compute.create"); err != nil || tok.Audience()[0] != "https://other.example.org:8443" {
		t.Errorf("through the set: %v", err)
	}
}
