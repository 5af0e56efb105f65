package environment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ordinary is the user id that jobs of these tests have when the tests run as root.
const ordinary = 65534

// A node of a test: settings, cache and sandbox of an ordinary user, and definitions over an image with busybox.
type testNode struct {
	t       testing.TB
	dir     string
	sandbox string
	env     []string // more of the launcher's
}

func newNode(t testing.TB, definitions string) *testNode {
	t.Helper()
	return newNodeOf(t, definitions)
}

// newNodeOf makes a node whose image has more than busybox.
func newNodeOf(t testing.TB, definitions string, more ...entry) *testNode {
	t.Helper()
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Skip("no /bin/busybox: Debian package busybox-static")
	}
	n := &testNode{t: t, dir: t.TempDir()}
	for d := n.dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	entries := []entry{dir("bin"), {name: "bin/busybox", body: string(busybox), kind: '0', mode: 0o755}, dir("mnt"), dir("data")}
	for _, name := range strings.Fields("sh cat ls id sleep touch head dd ps kill grep wget env nproc mount unshare mkdir seq setsid true") {
		entries = append(entries, symlink("bin/"+name, "busybox"))
	}
	entries = append(entries, more...)
	layout := filepath.Join(n.dir, "layout")
	digest := layoutOf(t, layout, packedOnce, tarOf(t, entries...))
	n.mkdir("definitions", 0)
	n.sandbox = n.mkdir("sandbox", ordinary)
	n.mkdir("cache", ordinary)
	if definitions == "" {
		definitions = "launchers = [\"bwrap\"]"
	}
	n.write("definitions/x.toml", fmt.Sprintf("tag = \"VEE-X\"\nimage = \"oci:%s\"\ndigest = %q\n%s\n", layout, digest, definitions))
	settings, _ := json.Marshal(Node{
		Definitions: n.path("definitions"), Cache: n.path("cache"),
		Policy: Policy{Mounts: []string{n.dir}, WritableMounts: []string{n.path("sandbox")}, Devices: []string{"/dev/fuse"}, Network: true, Open: true},
	})
	n.write("node.json", string(settings))
	return n
}

func (n *testNode) path(name string) string { return filepath.Join(n.dir, name) }

func (n *testNode) mkdir(name string, uid int) string {
	if err := os.Mkdir(n.path(name), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		os.Chown(n.path(name), uid, uid)
	}
	return n.path(name)
}

func (n *testNode) write(name, text string) {
	if err := os.WriteFile(n.path(name), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func (n *testNode) read(name string) string {
	text, err := os.ReadFile(n.path(name))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// command is grid-launch for one job, as an ordinary user.
func (n *testNode) command(argv ...string) *exec.Cmd {
	args := append([]string{"run", "--node", n.path("node.json"), "--sandbox", n.sandbox, "--env", "GIVEN", "VEE-X", "--"}, argv...)
	cmd := exec.Command(launcherProgram, args...)
	cmd.Env = append(append(os.Environ(), "GIVEN=value of a job", "SECRET=not for jobs"), n.env...)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
	return cmd
}

// sh runs a script in the environment.
func (n *testNode) sh(script string) (out string, code int) {
	n.t.Helper()
	cmd := n.command("sh", "-c", script)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		n.t.Fatal(err)
	}
	return strings.TrimSpace(string(text)), cmd.ProcessState.ExitCode()
}

// need skips a test of a launcher whose program is not installed.
func need(t testing.TB, launcher string) {
	t.Helper()
	if launcher == "namespaces" {
		return
	}
	if _, err := lookProgram(launcher); err != nil {
		t.Skipf("no %s: Debian packages bubblewrap, crun, runc, podman, proot; apptainer of a newer Debian", launcher)
	}
}

// isolating are the launchers that isolate under the node's own kernel.
func isolating() []string { return append(DefaultLaunchers(), "podman", "apptainer") }

// eachIsolating runs a test with every launcher that isolates, side by side: it returns before they have run, so what
// they share is put away by t.Cleanup.
func eachIsolating(t *testing.T, more string, test func(t *testing.T, n *testNode)) {
	for _, name := range isolating() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need(t, name)
			test(t, newNode(t, fmt.Sprintf("launchers = [%q]\n%s", name, more)))
		})
	}
}

