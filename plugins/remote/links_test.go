package remote

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"gridbroker/plugins"
)

// sftpServer is the one that comes with OpenSSH.
const sftpServer = "/usr/lib/openssh/sftp-server"

// TestLinksOutOfAJob: a job that leaves links to files elsewhere, which who brings its output may read and the job perhaps
// not, has none of them brought or shown, neither here nor over SSH; what it links within its own directory is.
func TestLinksOutOfAJob(t *testing.T) {
	for where, over := range map[string]bool{"here": false, "over SSH": true} {
		t.Run(where, func(t *testing.T) {
			if _, err := os.Stat(sftpServer); over && err != nil {
				t.Skip(err)
			}
			d := newSSHD(t)
			d.files = func(ch ssh.Channel) {
				cmd := exec.Command(sftpServer)
				cmd.Stdin, cmd.Stdout = ch, ch
				_ = cmd.Run()
				ch.Close()
			}
			c := counter{site: d.open(d.home())}
			if !over {
				c.site.Machine = here{}
			}
			if r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]; r.Err != nil {
				t.Fatal(r.Err)
			}
			job, secrets := filepath.Join(c.site.Base, "jobs", "a"), t.TempDir()
			for at, text := range map[string]string{filepath.Join(secrets, "key"): "secret", filepath.Join(job, "work/real"): "result", filepath.Join(job + "b/work/other"): "secret"} {
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range map[string]string{"absolute": filepath.Join(secrets, "key"), "other": "../../ab/work/other", "dir": secrets, "own": "real", "long": filepath.Join(job, "work/own")} {
				if err := os.Symlink(target, filepath.Join(job, "work", name)); err != nil {
					t.Fatal(err)
				}
			}
			large := filepath.Join(t.TempDir(), "large") // that of the jobs may be one itself, to a larger disk
			if err := os.Rename(filepath.Dir(job), large); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(large, filepath.Dir(job)); err != nil {
				t.Fatal(err)
			}
			of := func(plugins.Handle) (*Site, string, error) { return c.site, "a", nil }
			dir := t.TempDir()
			r := Fetch(t.Context(), []plugins.FetchRequest{{Dir: dir, Want: []string{"*"}}}, of, nil)[0]
			if want := []string{"long", "own", "real"}; !slices.Equal(r.Files, want) || r.Err == nil || !strings.Contains(r.Err.Error(), "leads out of the job's directory") {
				t.Errorf("%q, %v", r.Files, r.Err)
			}
			_ = filepath.WalkDir(dir, func(at string, e os.DirEntry, _ error) error {
				if text, _ := os.ReadFile(at); bytes.Contains(text, []byte("secret")) {
					t.Errorf("%s has it", at)
				}
				return nil
			})
			for name, want := range map[string]string{"work/absolute": "", "work/other": "", "work/dir/key": "", "work/own": "result"} {
				var out bytes.Buffer
				if _, err := c.site.Read(context.Background(), "a", name, 0, &out); out.String() != want || (err == nil) != (want != "") {
					t.Errorf("%s: %q, %v", name, out.String(), err)
				}
			}
		})
	}
}
