package environment

import (
	"archive/tar"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// givenTo builds a program of testdata and lays it into a job's sandbox.
func givenTo(t *testing.T, name string) (put func(n *testNode)) {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", program, "./testdata/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return func(n *testNode) {
		n.write("sandbox/"+name, string(text))
		os.Chmod(n.path("sandbox/"+name), 0o755)
	}
}

// A job that hides its memory from process 1 keeps to its limit all the same.
func TestMemoryThatAJobHides(t *testing.T) {
	put := givenTo(t, "hog")
	eachIsolating(t, "[limits]\nmemory = \"20 MB\"", func(t *testing.T, n *testNode) {
		put(n)
		if out, _ := n.sh("./hog"); !strings.Contains(out, "had more memory") {
			t.Errorf("%q", out)
		}
	})
}

// What the launcher was started with, such as a folder of the node that somebody left open, is of no use to a job: not at
// its start as its program, nor later.
func TestDescriptorsThatWereLeftOpen(t *testing.T) {
	root, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		for fd := 6; fd < 20; fd++ {
			for _, argv := range [][]string{
				{fmt.Sprintf("/proc/self/fd/%d/bin/busybox", fd), "echo", "outside"},
				{"sh", "-c", fmt.Sprintf("ls /proc/self/fd/%d/etc/shadow /proc/1/fd/%[1]d/etc/shadow 2>/dev/null; true", fd)},
			} {
				cmd := n.command(argv...)
				for range 16 {
					cmd.ExtraFiles = append(cmd.ExtraFiles, root)
				}
				if out, _ := cmd.Output(); len(out) > 0 {
					t.Fatalf("%v: %s", argv, out)
				}
			}
			if fd == 8 {
				fd = 16 // some are the launchers' own
			}
		}
	})
}

// A job cannot change the launcher that it was started by, not even where its user could (CVE-2019-5736).
func TestLauncherCannotBeOverwritten(t *testing.T) {
	text, err := os.ReadFile(launcherProgram)
	if err != nil {
		t.Fatal(err)
	}
	script := `ln -s /proc/self/exe me; ./me which x & ./me >/dev/null 2>&1 &
		for i in $(seq 200); do
			for p in /proc/[0-9]*/exe /proc/self/fd/[0-9]* /proc/1/exe; do (echo evil >$p) 2>/dev/null; done
		done; cat /proc/1/cmdline | tr -d '\0'`
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		own := filepath.Join(n.mkdir("own", ordinary), "grid-launch")
		for _, name := range []string{"grid-launch", "grid-deploy"} {
			program, err := os.ReadFile(filepath.Join(filepath.Dir(launcherProgram), name))
			if err == nil {
				err = os.WriteFile(filepath.Join(n.path("own"), name), program, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() == 0 {
				os.Chown(filepath.Join(n.path("own"), name), ordinary, ordinary)
			}
		}
		cmd := n.command("sh", "-c", script)
		cmd.Path = own
		out, _ := cmd.CombinedOutput()
		if now, err := os.ReadFile(own); err != nil || string(now) != string(text) {
			t.Errorf("changed: %d bytes, %v", len(now), err)
		}
		if strings.Contains(string(out), n.dir) {
			t.Errorf("process 1 tells of the node's folders: %s", out)
		}
	})
}

// Links of the image in the place of what launchers mount lead nowhere.
func TestImagesWithLinksForPlaces(t *testing.T) {
	for _, place := range []string{"proc", "dev", "tmp", "etc"} {
		for _, target := range []string{"/sandbox", "../../.."} {
			for _, name := range isolating() {
				t.Run(fmt.Sprint(name, place, strings.ReplaceAll(target, "/", "_")), func(t *testing.T) {
					t.Parallel()
					need(t, name)
					n := newNodeOf(t, fmt.Sprintf("launchers = [%q]", name), symlink(place, target))
					n.sh("true")
					if left, _ := os.ReadDir(n.sandbox); len(left) > 0 {
						t.Errorf("in the sandbox: %v", left)
					}
					if out, code := n.sh("ls /home /root 2>/dev/null; cat /proc/net/dev | grep -c :"); code == 0 && out != "1" && place != "proc" {
						t.Errorf("%q", out)
					}
				})
			}
		}
	}
}

// paxTar is a layer whose entry "name" is said to be another one by records that stand before it.
func paxTar(t *testing.T, kind byte, records string) []byte {
	t.Helper()
	raw := tarOf(t, file("PaxHeaders/x", records), entry{name: "name", kind: kind, link: "safe", mode: 0o644})
	head := raw[:512]
	head[156] = tar.TypeXHeader
	copy(head[148:156], checksumOf(head))
	return raw
}

// checksumOf is what stands in a header for the sum of its bytes.
func checksumOf(head []byte) string {
	sum := 8 * int(' ')
	for i, b := range head {
		if i < 148 || i >= 156 {
			sum += int(b)
		}
	}
	return fmt.Sprintf("%06o\x00 ", sum)
}

func paxRecord(key, value string) string {
	n := len(key) + len(value) + 3
	for len(fmt.Sprint(n))+len(key)+len(value)+3 != n {
		n = len(fmt.Sprint(n)) + len(key) + len(value) + 3
	}
	return fmt.Sprintf("%d %s=%s\n", n, key, value)
}