func TestJobSeesItsEnvironmentAndNothingElse(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "x")
	eachIsolating(t, `environment = { SITE = "here" }`, func(t *testing.T, n *testNode) {
		for _, tt := range sights(secret) {
			if got, code := n.sh(tt.script); got != tt.want || code != 0 {
				t.Errorf("%s: %q (exit code %d), want %q", tt.name, got, code, tt.want)
			}
		}
	})
}

// A sight is what a script prints in an environment.
type sight struct{ name, script, want string }

// sights are those of a job on a node that has a secret file, with the same variables under every launcher.
func sights(secret string) []sight {
	return []sight{
		{"working folder", "pwd", "/sandbox"},
		{"user", "id -un", "user"},
		{"variables", `echo "$GIVEN,$SECRET,$HOME,$SITE,$GRID_ENVIRONMENT"`, "value of a job,,/sandbox,here,VEE-X"},
		{"host name", "cat /proc/sys/kernel/hostname", "VEE-X"},
		{"no files of the node", "ls " + secret + " /home /var /root 2>/dev/null; echo done", "done"},
		{"tree is read-only", "touch /bin/x 2>/dev/null || echo no", "no"},
		{"sandbox is writable", "echo text > f && cat f", "text"},
		{"scratch is writable", "echo text > /tmp/f && cat /tmp/f; touch /dev/shm/x && echo y", "text\ny"},
		{"scratch is bounded", "cat /proc/mounts | grep -c 'size=1048576k'", "2"},
		{"own processes only", "set -- /proc/[0-9]*; echo $#", "2"},
		{"no network", "cat /proc/net/tcp | grep -v local_address; echo none", "none"},
		{"no capabilities", "grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000; echo none", "none"},
		{"no new privileges, seccomp", "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status", "NoNewPrivs:\t1\nSeccomp:\t2"},
		{"no keys", "cat /proc/keys 2>/dev/null; echo none", "none"},
		{"no new user namespaces", "unshare -U true 2>/dev/null || echo no", "no"},
		{"no mounts", "mount -t tmpfs x /mnt 2>/dev/null || echo no", "no"},
		{"no descriptors", "ls /proc/self/fd | grep -c .", "4"},
		{"no disks", "ls /dev | grep -E '^(sd|vd|mem|kmsg|fuse|kvm)'; echo none", "none"},
		{"nobody else's signals", "kill -0 -1 2>/dev/null; kill -9 1 2>/dev/null; echo alive", "alive"},
		{"loopback", "busybox nc -l -p 5000 -e echo hello & for i in $(seq 50); do busybox nc 127.0.0.1 5000 </dev/null 2>/dev/null && break; sleep 0.1; done", "hello"},
	}
}

func TestExitCodes(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		for script, want := range map[string]int{
			"exit 0": 0, "exit 3": 3, "exit 255": 255, "kill -9 $$": 137, "kill -15 $$": 143,
			"sleep 100 & exit 4": 4, // what stays behind does not hold the job
		} {
			if out, code := n.sh(script); code != want {
				t.Errorf("%s: %d (%s), want %d", script, code, out, want)
			}
		}
		cmd := n.command("/no/such/program")
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitNotStarted || !strings.Contains(string(out), "/no/such/program") {
			t.Errorf("missing program: %d, %s", cmd.ProcessState.ExitCode(), out)
		}
	})
}

// mark is a number of seconds that no other job sleeps for.
func (n *testNode) mark() string {
	return fmt.Sprintf("27%d.%d", os.Getpid(), crc32.ChecksumIEEE([]byte(n.dir)))
}

// processesWith counts this machine's processes whose arguments hold a mark.
func processesWith(mark string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(mark)) {
			n++
		}
	}
	return n
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: not within a minute", what)
}

func TestSignalsReachTheJob(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		cmd := n.command("sh", "-c", `trap 'echo asked; exit 5' TERM; touch ready; while :; do sleep 0.05; done`)
		var out bytes.Buffer
		cmd.Stdout = &out
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Setpgid = true
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "ready", func() bool { _, err := os.Stat(filepath.Join(n.sandbox, "ready")); return err == nil })
		// As batch systems do: every process of the job's group at once.
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != 5 || !strings.Contains(out.String(), "asked") {
			t.Errorf("exit code %d, output %q", cmd.ProcessState.ExitCode(), out.String())
		}
	})
}

