package main_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/scheduler"
	"gridbroker/testdata/testbed"
)

// member is somebody of a real issuer, Glewlwyd: with the program and a login there, and with a browser.
type member struct {
	*victim
	issuer, page string       // URLs of the issuer, and of the scheduler that goes by it
	browser      *http.Client // signed in at the issuer
	site         string       // of the issuer, where browsers sign in
}

// newMember has a home, the authority of the testbed's issuer among its own, and a browser in which alice has signed in there.
func newMember(t *testing.T) *member {
	env := testbed.Env(t, "oidc")
	m := &member{victim: newVictim(t, "X509_CERT_DIR="+env["GRID_OIDC_CERTIFICATES"]), issuer: env["GRID_OIDC_TESTBED_ISSUER"],
		page: "https://localhost:" + env["GRID_OIDC_TESTBED_PAGE"], site: env["GRID_OIDC_URL"]}
	for from, to := range map[string]string{"GRID_OIDC_HOST_CERT": "host.pem", "GRID_OIDC_HOST_KEY": "host.key"} {
		text, err := os.ReadFile(env[from])
		if err != nil {
			t.Fatal(err)
		}
		m.keep(to, string(text))
	}
	ca, err := os.ReadFile(filepath.Join(env["GRID_OIDC_CERTIFICATES"], "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	m.browser = &http.Client{Timeout: time.Minute, Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	m.browse("POST", m.site+"/api/auth/", `{"username": "alice", "password": "alice of the testbed"}`)
	m.browse("PUT", m.site+"/api/auth/grant/grid-cli", `{"scope": "openid compute.create compute.read compute.modify compute.cancel offline_access"}`)
	m.browse("PUT", m.site+"/api/auth/grant/grid-page", `{"scope": "openid"}`)
	return m
}

// keep writes a file that nobody else may read.
func (m *member) keep(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// browse asks what a browser asks, and returns what is there in the end.
func (m *member) browse(method, at, body string) string {
	m.t.Helper()
	req, err := http.NewRequestWithContext(m.t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.browser.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		m.t.Fatalf("%s %s: %s, %v\n%.500s", method, at, resp.Status, err, text)
	}
	return string(text)
}

var shownCode = regexp.MustCompile(`and enter the code ([A-Z0-9-]+)`)

// login does the device flow, in which alice enters the code with her browser, and returns what the program said.
func (m *member) login(args ...string) (code int, said string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), program(m.t), append([]string{"auth", "login", "--issuer", m.issuer, "--client-id", "grid-cli"}, args...)...)
	var out bytes.Buffer
	pipe, err := cmd.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd.Dir, cmd.Env, cmd.Stdout = m.dir, m.env, &out
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	var errs strings.Builder
	for buf := make([]byte, 4096); ; {
		n, err := pipe.Read(buf)
		errs.Write(buf[:n])
		if entered := shownCode.FindStringSubmatch(errs.String()); n > 0 && entered != nil && strings.HasSuffix(errs.String(), "\n") && strings.Count(errs.String(), "\n") == 2 {
			m.confirm(entered[1])
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait() // its exit code tells
	return cmd.ProcessState.ExitCode(), out.String() + errs.String()
}

// confirm enters a code at the issuer's page. Where that leads to is a page for people.
func (m *member) confirm(code string) {
	m.t.Helper()
	page := m.visit(m.site + "/api/oidc/device?g_continue&code=" + url.QueryEscape(code))
	if at := page.Header.Get("Location"); !strings.Contains(at, "prompt=deviceComplete") {
		m.t.Errorf("the issuer does not take the code: %s %s", page.Status, at)
	}
}

// scheduled starts a scheduler that goes by the issuer, and an agent for this machine.
func (m *member) scheduled() {
	m.t.Helper()
	m.keep("login.secret", "page-secret-of-the-testbed")
	m.keep("agent.token", "secret-agent")
	m.keep("key", scheduler.NewKey())
	m.keep("scheduler.toml", fmt.Sprintf(`database = "sqlite:db"
key_file = "key"
listen = "%[3]s"
cert = "host.pem"
key = "host.key"
issuers = ["%[1]s"]
audience = "%[2]s"
cycle = "1s"
status_every = "1s"
[login]
issuer = "%[1]s"
client = "grid-page"
secret_file = "login.secret"
url = "%[2]s"
[[token]]
sha256 = "%[4]s"
subject = "agent-here"
[[cluster]]
name = "here"
endpoint = "local:localhost"
agents = ["agent-here"]
`, m.issuer, m.page, strings.Replace(strings.TrimPrefix(m.page, "https://"), "localhost", "127.0.0.1", 1), scheduler.HashToken("secret-agent")))
	if h := m.grid(0, "scheduler", "init", "--file", "scheduler.toml"); h.code != 0 {
		m.t.Fatalf("%d %s", h.code, h.errs)
	}
	h := m.grid(0, "scheduler", "doctor", "--file", "scheduler.toml")
	for _, want := range []string{"ok    issuers: " + m.issuer + " answers and has keys", "ok    login: issuer " + m.issuer + " lets people sign in"} {
		if !strings.Contains(h.out, want) {
			m.t.Errorf("doctor does not say %q:\n%s", want, h.out)
		}
	}
	m.serve(nil, "scheduler", "serve", "--file", "scheduler.toml")
	agent := exec.CommandContext(m.t.Context(), program(m.t), "agent", "run", "--lrms", "local:", "--cluster", "here", "--scheduler", m.page, "--start", "plain", "--token-file", "agent.token")
	agent.Dir, agent.Env = m.dir, m.env
	if err := agent.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
}

// With nothing but an account at a real issuer: the login of the device flow, a job handed to a scheduler that
// goes by this issuer, its output, and the scheduler's page, in which the same account signs in with a browser.
func TestRealIssuer(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests only")
	}
	t.Parallel()
	m := newMember(t)
	m.scheduled()
	if code, said := m.login("--audience", "https://elsewhere.example.org"); code != 4 || !strings.Contains(said, "[login.audience]") {
		t.Errorf("a token for another audience than was asked for: %d\n%s", code, said)
	}
	m.grid(0, "auth", "login", "--logout")
	if code, said := m.login("--audience", m.page); code != 0 || !strings.Contains(said, "audience  "+m.page) {
		t.Fatalf("login: %d\n%s", code, said)
	}
	who := m.letIn()
	m.runs()
	if page := m.visit(m.page + "/"); page.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger sees the page: %s", page.Status)
	}
	if page := m.browse("GET", m.visit(m.page+"/login").Header.Get("Location")+"&g_continue", ""); !strings.Contains(page, who) {
		t.Errorf("the page does not tell %s who he is: %.2000s", who, page)
	}
	m.byLoginAlone(who)
}

// visit is what a browser is answered that has not followed yet where it is sent.
func (m *member) visit(at string) *http.Response {
	m.t.Helper()
	to := *m.browser
	to.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := to.Get(at)
	if err != nil {
		m.t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// letIn asks the scheduler who this is, until it has heard of its cluster.
func (m *member) letIn() (subject string) {
	m.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		h := m.grid(0, "ping", "--json", m.page)
		var got struct{ Endpoints []struct{ Identity string } }
		if err := json.Unmarshal([]byte(h.out), &got); err != nil || len(got.Endpoints) != 1 {
			m.t.Fatalf("%v: %d\n%s%s", err, h.code, h.out, h.errs)
		}
		who, subject, _ := strings.Cut(got.Endpoints[0].Identity, "#")
		if h.code == 0 && who == m.issuer && subject != "" {
			return subject
		}
		if time.Now().After(end) {
			m.t.Fatalf("%d\n%s%s", h.code, h.out, h.errs)
		}
	}
}

// runs hands a job in and gets its output.
func (m *member) runs() {
	m.t.Helper()
	m.keep("job.jdl", `Executable = "/bin/echo"; Arguments = "from an account"; StdOutput = "out.txt"; OutputSandbox = "out.txt";`)
	if h := m.grid(0, "submit", "--wait", "--via", m.page, "job.jdl"); h.code != 0 {
		m.t.Fatalf("%d\n%s%s", h.code, h.out, h.errs)
	}
	if h := m.grid(0, "output", "--all", "--dir", "got"); h.code != 0 {
		m.t.Fatalf("%d\n%s%s", h.code, h.out, h.errs)
	}
	found, _ := filepath.Glob(filepath.Join(m.dir, "got", "*", "out.txt"))
	if len(found) != 1 {
		m.t.Fatalf("%d outputs", len(found))
	}
	if text, err := os.ReadFile(found[0]); err != nil || string(text) != "from an account\n" {
		m.t.Errorf("%q, %v", text, err)
	}
}

// byLoginAlone: the token's file may be gone, or be for others: the login gives one for the scheduler. Without a login the
// scheduler is shown nothing, and the user is told why.
func (m *member) byLoginAlone(who string) {
	m.t.Helper()
	file := filepath.Join(m.dir, fmt.Sprintf("bt_u%d", os.Getuid()))
	if err := os.Remove(file); err != nil {
		m.t.Fatal(err)
	}
	h := m.grid(0, "ping", "-vv", m.page)
	if h.code != 0 || !strings.Contains(h.out, who) {
		m.t.Errorf("without a token's file: %d\n%s%s", h.code, h.out, h.errs)
	}
	for _, told := range []string{"POST " + m.issuer + "/token: 200", "GET " + m.page + "/v1/ping: 200"} {
		if !strings.Contains(h.errs, told) || strings.Contains(h.errs, "eyJ") {
			m.t.Errorf("of what it asks it does not tell %q, or a token: %s", told, h.errs)
		}
	}
	token, err := m.other()
	if err != nil {
		m.t.Fatal(err)
	}
	m.keep(filepath.Base(file), token)
	if h := m.grid(0, "budget", "--via", m.page); h.code != 0 || !strings.Contains(h.out, who) {
		m.t.Errorf("with a token for others: %d\n%s%s", h.code, h.out, h.errs)
	}
	m.grid(0, "auth", "login", "--logout")
	for _, args := range [][]string{{"ping", m.page}, {"budget", "--via", m.page}, {"submit", "--via", m.page, "job.jdl"}} {
		if h := m.grid(0, args...); h.code != 4 || !strings.Contains(h.out+h.errs, "no credential was shown") || !strings.Contains(h.out+h.errs, "[token.audience]") {
			m.t.Errorf("%s with a token for others and no login: %d\n%s%s", args[0], h.code, h.out, h.errs)
		}
	}
}

// other is a token for somebody else.
func (m *member) other() (string, error) {
	iss, err := testbed.OpenIssuer(m.t.TempDir(), m.issuer)
	if err != nil {
		return "", err
	}
	return iss.Token("alice", time.Hour, map[string]any{"aud": []string{"https://elsewhere.example.org"}})
}