// Records that change what an entry is called, leads to or measures count for the rules as its header does.
func TestHostileRecords(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, "precious")
	up := strings.Repeat("../", 12) + victim[1:]
	for _, tt := range []struct {
		name, why string
		raw       []byte
	}{
		{"path that climbs", "climbs", paxTar(t, tar.TypeReg, paxRecord("path", up))},
		{"absolute path", "is absolute", paxTar(t, tar.TypeReg, paxRecord("path", victim))},
		{"link that climbs", "climbs", paxTar(t, tar.TypeLink, paxRecord("linkpath", up))},
		{"absolute link", "is absolute", paxTar(t, tar.TypeLink, paxRecord("linkpath", victim))},
		{"exabytes", "", paxTar(t, tar.TypeReg, paxRecord("size", "9000000000000000000"))},
		{"less than nothing", "", paxTar(t, tar.TypeReg, paxRecord("size", "-1"))},
		{"sparse map", "", paxTar(t, tar.TypeReg, paxRecord("GNU.sparse.major", "1")+paxRecord("GNU.sparse.minor", "0")+paxRecord("GNU.sparse.realsize", "9000000000000000000"))},
		{"hard link to a whiteout", "no file of the image", tarOf(t, file(".wh.x", ""), hardlink("h", ".wh.x"))},
	} {
		tree, err := unpackLayers(t, DefaultBudget, tt.raw)
		if err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.why)
		}
		checkHarmless(t, tree)
	}
	for name, layer := range map[string][]entry{
		"folder, then link": {dir("d"), symlink("d", filepath.Dir(victim)), file("d/victim", "x")},
		"file, link, file":  {file("f", "1"), symlink("f", victim), file("f", "x")},
		"link, folder":      {symlink("d", filepath.Dir(victim)), dir("d"), file("d/victim", "x"), file("d/"+opaque, "")},
		"linked, then file": {symlink("l", victim), hardlink("h", "l"), file("l", "y"), file("h", "x")},
	} {
		if tree, err := unpackLayers(t, DefaultBudget, tarOf(t, layer...)); err == nil {
			checkHarmless(t, tree)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
			t.Errorf("%s: the victim is %q, %v", name, text, err)
		}
	}
}

// The number of files that a job may have open is what its starter had, not what Go's runtime makes of it for itself.
func TestOpenFilesAreTheStarters(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		inner := n.command("sh", "-c", "ulimit -Sn")
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -Sn 300; ulimit -Hn 4096; "$@"; exit $?`, "sh"}, inner.Args...)...)
		cmd.Env, cmd.SysProcAttr = inner.Env, inner.SysProcAttr
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "300" {
			t.Errorf("%s, %v", out, err)
		}
	})
}

// Input pushed into a terminal would be read by the shell that started the launcher.
func TestTerminalOfTheStarter(t *testing.T) {
	put := givenTo(t, "calls")
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		put(n)
		cmd := n.command("/sandbox/calls")
		cmd.Stdin = terminal
		if out, err := cmd.Output(); err != nil || string(out) != "tried\n" {
			t.Errorf("%s, %v", out, err)
		}
	})
}

// Devices as drivers of GPUs make them, some in folders of their own and some that the user may not open: those that the
// definition names are there, work as they do on the node, and no others are.
func TestDevicesInFolders(t *testing.T) {
	dir := fmt.Sprintf("/dev/grid-test-%d", os.Getpid())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("takes root: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, mode := range map[string]uint32{"card0": 0o666, "card1": 0o600, "other": 0o666} {
		if err := unix.Mknod(filepath.Join(dir, name), unix.S_IFCHR|mode, int(unix.Mkdev(1, 5))); err != nil { // as /dev/zero
			t.Skip("takes device nodes: ", err)
		}
		os.Chmod(filepath.Join(dir, name), os.FileMode(mode))
	}
	eachIsolating(t, fmt.Sprintf("devices = [%q]", dir+"/card*"), func(t *testing.T, n *testNode) {
		n.write("node.json", strings.Replace(n.read("node.json"), `"/dev/fuse"`, fmt.Sprintf("%q", dir+"/card*"), 1))
		script := fmt.Sprintf("ls %[1]s; dd if=%[1]s/card0 bs=7 count=1 2>/dev/null | wc -c; cat %[1]s/card1 2>/dev/null || echo closed", dir)
		if out, code := n.sh(strings.Replace(script, "wc", "busybox wc", 1)); out != "card0\ncard1\n7\nclosed" || code != 0 {
			t.Errorf("%q, %d", out, code)
		}
	})
}

// Which GPUs are the job's a batch system says by variables, whatever the job's own are called; the job's own word counts first.
func TestVariablesOfAllottedGPUs(t *testing.T) {
	n := newNode(t, `launchers = ["namespaces"]`)
	cmd := n.command("sh", "-c", "echo $CUDA_VISIBLE_DEVICES,$ROCR_VISIBLE_DEVICES,$ZE_AFFINITY_MASK,$OTHER")
	cmd.Args = append([]string{cmd.Args[0], "run", "--env-prefix", "GIVEN_"}, cmd.Args[2:]...)
	cmd.Env = append(cmd.Env, "CUDA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=2,3", "ZE_AFFINITY_MASK=4", "GIVEN_ZE_AFFINITY_MASK=5", "OTHER=x")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "1,2,3,5,\n" {
		t.Errorf("%q, %v", out, err)
	}
}
