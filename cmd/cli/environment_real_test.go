package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// farm is sites of real servers that share one definition of Debian 11, and a user of theirs.
type farm struct {
	t   *testing.T
	dir string
	env []string
}

// A job that needs Debian 11, on nodes of another system: by its tag it finds its site, runs inside, and its output and
// exit code come back. Where the testbed has no tree made by debootstrap, one of busybox stands for it.
func TestEnvironmentsOnRealSites(t *testing.T) {
	t.Parallel()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("takes a minute, as root")
	}
	f := newFarm(t)
	t.Run("local", func(t *testing.T) {
		f.job(t, "VEE-Debian11", fmt.Sprintf("sources = [\"local:\"]\n[[local]]\nname = \"boxes\"\nenvironments = %q\n", f.path("node.json")))
	})
	for _, url := range []string{"slurm:%s/here", "slurm+ssh://gridlab%s/there"} {
		name, _, _ := strings.Cut(url, ":")
		t.Run(name, func(t *testing.T) {
			f.slurm(t)
			f.job(t, "VEE-Debian11", fmt.Sprintf("sources = [\""+url+"?launcher=%[1]s/grid-launch&node=%[1]s/node.json\"]\n", f.dir))
		})
	}
	t.Run("arex", func(t *testing.T) {
		tag := fmt.Sprintf("VEE-Debian11-%d", os.Getpid())
		f.arex(t, tag)
		f.job(t, tag, fmt.Sprintf("sources = [%q]\n", testbed.NeedARC(t).LDAP[0]))
	})
}

// newFarm copies the workshop's farm: its image and its unpacked tree by links.
func newFarm(t *testing.T) *farm {
	shop.farmed.Do(func() { shop.farmErr = shop.farm() })
	if errors.Is(shop.farmErr, errNoSystem) {
		t.Skip(shop.farmErr)
	}
	if shop.farmErr != nil {
		t.Fatal(shop.farmErr)
	}
	dir, err := os.MkdirTemp("/tmp", "grid-farm-") // nodes share it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	f := &farm{t: t, dir: dir}
	if err := f.lay(); err != nil {
		t.Fatal(err)
	}
	// Images are linked, and trees are not: another link changes their files (ctime), and one job in fifty looks at that, by whom they
	// would be taken out of use.
	if out, err := exec.Command("cp", "-al", shop.farmPath("definitions/images"), f.path("definitions")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(shop.farmPath("definitions/VEE-Debian11.toml"))
	if err != nil {
		t.Fatal(err)
	}
	f.write("definitions/VEE-Debian11.toml", strings.ReplaceAll(string(text), shop.farmPath(""), dir))
	f.grid("env", "run", "VEE-Debian11", "--node", f.path("node.json"), "--sandbox", f.path("home"), "--", "/bin/true") // root's cache serves every user
	f.write("job.sh", "#!/bin/sh\n. /etc/os-release\necho \"$VERSION_ID, $GRID_ENVIRONMENT, $PWD, $SETTING, $1\" >out\nexit 7\n")
	return f
}

// lay makes the folders of a farm without an environment.
func (f *farm) lay() error {
	for _, part := range []string{"home/.config/grid", "home/.ssh", "definitions", "cache"} {
		if err := os.MkdirAll(f.path(part), 0o755); err != nil {
			return err
		}
	}
	if err := programs(f.dir, "grid", "grid-launch", "grid-deploy"); err != nil {
		return err
	}
	f.env = append(os.Environ(), "HOME="+f.path("home"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=")
	settings, err := json.Marshal(map[string]string{"definitions": f.path("definitions"), "cache": f.path("cache")})
	if err != nil {
		return err
	}
	return os.WriteFile(f.path("node.json"), settings, 0o644)
}

// farmPath is a path of the farm that others are copies of.
func (w *workshop) farmPath(name string) string { return filepath.Join(w.dir, "farm", name) }

// farm makes the farm that others are copies of: packing and unpacking a system takes longer than their jobs.
func (w *workshop) farm() error {
	f := &farm{dir: w.farmPath("")}
	if err := f.lay(); err != nil {
		return err
	}
	tree := filepath.Join(testbed.Dir(), "environment", "debian11")
	if _, err := os.Stat(filepath.Join(tree, "etc", "debian_version")); err != nil {
		tree = f.path("tree")
		if err := smallTree(tree); err != nil {
			return err
		}
	}
	if _, err := f.try("env", "build", tree, "--tag", "VEE-Debian11", "--node", f.path("node.json")); err != nil {
		return err
	}
	_, err := f.try("env", "run", "VEE-Debian11", "--node", f.path("node.json"), "--sandbox", f.path("home"), "--", "/bin/true")
	return err
}

// errNoSystem is returned where there is nothing to make an environment of.
var errNoSystem = errors.New("neither Debian 11 of the testbed nor /bin/busybox: Debian package busybox-static")

// smallTree is enough of a system for the job.
func smallTree(tree string) error {
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return errNoSystem
	}
	for name, text := range map[string][]byte{"bin/busybox": busybox, "etc/os-release": []byte("VERSION_ID=\"11\"\n")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tree, name), text, 0o755); err != nil {
			return err
		}
	}
	return errors.Join(os.Symlink("busybox", filepath.Join(tree, "bin", "sh")), os.Symlink("busybox", filepath.Join(tree, "bin", "true")))
}

