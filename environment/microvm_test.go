package environment

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gridbroker/testdata/testbed"
)

// kernelEntries are the files of a kernel that an image needs for a machine: from the folder GRID_KERNEL_TREE, else the
// testbed's, where a package linux-image of Debian was unpacked and depmod(8) run.
func kernelEntries(t testing.TB) []entry {
	t.Helper()
	from := cmp.Or(os.Getenv("GRID_KERNEL_TREE"), filepath.Join(testbed.Dir(), "environment", "kernel"))
	if _, err := os.Stat(filepath.Join(from, "boot")); err != nil {
		t.Skip("no kernel to boot, neither in GRID_KERNEL_TREE nor in the testbed")
	}
	for _, program := range []string{"qemu-system-x86_64", "mksquashfs"} {
		if _, err := lookProgram(program); err != nil {
			t.Skipf("no %s: Debian packages qemu-system-x86, squashfs-tools", program)
		}
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	kernel, version, err := (&System{}).kernel(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := modules(root, version)
	if err != nil {
		t.Fatal(err)
	}
	base := "lib/modules/" + version
	var list []entry
	seen := map[string]bool{}
	for _, name := range append([]string{kernel, base + "/modules.dep", base + "/modules.builtin"}, files...) {
		for i := range name {
			if name[i] == '/' && !seen[name[:i]] {
				seen[name[:i]] = true
				list = append(list, dir(name[:i]))
			}
		}
		text, err := root.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{name: name, body: string(text), kind: '0', mode: 0o644})
	}
	return list
}

// manyMachines is for tests that boot one machine after another, each of which takes half a minute where all processors are
// busy with other tests.
func manyMachines(t *testing.T) {
	if os.Getenv("GRID_LONG") == "" && os.Getenv("GRID_KERNEL_TREE") == "" {
		t.Skip("takes minutes on a busy machine: set GRID_LONG=1")
	}
}

func newMachine(t testing.TB, more string) *testNode {
	t.Helper()
	n := newNodeOf(t, more, kernelEntries(t)...)
	n.env = []string{"TMPDIR=" + n.mkdir("tmp", ordinary)} // of the bundles
	return n
}

func TestMachine(t *testing.T) {
	t.Parallel()
	n := newMachine(t, "environment = { SITE = \"here\" }\n[system]\nmemory = \"256 MiB\"\n[limits]\nscratch = \"1 MB\"")
	n.write("sandbox/input", "given")
	n.write("sandbox/gone", "x")
	n.write("sandbox/.wh.kept", "x")
	os.Chown(n.path("sandbox/input"), ordinary, ordinary)
	stdout, err := os.Create(n.path("sandbox/stdout")) // as batch systems have it, in the sandbox itself
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	cmd := n.command("sh", "-c", `
echo "kernel $(cat /proc/sys/kernel/osrelease)"; pwd; id -un; echo "$GIVEN,$SECRET,$HOME,$SITE,$GRID_ENVIRONMENT"
cat input; echo; cat; touch /bin/x 2>/dev/null || echo read-only
grep -E 'NoNewPrivs|Seccomp:' /proc/self/status; ls /dev | grep -E '^(vd|vport|mem|kmsg)'; cat /proc/net/dev | grep -vE 'lo:|\|'
dd if=/dev/zero of=/tmp/big bs=1M count=3 2>&1 | grep 'No space'
mkdir d; echo made > d/out; dd if=/dev/zero of=d/large bs=1M count=5 2>/dev/null; kill -0 1 2>/dev/null || echo apart; echo words >&2; rm gone; exit 6`)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("typed\n"), stdout, &errs
	cmd.Run()
	text := n.read("sandbox/stdout")
	if cmd.ProcessState.ExitCode() != 6 || errs.String() != "words\n" {
		t.Errorf("exit code %d, standard error %q", cmd.ProcessState.ExitCode(), errs.String())
	}
	for _, want := range []string{
		"/sandbox\nuser\nvalue of a job,,/sandbox,here,VEE-X\ngiven\ntyped\nread-only\n", "NoNewPrivs:\t1\nSeccomp:\t2\ndd: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("output %q has no %q", text, want)
		}
	}
	own, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	if first, _, _ := strings.Cut(text, "\n"); first == "kernel "+strings.TrimSpace(string(own)) || !strings.HasPrefix(first, "kernel ") {
		t.Errorf("%q is the node's", first)
	}
	large, err := os.Stat(n.path("sandbox/d/large"))
	if n.read("sandbox/d/out") != "made\n" || err != nil || large.Size() != 5<<20 {
		t.Errorf("what the job wrote did not come back: %v", err)
	}
	if _, err := os.Stat(n.path("sandbox/gone")); err == nil {
		t.Error("what the job removed is there")
	}
	if n.read("sandbox/.wh.kept") != "x" {
		t.Error("a file was taken for a whiteout")
	}
}

