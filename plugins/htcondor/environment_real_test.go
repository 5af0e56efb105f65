package htcondor_test

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// poolUser is the user of the testbed's pool, see testdata/testbed/condor.
const poolUser = 5017

// environmentNode is what an administrator of the pool installs: our launcher, the node's settings, a definition of the
// tag that the pool publishes. The pool's servers run in a chroot, where the kernel makes no user namespaces: the
// launchers that need them fail there one by one, and proot, which isolates nothing, is let by open = true.
func environmentNode(t *testing.T, root, at string) (query string) {
	t.Helper()
	dir := root + at
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Skip("no /bin/busybox: Debian package busybox-static")
	}
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "gridbroker/cmd/grid-launch", "gridbroker/cmd/grid-deploy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	put("tree/bin/busybox", string(busybox))
	put("tree/etc/os-release", "VERSION_ID=\"inside\"\n")
	os.Symlink("busybox", filepath.Join(dir, "tree/bin/sh"))
	archive := filepath.Join(dir, "tree.tar")
	if out, err := exec.Command("tar", "-C", filepath.Join(dir, "tree"), "-cf", archive, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(archive, 0o644)
	put("definitions/VEE-Debian13.toml", fmt.Sprintf("tag = \"VEE-Debian13\"\nimage = \"tree:%s\"\ndigest = \"sha256:%x\"\nopen = true\nlaunchers = [\"bwrap\", \"namespaces\", \"proot\"]\n",
		at+"/tree.tar", sha256.Sum256(text)))
	put("node.json", fmt.Sprintf(`{"definitions":%q,"cache":%q,"policy":{"Open":true}}`, at+"/definitions", at+"/cache"))
	if err := os.Mkdir(filepath.Join(dir, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	os.Chown(filepath.Join(dir, "cache"), poolUser, poolUser)
	return fmt.Sprintf("?launcher=%s/grid-launch&node=%s/node.json", at, at)
}

// A job that asks for an environment of the pool runs in it on the slot, by our launcher; a node that cannot make it
// fails as the site's fault, and a program that is not in it as the job's.
func TestRealEnvironment(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	if _, err := os.Stat(filepath.Join(p.env["GRID_CONDOR_TREE"], "usr/bin/proot")); err != nil {
		t.Skip("no proot in the pool: its installation is older than this test")
	}
	dir, err := os.MkdirTemp(filepath.Join(p.env["GRID_CONDOR_TREE"], "opt"), "grid-") // jobs do not see the node's /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	query := environmentNode(t, p.env["GRID_CONDOR_TREE"], strings.TrimPrefix(dir, p.env["GRID_CONDOR_TREE"]))
	inside, missing := sh(`. /etc/os-release; echo $VERSION_ID $GRID_ENVIRONMENT; exit 7`), sh("true")
	missing.Executable = "/bin/not-there"
	inside.Demand.RuntimeEnvironments = []string{"VEE-Debian13"}
	missing.Demand.RuntimeEnvironments = inside.Demand.RuntimeEnvironments
	at, err := url.Parse(p.urls["ssh"] + query)
	if err != nil {
		t.Fatal(err)
	}
	source, err := p.Source(at)
	if err == nil {
		_, err = source.Resources(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	hs, sts := p.run(t, p.urls["ssh"]+query, inside, missing)
	if sts[0].State != plugins.Done || sts[0].ExitCode != glue.Some(7) {
		t.Errorf("inside: %+v", sts[0])
	}
	if sts[1].State != plugins.Failed || sts[1].Fault != plugins.JobsFault || !strings.Contains(sts[1].Reason, "does not have the program") {
		t.Errorf("a program that is not there: %+v", sts[1])
	}
	got := t.TempDir()
	if r := p.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: got}}, nil)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	if text, _ := os.ReadFile(filepath.Join(got, "out")); string(text) != "inside VEE-Debian13\n" {
		said, _ := os.ReadFile(filepath.Join(got, "err"))
		t.Errorf("%q, %s", text, said)
	}
	if err := os.Remove(filepath.Join(dir, "tree.tar")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "cache", "trees")); err != nil {
		t.Fatal(err)
	}
	_, sts = p.run(t, p.urls["ssh"]+query, inside)
	if sts[0].State != plugins.Failed || sts[0].Fault == plugins.JobsFault {
		t.Errorf("a node without the image: %+v", sts[0])
	}
}
