package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/testdata/testbed"
)

// Jobs that try to get out, as an ordinary user: what they print is what they got.
func TestJobsThatTryToGetOut(t *testing.T) {
	_, port, err := net.SplitHostPort(testbed.Listen(t, func(c net.Conn) { fmt.Fprintln(c, "reached") }))
	if err != nil {
		t.Fatal(err)
	}
	abstract, err := net.Listen("unix", fmt.Sprintf("@grid-test-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { abstract.Close() })
	fetch := fmt.Sprintf("busybox nc -w 5 127.0.0.1 %s </dev/null 2>/dev/null || echo no", port)
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		for _, tt := range []struct{ name, script, want string }{
			{"memory of process 1", "dd if=/proc/1/mem of=/dev/null bs=1 count=1 2>/dev/null && echo read; echo tried", "tried"},
			{"variables of process 1", "cat /proc/1/environ 2>/dev/null; echo tried", "tried"},
			{"descriptors of process 1", "busybox readlink /proc/1/fd/0; cat /proc/1/fd/3 2>/dev/null; echo tried", "tried"},
			{"root of process 1", "ls /proc/1/root/ 2>/dev/null; echo tried", "tried"},
			{"climbing", "cd ../../../../..; ls etc/shadow home 2>/dev/null; pwd", "/"},
			{"a root of its own", "mkdir r && busybox chroot r /bin/sh 2>/dev/null || echo no", "no"},
			{"a device node", "busybox mknod disk b 8 0 2>/dev/null || echo no", "no"},
			{"kernel settings", "echo x 2>/dev/null >/proc/sys/kernel/core_pattern || echo no", "no"},
			{"kernel messages, sysrq", "(echo b >/proc/sysrq-trigger) 2>/dev/null; ls /sys 2>/dev/null; echo no", "no"},
			{"a terminal to push input to", "(: </dev/tty) 2>/dev/null || echo no", "no"},
			{"the node's servers", fetch, "no"},
			{"abstract sockets", "grep -c grid-test /proc/net/unix", "0"},
			{"networks of other threads", "for i in $(seq 1 40); do cat /proc/$i/net/unix /proc/1/task/$i/net/unix 2>/dev/null; done | grep -c grid-test", "0"},
			{"set-id programs", "grep -v -E 'nosuid|^devpts|^devtmpfs /dev/[a-z]+ ' /proc/mounts; echo none", "none"},
			{"devices of the image", "grep ' / ' /proc/mounts | grep -c nodev", "1"},
			{"higher limits", "ulimit -c unlimited 2>/dev/null || echo no", "no"},
			{"another user", "busybox su -c id 2>/dev/null; busybox setuidgid root id 2>/dev/null; id -u | grep -c '^0$'", "0"},
			{"loop, memory and disk devices", "ls /dev/loop* /dev/mem /dev/kvm /dev/fuse /dev/sd* 2>/dev/null; echo none", "none"},
		} {
			if got, _ := n.sh(tt.script); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
	})
	eachIsolating(t, "network = true", func(t *testing.T, n *testNode) {
		if got, _ := n.sh(fetch); got != "reached" {
			t.Errorf("with network: %q", got)
		}
	})
}

// Every system call that leads out, or deep into the kernel, is refused to a job.
func TestCallsOfAJobAreRefused(t *testing.T) {
	program := filepath.Join(t.TempDir(), "calls")
	build := exec.Command("go", "build", "-o", program, "./testdata/calls")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		n.write("sandbox/calls", string(text))
		os.Chmod(n.path("sandbox/calls"), 0o755)
		if got, code := n.sh("./calls"); got != "tried" || code != 0 {
			t.Errorf("not refused (exit code %d):\n%s", code, got)
		}
	})
}

