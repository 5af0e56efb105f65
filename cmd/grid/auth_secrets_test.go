package main_test

import (
	"bytes"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// secrets are the texts that may be in files of their own and nowhere else.
type secrets struct {
	u    *patient
	all  map[string]string // what it is -> the text
	home map[string]string // file that may hold it -> what it is
}

// token takes the signature: without it the rest is of no use.
func (s *secrets) token(what, file string) {
	s.u.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.u.t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSpace(string(text)), ".")
	if len(parts) != 3 {
		s.u.t.Fatalf("%s is no JWT", file)
	}
	s.all[what], s.home[file] = parts[2], what
}

// key takes a line out of the middle of the private key.
func (s *secrets) key(what, file string) {
	s.u.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.u.t.Fatal(err)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			lines := strings.Split(string(pem.EncodeToMemory(block)), "\n")
			s.all[what], s.home[file] = lines[len(lines)/2], what
			return
		}
	}
	s.u.t.Fatalf("no private key in %s", file)
}

// said looks through what a verb said.
func (s *secrets) said(args ...string) string {
	s.u.t.Helper()
	_, text := s.u.says(args...)
	for what, secret := range s.all {
		if strings.Contains(text, secret) {
			s.u.t.Errorf("grid %s shows the %s", strings.Join(args, " "), what)
		}
	}
	return text
}

// files looks through every file below the user's directory.
func (s *secrets) files() {
	s.u.t.Helper()
	seen := 0
	err := filepath.WalkDir(s.u.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for what, secret := range s.all {
			if !bytes.Contains(text, []byte(secret)) {
				continue
			}
			if seen++; s.home[path] != what {
				s.u.t.Errorf("%s holds the %s", path, what)
			}
			if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
				s.u.t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		return nil
	})
	if err != nil {
		s.u.t.Fatal(err)
	}
	if seen < len(s.all) {
		s.u.t.Errorf("%d of %d secrets found where they belong: this test looks for the wrong texts", seen, len(s.all))
	}
}

// Verbs with secrets, as talkative as can be: no token, no private key, no
// refresh token, no passphrase in what they say or leave behind, but in the
// files that are there for it.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, by := range []string{"token", "proxy"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			u, d := newTokenUser(t, bed)
			s := &secrets{u, map[string]string{}, map[string]string{}}
			u.grid(0, "auth", "login", "--issuer", d.URL)
			s.token("bearer token", u.tokenFile())
			s.all["refresh token"] = d.RefreshToken()
			logins, err := filepath.Glob(filepath.Join(u.env["GRID_STATE_DIR"], "logins", "*"))
			if err != nil || len(logins) != 1 {
				t.Fatalf("logins %v, %v", logins, err)
			}
			s.home[logins[0]] = "refresh token"
			if by == "proxy" {
				u.env["X509_USER_PROXY"] = filepath.Join(u.dir, "proxy")
				u.env["X509_USER_CERT"], u.env["X509_USER_KEY"] = filepath.Join(bed.Users, "alice/usercert.pem"), filepath.Join(bed.Users, "alice/userkey.pem")
				u.grid(0, "auth", "proxy", "-vv")
				s.key("proxy's key", u.env["X509_USER_PROXY"])
			}
			ce := bed.REST11[0]
			job := u.write("job.jdl", `Executable = "/bin/true"; StdOutput = "o"; OutputSandbox = "o";`)
			for _, verb := range []string{"auth status", "auth status --json", "auth doctor " + ce, "auth doctor --json " + ce, "resources --no-cache --info " + ce, "ping " + ce,
				"match --no-cache --explain --info " + ce + " " + job, "submit --no-cache --json --info " + ce + " " + job, "submit --no-cache --info " + bed.REST11[1] + " " + job,
				"status --all", "list --json", "log --all", "auth renew", "auth watch --every 1s", "cancel --all", "clean --all"} {
				s.said(append(strings.Fields(verb), "-vv")...)
			}
			s.files()
		})
	}
}