// However the supervisor dies, nothing of the job stays: not what ignores SIGTERM, not what left its session.
func TestNothingIsLeft(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		mark := n.mark()
		cmd := n.command("sh", "-c", fmt.Sprintf(`trap '' TERM; for i in 1 2 3; do (trap '' TERM; sleep %s) & done; touch ready2; sleep %s`, mark, mark))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "four sleeping", func() bool { return processesWith("sleep\x00"+mark) == 4 })
		cmd.Process.Kill()
		cmd.Wait()
		waitFor(t, "all gone", func() bool { return processesWith("sleep\x00"+mark) == 0 })
	})
}

// Batch systems such as Slurm signal every process of a job: what belongs to the launcher lives on until the job, which was
// asked itself, has ended.
func TestSignalsToEveryProcess(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		cmd := n.command("sh", "-c", `trap 'sleep 1; exit 5' TERM; touch ready; while :; do sleep 0.05; done`)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "ready", func() bool { _, err := os.Stat(filepath.Join(n.sandbox, "ready")); return err == nil })
		for _, pid := range append(descendants(cmd.Process.Pid), cmd.Process.Pid) {
			syscall.Kill(pid, syscall.SIGTERM)
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 5 {
			t.Errorf("exit code %d", code)
		}
	})
}

// descendants are the processes that one has started, and theirs.
func descendants(pid int) (all []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for _, word := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			all = append(append(all, child), descendants(child)...)
		}
	}
	return all
}

// A launch leaves the tree as it was unpacked, and nothing in the node's folder of temporary files.
func TestLaunchesLeaveNothingOnDisk(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		n.env = append(n.env, "TMPDIR="+n.mkdir("tmp", ordinary))
		if out, code := n.sh("touch /new /etc/new /tmp/new 2>/dev/null; exit 3"); code != 3 {
			t.Errorf("exit code %d: %s", code, out)
		}
		cache := &Cache{Dir: n.path("cache")}
		list, err := cache.List()
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		if err := cache.Verify(list[0].Digest); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(n.path("tmp/*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// When a job's end is told, what it left behind is gone already.
func TestTheEndOfAJobIsTheEndOfAll(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		mark := n.mark()
		out, code := n.sh(fmt.Sprintf(`for i in 1 2 3; do (trap '' TERM; exec setsid sleep %s) >/dev/null 2>&1 & done; exit 4`, mark))
		if left := processesWith("sleep\x00" + mark); code != 4 || left != 0 {
			t.Errorf("exit code %d (%s), %d processes are left", code, out, left)
		}
	})
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct{ name, more, script, want string }{
		{"wall time", `wall_time = "1s"`, "sleep 30", "reached the wall time"},
		{"memory", `memory = "20 MB"`, "dd if=/dev/zero bs=60M count=1000 of=/dev/null 2>/dev/null; sleep 30", "had more memory"},
		{"file size", `file_size = "1 MB"`, "dd if=/dev/zero of=big bs=1M count=3 2>/dev/null || echo cut; ls -l big | grep -c 1000000", "1"},
		{"scratch", `scratch = "1 MB"`, "dd if=/dev/zero of=/tmp/big bs=1M count=3 2>&1 | grep -c 'No space'", "1"},
		{"processes", `processes = 5`, "for i in $(seq 20); do sleep 5 & done 2>&1 | grep -c fork", "1"},
		{"processes within the limit", `processes = 5`, "sleep 1 & sleep 1 & sleep 1 & wait; echo three", "three"},
		{"open files", `open_files = 20`, "cat /proc/self/limits | grep -c 'open files *20 *20'", "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachIsolating(t, "[limits]\n"+tt.more, func(t *testing.T, n *testNode) {
				if out, code := n.sh(tt.script); !strings.Contains(out, tt.want) {
					t.Errorf("%q (exit code %d), want %q", out, code, tt.want)
				}
			})
		})
	}
}

