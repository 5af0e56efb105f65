package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"gridbroker/plugins"
)

// TestDeepOutput: directories in each other, deeper than is looked or than the system has names
// for, keep none of a job's other files back, neither here nor over SSH.
func TestDeepOutput(t *testing.T) {
	for where, over := range map[string]bool{"here": false, "over SSH": true} {
		t.Run(where, func(t *testing.T) {
			c, work := leaving(t, over)
			few, long := strings.Repeat("few/", plugins.Deepest+2), strings.Repeat("l"+strings.Repeat("o", 200)+"ng/", 22)
			for name, size := range map[string]int{"a": 1, few + "f": 2, long + "f": 2, "z": 1} {
				if err := work.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := work.WriteFile(name, make([]byte, size), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			of := func(plugins.Handle) (*Site, string, error) { return c.site, "a", nil }
			for _, want := range [][]string{{"*"}, {"a", "z"}} {
				r := Fetch(t.Context(), []plugins.FetchRequest{{Dir: t.TempDir(), Want: want}}, of, nil)[0]
				// The server of OpenSSH itself leaves out what has too long a name.
				told := r.Err != nil && strings.Contains(r.Err.Error(), "directories deep") && strings.Contains(r.Err.Error(), "1 more") != over
				if told != (want[0] == "*") || !slices.Equal(r.Files, []string{"a", "z"}) {
					t.Errorf("%q: brought %q, %v", want, r.Files, r.Err)
				}
			}
		})
	}
}

// leaving is a site with a job whose directory is to be filled.
func leaving(t *testing.T, over bool) (c counter, work *os.Root) {
	t.Helper()
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
	c = counter{site: d.open(d.home())}
	if !over {
		c.site.Machine = here{}
	}
	if r := Submit(t.Context(), c.requests("a"), c.check, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	dir := filepath.Join(c.site.Base, "jobs", "a", "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	work, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { work.Close() })
	return c, work
}