// A job in a machine sees what it sees under every launcher; all in one machine, since each takes its time.
func TestMachineShowsWhatOtherLaunchersShow(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "x")
	n := newMachine(t, "environment = { SITE = \"here\" }\n[system]")
	var script strings.Builder
	for _, s := range sights(secret) {
		fmt.Fprintf(&script, "%s\necho ==\n", s.script)
	}
	out, code := n.sh(script.String())
	got := strings.Split(out, "==")
	if code != 0 || len(got) != len(sights(secret))+1 {
		t.Fatalf("%q, %d", out, code)
	}
	for i, s := range sights(secret) {
		if strings.TrimSpace(got[i]) != s.want {
			t.Errorf("%s: %q, want %q", s.name, got[i], s.want)
		}
	}
}

func TestMachineLimits(t *testing.T) {
	t.Parallel()
	manyMachines(t)
	n := newMachine(t, "[system]\nmemory = \"200 MiB\"\nprocessors = 2\n[limits]\nmemory = \"20 MB\"\nfile_size = \"1 MB\"\nopen_files = 20\nprocesses = 5")
	out, code := n.sh(`nproc; dd if=/dev/zero of=big bs=1M count=3 2>/dev/null || ls -l big | grep -c 1000000
cat /proc/self/limits | grep -c 'open files *20 *20'; (for i in $(seq 20); do sleep 5 & done) 2>&1 | grep -c fork
read a b c < /proc/meminfo; [ $b -lt 204800 ] && echo small
dd if=/dev/zero bs=60M count=1000 of=/dev/null 2>/dev/null; sleep 30`)
	if !strings.HasPrefix(out, "2\n1\n1\n1\nsmall\n") || !strings.Contains(out, "had more memory") {
		t.Errorf("%q, %d", out, code)
	}
	n.write("sandbox/large", strings.Repeat("x", 150<<20))
	if out, code := n.sh("true"); code != exitNotDeployed || !strings.Contains(out, "the sandbox does not fit") {
		t.Errorf("a sandbox larger than the machine: %q, %d", out, code)
	}
}