func TestMounts(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		n.mkdir("shared", 0)
		n.write("shared/f", "data of the site")
		n.write("definitions/x.toml", n.read("definitions/x.toml")+fmt.Sprintf("[[mounts]]\nsource = %q\ntarget = \"/data\"\n", n.path("shared")))
		if out, _ := n.sh("cat /data/f; touch /data/x 2>/dev/null || echo no"); out != "data of the siteno" {
			t.Errorf("%q", out)
		}
		// The folder becomes a link: what the site allowed is not what would be mounted.
		os.Rename(n.path("shared"), n.path("real"))
		os.Symlink("/etc", n.path("shared"))
		if out, code := n.sh("ls /data"); code < exitNotDeployed || !strings.Contains(out, "symbolic links") {
			t.Errorf("a link: %q, %d", out, code)
		}
	})
}

// A device that a definition names is there, as GPUs are; the others of the node are not.
func TestDevices(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse to stand for a device")
	}
	eachIsolating(t, `devices = ["/dev/fus*", "/dev/no-such-gpu*"]`, func(t *testing.T, n *testNode) {
		n.write("node.json", strings.Replace(n.read("node.json"), `"/dev/fuse"`, `"/dev/fus*","/dev/no-such-gpu*"`, 1))
		if out, code := n.sh("[ -c /dev/fuse ] && [ ! -e /dev/kmsg ] && echo there"); out != "there" || code != 0 {
			t.Errorf("%q, %d", out, code)
		}
	})
}

// What a launch was killed in the middle of is removed by a later one; another's that still runs stays.
func TestBundlesOfKilledLaunchesAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	held, err := newBundle()
	if err != nil {
		t.Fatal(err)
	}
	defer held.close()
	killed, err := newBundle()
	if err != nil {
		t.Fatal(err)
	}
	killed.lock.Close() // as the kernel does
	long := time.Now().Add(-time.Hour)
	for _, b := range []*bundle{held, killed} {
		os.Chtimes(b.dir, long, long)
	}
	next, err := newBundle()
	if err != nil {
		t.Fatal(err)
	}
	next.close()
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), bundleName+"*"))
	if len(left) != 1 || left[0] != held.dir {
		t.Errorf("left: %v, want %s alone", left, held.dir)
	}
}

// The folder that an OCI runtime reads is made where nobody else can put another in its place, as its settings name programs.
func TestBundlesWhereOthersExchange(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "scratch")
	if err := errors.Join(os.Mkdir(temp, 0o700), os.Chmod(temp, 0o777)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	b, err := newBundle()
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if strings.HasPrefix(b.dir, temp) {
		t.Error(b.dir)
	}
}

func TestProotOnlyWhereOpen(t *testing.T) {
	need(t, "proot")
	if out, code := newNode(t, `launchers = ["proot"]`).sh("true"); code != exitNotDeployed || !strings.Contains(out, "open = true") {
		t.Errorf("without open: %q, %d", out, code)
	}
	if out, code := newNode(t, "launchers = [\"proot\"]\nopen = true").sh("pwd; exit 6"); code != 6 || out != "/sandbox" {
		t.Errorf("with open: %q, %d", out, code)
	}
}

func TestPolicy(t *testing.T) {
	for _, tt := range []struct {
		d    Definition
		own  bool
		want string
	}{
		{Definition{Mounts: []Mount{{Source: "/home/x"}}}, true, "the mount of /home/x"},
		{Definition{Mounts: []Mount{{Source: "/cvmfs-evil"}}}, true, "the mount of /cvmfs-evil"},
		{Definition{Mounts: []Mount{{Source: "/cvmfs/sw"}}}, true, ""},
		{Definition{Mounts: []Mount{{Source: "/cvmfs/sw", Writable: true}}}, true, "the writable mount"},
		{Definition{Network: true}, true, "network"},
		{Definition{Devices: []string{"/dev/sda"}}, true, "the device /dev/sda"},
		{Definition{Devices: []string{"/dev/nvidia0"}}, true, ""},
		{Definition{Open: true}, true, "without isolation"},
		{Definition{}, false, "images of users"},
	} {
		p := Policy{Mounts: []string{"/cvmfs"}, Devices: []string{"/dev/nvidia*"}}
		err := p.Check(&tt.d, tt.own)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v, want %q", tt.d, err, tt.want)
		}
	}
	users := Policy{UserImages: true, Mounts: []string{"/cvmfs"}}
	if err := users.Check(&Definition{Mounts: []Mount{{Source: "/cvmfs/sw"}}}, false); err == nil {
		t.Error("a user's definition with a mount is allowed")
	}
}