func (f *farm) path(name string) string { return filepath.Join(f.dir, name) }

func (f *farm) write(name, text string) {
	if err := os.WriteFile(f.path(name), []byte(text), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *farm) try(args ...string) (string, error) {
	cmd := exec.Command(f.path("grid"), args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = f.dir, f.env, &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("grid %s: %w\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out), err
}

func (f *farm) grid(args ...string) string {
	f.t.Helper()
	out, err := f.try(args...)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// job sends the job to the one site of a configuration and looks at what came back.
func (f *farm) job(t *testing.T, tag, config string) {
	f.write("home/.config/grid/grid.toml", config)
	f.write("job.jdl", fmt.Sprintf(`[ Executable = "job.sh"; Arguments = "'a b'"; InputSandbox = {"job.sh"}; StdError = "err"; OutputSandbox = {"out", "err"};
  Environment = {"SETTING=x y"}; Requirements = Member(%q, other.GlueHostApplicationSoftwareRunTimeEnvironment); ]`, tag))
	begin := time.Now()
	out, err := f.try("submit", "--wait", "--max-age", "1s", "--deadline", "60s", "job.jdl")
	if x, ok := errors.AsType[*exec.ExitError](err); !ok || x.ExitCode() != 1 {
		t.Fatalf("the job's code 7 is no success: %s, %v", out, err)
	}
	took := time.Since(begin)
	id, _, _ := strings.Cut(out, " ")
	if why := f.grid("why", id); !strings.Contains(strings.Join(strings.Fields(why), " "), "exit code was 7") {
		t.Errorf("grid why: %s", why)
	}
	got := t.TempDir()
	said, err := f.try("output", "--dir", got, id)
	files, _ := filepath.Glob(filepath.Join(got, "*", "out"))
	if err != nil || len(files) != 1 {
		errs, _ := filepath.Glob(filepath.Join(got, "*", "err"))
		for _, name := range errs {
			text, _ := os.ReadFile(name)
			said += string(text)
		}
		t.Fatalf("output: %v, %v: %s", files, err, said)
	}
	text, err := os.ReadFile(files[0])
	if want := "11, " + tag + ", /sandbox, x y, a b\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
	t.Logf("from the description to the end of the job: %v", took.Round(10*time.Millisecond))
}

// slurm gives the user what it takes to reach the testbed's cluster.
func (f *farm) slurm(t *testing.T) {
	bed := filepath.Join(testbed.Dir(), "slurm")
	config, err := os.ReadFile(filepath.Join(bed, "ssh", "config"))
	if _, upErr := os.Stat(filepath.Join(bed, "env")); err != nil || upErr != nil {
		t.Skip("no Slurm of the testbed")
	}
	f.write("home/.ssh/config", string(config))
	f.env = append(f.env, "SLURM_CONF="+filepath.Join(bed, "slurm.conf"), "SSH_AUTH_SOCK=")
}

// arex publishes the environment under another tag at the testbed's first CE, as its administrator would.
func (f *farm) arex(t *testing.T, tag string) {
	text, err := os.ReadFile(f.path("definitions/VEE-Debian11.toml"))
	if err != nil {
		t.Fatal(err)
	}
	f.write("definitions/"+tag+".toml", strings.Replace(string(text), "VEE-Debian11", tag, 1))
	f.grid("tags", "add", tag, "--store", "tags", "--node", "node.json")
	f.enable(t, tag, f.grid("tags", "publish", "rte", tag, "--store", "tags", "--node", "node.json", "--launcher", f.path("grid-launch")))
}

// enable gives the testbed's first CE the script of a tag, and waits until the user sees it published.
func (f *farm) enable(t *testing.T, tag, script string) {
	ce := testbed.NeedARC(t)
	for name, value := range testbed.Env(t, "arc") {
		if strings.HasPrefix(name, "X509_") {
			f.env = append(f.env, name+"="+value)
		}
	}
	root := filepath.Join(testbed.Dir(), "arc", "ce", "arex1")
	file := filepath.Join(root, "runtime", tag)
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	arcctl := func(verb string) {
		if out, err := exec.Command("arcctl", "-c", filepath.Join(root, "arc.conf"), "rte", verb, tag).CombinedOutput(); err != nil {
			t.Errorf("arcctl rte %s: %v %s", verb, err, out)
		}
	}
	t.Cleanup(func() { arcctl("disable"); os.Remove(file) })
	arcctl("enable")
	f.write("home/.config/grid/grid.toml", fmt.Sprintf("sources = [%q]\n", ce.LDAP[0]))
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(2 * time.Second) {
		out, err := f.try("resources", "--no-cache", "--deadline", "60s", "--where", fmt.Sprintf("member(%q, GlueHostApplicationSoftwareRunTimeEnvironment)", tag))
		if err == nil && strings.Contains(out, "arex1") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the CE does not publish %s: %s %v", tag, out, err)
		}
	}
}