// What an image says about how it is to be run is its author's wish, not the site's: none of it works.
func TestImageConfigurationIsNotTaken(t *testing.T) {
	n := newNode(t, "launchers = [\"namespaces\"]")
	layout := n.path("layout")
	old, _, _ := strings.Cut(n.read("definitions/x.toml")[strings.Index(n.read("definitions/x.toml"), "sha256:"):], "\"")
	var m manifest
	blob := func(digest string) string { return filepath.Join("layout/blobs/sha256", hexOf(digest)) }
	if err := json.Unmarshal([]byte(n.read(blob(old))), &m); err != nil {
		t.Fatal(err)
	}
	conf := strings.TrimSuffix(strings.TrimSpace(n.read(blob(m.Config.Digest))), "}") + `,"config":{"Env":["LD_PRELOAD=/evil.so","PATH=/evil","IMAGE=yes"],
		"Entrypoint":["/bin/echo","evil"],"Cmd":["evil"],"User":"0:0","WorkingDir":"/evil","Volumes":{"/etc":{}},"StopSignal":"SIGKILL"}}`
	put := func(text string) string {
		digest := digestOf([]byte(text))
		write(t, filepath.Join(layout, "blobs", "sha256", hexOf(digest)), text)
		return digest
	}
	m.Config = descriptor{Digest: put(conf), Size: int64(len(conf))}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	n.write("definitions/x.toml", strings.Replace(n.read("definitions/x.toml"), old, put(string(text)), 1))
	if out, code := n.sh(`echo "$LD_PRELOAD,$IMAGE,$PWD"; id -u; case $PATH in *evil*) echo evil;; esac`); code != 0 || strings.Contains(out, "evil") || !strings.HasPrefix(out, ",,/sandbox") {
		t.Errorf("%q, %d", out, code)
	}
}

// A folder that is exchanged between the look at it and the mount is found by process 1.
func TestExchangedMounts(t *testing.T) {
	dir := t.TempDir()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	s := &setup{Given: []givenFolder{{dir, uint64(st.Dev), st.Ino}}}
	if err := s.given(); err != nil {
		t.Error(err)
	}
	s.Given[0].Target = os.TempDir()
	if err := s.given(); err == nil || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("another folder: %v", err)
	}
}

// A job's variables must not reach the launcher's own programs.
func TestVariablesOfAJobDoNotWorkOnTheLauncher(t *testing.T) {
	eachIsolating(t, "", func(t *testing.T, n *testNode) {
		write(t, filepath.Join(n.dir, "bwrap"), "#!/bin/sh\necho outside\n")
		os.Chmod(filepath.Join(n.dir, "bwrap"), 0o755)
		cmd := n.command("sh", "-c", "echo $PATH,$LD_PRELOAD")
		cmd.Args = append([]string{cmd.Args[0], "run", "--env-prefix", "GIVEN_"}, cmd.Args[2:]...)
		cmd.Env = append(cmd.Env, "GIVEN_PATH="+n.dir+":/bin", "GIVEN_LD_PRELOAD=/nowhere.so")
		out, err := cmd.CombinedOutput()
		if want := n.dir + ":/bin,/nowhere.so\n"; err != nil || string(out) != want {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
	})
}

// A neighbour who may read a shared cache can neither keep its jobs from starting nor change what they see.
func TestNeighboursOfASharedCache(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("takes two users")
	}
	d := definitionOf(t, "X", tarOf(t, file("a", "good")))
	c := newCache(t)
	old := syscall.Umask(0o077)
	tr := tree(t, c, d)
	tr.Close()
	syscall.Umask(old)
	for dir := tr.Path; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if dir != tr.Path && filepath.Dir(dir) != c.Dir && dir != c.Dir {
			os.Chmod(dir, 0o755)
		}
	}
	lock := filepath.Join(c.Dir, "locks", hexOf(d.Digest))
	script := fmt.Sprintf(`exec 9<%[1]s && flock 9 && echo locked; echo evil 2>/dev/null >%[2]s/a; ln -s / %[3]s/trees/x 2>/dev/null
		(exec 8>%[1]s) 2>/dev/null && echo opened; cat %[2]s/a; sleep 30`, lock, tr.Path, c.Dir)
	neighbour := exec.Command("sh", "-c", script)
	neighbour.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}, Setpgid: true}
	out, err := neighbour.StdoutPipe()
	if err == nil {
		err = neighbour.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { syscall.Kill(-neighbour.Process.Pid, syscall.SIGKILL); neighbour.Wait() }()
	said := make([]byte, 11)
	if _, err := out.Read(said[:7]); err != nil || string(said[:7]) != "locked\n" {
		t.Fatalf("%q, %v", said, err)
	}
	if _, err := out.Read(said); err != nil || string(said[:4]) != "good" {
		t.Errorf("%q, %v", said, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 2 {
		alone, err := c.lock(ctx, d.Digest, unix.F_WRLCK)
		if err != nil {
			t.Fatalf("the neighbour keeps the lock: %v", err)
		}
		alone.Close()
	}
	again, err := c.Tree(ctx, d)
	if err != nil || again.Fresh {
		t.Fatalf("%v", err)
	}
	again.Close()
}