func TestDefinitionErrors(t *testing.T) {
	good := "tag = \"VEE-X\"\nimage = \"oci:/srv/images\"\ndigest = \"sha256:" + strings.Repeat("a", 64) + "\"\n"
	if _, err := Parse("x.toml", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for more, want := range map[string]string{
		"colour = 1":                                    "x.toml:4:1: unknown key \"colour\"",
		"network = \"yes\"":                             "x.toml:4:",
		"[limits]\nmemory = \"a lot\"":                  "x.toml:5:",
		"[[mounts]]\nsource = \"../etc\"":               "x.toml:4:1: mounts: \"../etc\"",
		"[[mounts]]\nsource = \"/\"":                    "mounts: \"/\"",
		"[[mounts]]\nsource=\"/a\"\ntarget=\"/proc/x\"": "belongs to the launcher",
		"devices = [\"/etc/passwd\"]":                   "x.toml:4:1: devices",
		"devices = [\"/dev/*/x\"]":                      "devices",
		"launchers = [\"docker\"]":                      "x.toml:4:1: launchers: \"docker\"",
		"environment = { LD_PRELOAD = \"/x\" }":         "LD_PRELOAD is the loader's own",
	} {
		if _, err := Parse("x.toml", []byte(good+more)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", more, err, want)
		}
	}
	for _, bad := range []string{"", "1x", "a b", "--option", "a//b", "a/../b", "a/.b", "x;y", "x\n", strings.Repeat("a", 200)} {
		if CheckTag(bad) == nil {
			t.Errorf("tag %q is accepted", bad)
		}
	}
	for _, tag := range []string{"VEE-Debian11", "ENV/SINGULARITY", "VO-cms-x_86", "ROOT-6.32.02", "g++/x"} {
		if err := CheckTag(tag); err != nil {
			t.Error(err)
		}
	}
}

func FuzzDefinition(f *testing.F) {
	f.Add([]byte("tag = \"X\"\nimage = \"oci:/a\"\ndigest = \"sha256:00\"\n[[mounts]]\nsource = \"/a\""))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse("f", text)
		if err == nil && (CheckTag(d.Tag) != nil || slices.ContainsFunc(d.Mounts, func(m Mount) bool { return m.Target == "" })) {
			t.Errorf("%+v", d)
		}
	})
}

// BenchmarkLaunch is the time of a whole job that does nothing, in an environment that is cached, over the bare job:
// grid-launch, started as back-ends do, the launcher and the job. The launchers take turns, so that a node's other work
// falls on all of them alike.
func BenchmarkLaunch(b *testing.B) {
	commands := []func() *exec.Cmd{func() *exec.Cmd { return exec.Command("/bin/busybox", "true") }}
	names := []string{"bare"}
	for _, name := range isolating() {
		if _, err := lookProgram(name); err != nil && name != "namespaces" {
			continue
		}
		n := newNode(b, fmt.Sprintf("launchers = [%q]", name))
		n.sh("true")
		names = append(names, name)
		commands = append(commands, func() *exec.Cmd {
			cmd := n.command("/bin/true")
			cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
			return cmd
		})
	}
	took := make([][]time.Duration, len(names))
	for b.Loop() {
		for i, command := range commands {
			time.Sleep(20 * time.Millisecond) // the kernel takes the last one's network down beside us
			took[i] = append(took[i], timed(b, command()))
		}
	}
	var bare time.Duration
	for i, list := range took {
		slices.Sort(list)
		if i == 0 {
			bare = list[len(list)/2]
		}
		b.ReportMetric((list[len(list)/2]-bare).Seconds()*1e3, names[i]+"-ms-median-over-bare")
		b.ReportMetric((list[0]-took[0][0]).Seconds()*1e3, names[i]+"-ms-least-over-bare")
	}
	b.ReportMetric(bare.Seconds()*1e3, "bare-ms-median")
}

func timed(b *testing.B, cmd *exec.Cmd) time.Duration {
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// median reports the median and the least time of a command.
func median(b *testing.B, command func() *exec.Cmd) {
	var took []time.Duration
	for b.Loop() {
		took = append(took, timed(b, command()))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms-median")
	b.ReportMetric(took[0].Seconds()*1e3, "ms-least")
}
