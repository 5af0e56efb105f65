package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// newTokenUser is somebody without a certificate, who trusts an issuer with
// the device flow. Its tokens are signed as those of the issuer that the CEs
// are configured to accept.
func newTokenUser(t *testing.T, bed *testbed.ARC) (*patient, *testbed.DeviceIssuer) {
	d := testbed.StartDeviceIssuer(t, bed.Issuer)
	u := &patient{user: newUser(t, bed)}
	delete(u.env, "X509_USER_PROXY")
	u.env["X509_CERT_DIR"], u.env["XDG_RUNTIME_DIR"] = filepath.Join(u.dir, "certificates"), filepath.Join(u.dir, "run")
	if err := os.CopyFS(u.env["X509_CERT_DIR"], os.DirFS(bed.CADir)); err != nil {
		t.Fatal(err)
	}
	cert, err := os.ReadFile(d.CACert)
	if err != nil {
		t.Fatal(err)
	}
	testbed.WriteFile(t, filepath.Join(u.env["X509_CERT_DIR"], "issuer.pem"), cert, 0o644)
	if err := os.Mkdir(u.env["XDG_RUNTIME_DIR"], 0o700); err != nil {
		t.Fatal(err)
	}
	return u, d
}

func (u *patient) tokenFile() string {
	return filepath.Join(u.env["XDG_RUNTIME_DIR"], fmt.Sprintf("bt_u%d", os.Getuid()))
}

// From the login to the output of a job, at CEs of both versions, with nothing
// but a token of the device flow.
func TestLoginToOutput(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, ce := range []string{bed.REST10[2], bed.REST11[0]} {
		t.Run(strings.TrimPrefix(ce, "https://"), func(t *testing.T) {
			t.Parallel()
			u, d := newTokenUser(t, bed)
			d.Polls = 1
			aud := credential.AudienceOf(ce)
			out, errs := u.grid(0, "auth", "login", "--issuer", d.URL, "--audience", aud)
			if !strings.Contains(errs, "ABCD-EFGH") || !strings.Contains(out, aud) || !strings.Contains(out, "compute.create") {
				t.Errorf("login says\n%s%s", out, errs)
			}
			if info, err := os.Stat(u.tokenFile()); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("token file: %v, %v", info, err)
			}
			u.write("in.txt", "from a token\n")
			job := u.write("job.jdl", `Executable = "/bin/cat"; Arguments = "in.txt"; InputSandbox = "in.txt"; StdOutput = "out.txt"; OutputSandbox = "out.txt";`)
			u.grid(0, "submit", "--wait", "--no-cache", "--info", ce, job)
			u.insist("output", "--all", "--dir", "got")
			for _, j := range u.jobs() {
				if text, err := os.ReadFile(filepath.Join(j.Output, "out.txt")); err != nil || string(text) != "from a token\n" {
					t.Errorf("output %q, %v", text, err)
				}
			}
			u.insist("clean", "--all")
			u.noBrowserTwice(d, aud)
		})
	}
}

// noBrowserTwice logs in again: the stored login serves, also when the token
// has expired, and for other audiences; --logout forgets it.
func (u *patient) noBrowserTwice(d *testbed.DeviceIssuer, aud string) {
	u.t.Helper()
	before := d.Flows()
	first, err := os.ReadFile(u.tokenFile())
	if err != nil {
		u.t.Fatal(err)
	}
	u.grid(0, "auth", "login", "--audience", aud)
	u.grid(0, "auth", "login", "--audience", "https://other.example.org", "--scope", "compute.read", "-o", filepath.Join(u.dir, "narrow"))
	narrow, _ := u.grid(0, "auth", "status", "--token-file", filepath.Join(u.dir, "narrow"))
	if !strings.Contains(narrow, "https://other.example.org") || strings.Contains(narrow, "compute.create") {
		u.t.Errorf("a narrower token:\n%s", narrow)
	}
	again, err := os.ReadFile(u.tokenFile())
	if err != nil || string(again) == string(first) || d.Flows() != before {
		u.t.Errorf("a new token without the browser: %v, %d device flows", err, d.Flows())
	}
	u.grid(0, "auth", "login", "--logout")
	if code, text := u.says("auth", "login"); code != 2 || !strings.Contains(text, "0 logins") {
		u.t.Errorf("after --logout: %d %s", code, text)
	}
}

// A CE that takes only tokens with one scope (ARC 7.0.0 with tokenscopes) lets
// in a token that the stored login gives for just that.
func TestLoginWhereScopesCount(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	u, d := newTokenUser(t, bed)
	ce := bed.REST11[1]
	u.grid(0, "auth", "login", "--issuer", d.URL)
	if err := os.Remove(u.tokenFile()); err != nil {
		t.Fatal(err)
	}
	u.env["BEARER_TOKEN_FILE"] = ""
	out, _ := u.grid(4, "auth", "doctor", ce) // 4: no credential at hand
	if !strings.Contains(out, "[endpoint.token-accepted]") || !strings.Contains(out, "[login.ok]") {
		t.Errorf("doctor says\n%s", out)
	}
	asked := d.Requests()
	if want := "refresh_token " + credential.AudienceOf(ce) + " compute.read"; asked[len(asked)-1] != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// The token in its file is renewed before it expires, for the same audience
// and scopes, and not while it lives long enough.
func TestWatchRenewsTokenFile(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for life, renewed := range map[time.Duration]bool{time.Minute: true, time.Hour: false} {
		u, d := newTokenUser(t, bed)
		d.SetLife(life)
		u.grid(0, "auth", "login", "--issuer", d.URL, "--audience", "https://ce.example.org", "--scope", "compute.read")
		d.SetLife(time.Hour)
		before, err := os.ReadFile(u.tokenFile())
		if err != nil {
			t.Fatal(err)
		}
		u.grid(0, "auth", "watch", "--every", "10m") // ends at once: there are no jobs
		after, err := os.ReadFile(u.tokenFile())
		if err != nil || (string(after) != string(before)) != renewed {
			t.Errorf("life %s: renewed %v, want %v (%v)", life, !renewed, renewed, err)
		}
		asked := d.Requests()
		if want := "refresh_token https://ce.example.org compute.read"; renewed && !strings.HasPrefix(asked[len(asked)-1], want) {
			t.Errorf("asked %q, want %q", asked, want)
		}
	}
}