func TestMachineEnds(t *testing.T) {
	t.Parallel()
	manyMachines(t)
	n := newMachine(t, "[system]\n[limits]\nwall_time = \"5m\"")
	for script, want := range map[string]int{"kill -9 $$": 137, "sleep 100 & exit 0": 0} {
		if out, code := n.sh(script); code != want {
			t.Errorf("%s: %d (%s), want %d", script, code, out, want)
		}
	}
	if out, err := n.command("/no/such/program").CombinedOutput(); err == nil || !strings.Contains(string(out), "/no/such/program") {
		t.Errorf("missing program: %v, %s", err, out)
	}
	begin := func(script string) *exec.Cmd {
		cmd := n.command("sh", "-c", script)
		out, err := os.Create(n.path("out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Setpgid = true
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "machine up", func() bool { return strings.Contains(n.read("out"), "ready") })
		return cmd
	}
	asked := begin(`trap 'echo asked; echo late > f; exit 5' TERM; echo ready; while :; do sleep 0.05; done`)
	for _, pid := range machinesOf(n.dir) { // as Slurm does: every process of the job
		syscall.Kill(pid, syscall.SIGTERM)
	}
	syscall.Kill(-asked.Process.Pid, syscall.SIGTERM)
	asked.Wait()
	if asked.ProcessState.ExitCode() != 5 || !strings.Contains(n.read("out"), "asked") || n.read("sandbox/f") != "late\n" {
		t.Errorf("exit code %d, output %q", asked.ProcessState.ExitCode(), n.read("out"))
	}
	killed := begin("echo ready; sleep 100")
	if len(machinesOf(n.dir)) == 0 {
		t.Fatal("the machine is not found")
	}
	killed.Process.Kill()
	killed.Wait()
	waitFor(t, "machine gone", func() bool { return len(machinesOf(n.dir)) == 0 })
}

// machinesOf are the QEMU processes whose bundles lie below a folder.
func machinesOf(dir string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, f := range files {
		var pid int
		fmt.Sscanf(f, "/proc/%d", &pid)
		if at, err := os.Readlink(f); err == nil && strings.HasPrefix(at, filepath.Join(dir, "tmp", bundleName)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// The wall time of a job that ignores SIGTERM ends it, and what it wrote comes back.
func TestMachineOutOfTime(t *testing.T) {
	t.Parallel()
	manyMachines(t)
	n := newMachine(t, "[system]\n[limits]\nwall_time = \"30s\"")
	if out, code := n.sh("echo before > f; sleep 100"); !strings.Contains(out, "reached the wall time") || code == 0 || n.read("sandbox/f") != "before\n" {
		t.Errorf("%q, %d", out, code)
	}
}

func TestMachineWithoutAKernelSaysSo(t *testing.T) {
	n := newNode(t, "[system]")
	out, code := n.sh("true")
	missing := "the image has 0 kernels /boot/vmlinuz-*"
	for _, program := range []string{"mksquashfs", "qemu-system-x86_64"} {
		if _, err := lookProgram(program); err != nil {
			missing = program
		}
	}
	if code != exitNotDeployed || !strings.Contains(out, "microvm: ") || !strings.Contains(out, missing) {
		t.Errorf("%q, %d", out, code)
	}
}

func TestSystemErrors(t *testing.T) {
	good := "tag = \"VEE-X\"\nimage = \"oci:/srv/images\"\ndigest = \"sha256:" + strings.Repeat("a", 64) + "\"\n"
	for more, want := range map[string]string{
		"launchers = [\"microvm\"]":                      "x.toml:4:1: launchers: microvm is for definitions with a [system]",
		"launchers = [\"bwrap\"]\n[system]":              "launched by microvm alone",
		"network = true\n[system]":                       "x.toml:5:1: system: a machine of its own has no",
		"[system]\nmemory = \"1 MB\"":                    "memory is not from",
		"[system]\nprocessors = 1000":                    "processors are not from",
		"[system]\nkernel = \"/boot/../etc/shadow\"":     "is not /boot/vmlinuz-VERSION",
		"[system]\nkernel = \"/boot/vmlinuz-1/../../x\"": "is not /boot/vmlinuz-VERSION",
		"[system]\nacceleration = \"kvm\"":               "unknown key",
	} {
		if _, err := Parse("x.toml", []byte(good+more)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", more, err, want)
		}
	}
	if err := (&Policy{UserImages: true}).Check(&Definition{System: &System{}}, false); err == nil {
		t.Error("a user's definition with a system is allowed")
	}
}

// What a hostile machine sends back stays in the sandbox.
func TestMachineCannotWriteOutsideItsSandbox(t *testing.T) {
	for name, entries := range map[string][]entry{
		"climbs":   {{name: "../escaped", body: "x", kind: '0', mode: 0o644}},
		"absolute": {{name: "/tmp/grid-escaped", body: "x", kind: '0', mode: 0o644}},
		"by link":  {symlink("l", "../"), {name: "l/escaped", body: "x", kind: '0', mode: 0o644}},
		"too much": {{name: "big", body: strings.Repeat("x", 5000), kind: '0', mode: 0o644}},
	} {
		dir := t.TempDir()
		sandbox := filepath.Join(dir, "sandbox")
		if err := os.Mkdir(sandbox, 0o755); err != nil {
			t.Fatal(err)
		}
		err := unpackSandbox(sandbox, 4096, bytes.NewReader(tarOf(t, entries...)))
		if _, there := os.Stat(filepath.Join(dir, "escaped")); there == nil {
			t.Errorf("%s: it is outside", name)
		}
		if err == nil && name != "by link" {
			t.Errorf("%s is not refused", name)
		}
	}
	dir := t.TempDir()
	k := newTaker(dir, 1)
	for _, list := range []string{`["../x"]`, `["/etc/x"]`, `["."]`, `{}`} {
		if k.remove([]byte(list)) == nil {
			t.Errorf("%s is not refused", list)
		}
	}
	if err := k.close(); err != nil {
		t.Error(err)
	}
	if _, _, err := readFrame(strings.NewReader("o\xff\xff\xff\xff")); err == nil {
		t.Error("a frame of 4 GB is not refused")
	}
}

// BenchmarkMachine is the time of a whole job that does nothing in a machine of its own, with an emulated processor.
func BenchmarkMachine(b *testing.B) {
	n := newMachine(b, "[system]")
	n.sh("true")
	median(b, func() *exec.Cmd { return n.command("/bin/true") })
}
