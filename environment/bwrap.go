package environment

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// initPath is where our program is seen inside a tree: in /dev, which every launcher makes anew.
const initPath = "/dev/.grid-launch"

// bubblewrap launches by bwrap (Debian package bubblewrap, 0.8 or newer) with our program as process 1 inside.
type bubblewrap struct{ self string }

func (*bubblewrap) Name() string   { return "bwrap" }
func (*bubblewrap) Isolates() bool { return true }

func (b *bubblewrap) Command(job *Job) (*process, error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, err
	}
	d, p := job.Definition, &process{}
	argv := []string{program, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"}
	if !d.Network {
		argv = append(argv, "--unshare-net")
	}
	argv = append(argv, "--as-pid-1", "--die-with-parent", "--new-session", "--clearenv", "--hostname", hostname(d),
		"--ro-bind", job.Tree, "/", "--proc", "/proc", "--dev", "/dev",
		"--ro-bind", "/dev/null", "/proc/keys", "--ro-bind", "/dev/null", "/proc/key-users")
	argv = append(argv, scratch(d, "1777", "/tmp")...)
	argv = append(argv, scratch(d, "1777", "/dev/shm")...)
	argv = append(argv, "--bind", job.Sandbox.Dir, SandboxTarget, "--ro-bind", b.self, initPath)
	for _, dev := range devices(d) {
		argv = append(argv, "--dev-bind", dev, dev)
	}
	if argv, err = p.bindMounts(argv, d.Mounts); err != nil {
		return nil, err
	}
	if argv, err = p.bindFiles(argv, job); err != nil {
		p.close()
		return nil, err
	}
	p.argv = append(argv, "--chdir", SandboxTarget, "--", initPath, "init")
	return p, nil
}

// scratch is a file system in memory with a bound: bwrap's own would take half the machine's.
func scratch(d *Definition, mode, at string) []string {
	return []string{"--perms", mode, "--size", strconv.FormatInt(scratchBytes(d), 10), "--tmpfs", at}
}

func scratchBytes(d *Definition) int64 {
	if d.Limits.Scratch > 0 {
		return int64(d.Limits.Scratch)
	}
	return 1 << 30
}

// firstFile is the number of the first descriptor that a launcher's own files get, after the standard streams, control
// and status and the job's standard error.
const firstFile = 6

// bindMounts mounts the definition's folders by descriptors that were opened without following links.
func (p *process) bindMounts(argv []string, mounts []Mount) ([]string, error) {
	for _, m := range mounts {
		fd, err := plainSource(m.Source)
		if err != nil {
			p.close()
			return nil, err
		}
		p.files = append(p.files, os.NewFile(uintptr(fd), m.Source))
		how := "--ro-bind"
		if m.Writable {
			how = "--bind"
		}
		argv = append(argv, how, fmt.Sprintf("/proc/self/fd/%d", firstFile+len(p.files)-1), m.Target)
	}
	return argv, nil
}

// bindFiles puts the generated files of /etc where the tree has a place for them.
func (p *process) bindFiles(argv []string, job *Job) ([]string, error) {
	for _, f := range etcFiles(job) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if _, err := w.WriteString(f.text); err != nil {
			return nil, err
		}
		w.Close()
		p.files = append(p.files, r)
		argv = append(argv, "--ro-bind-data", strconv.Itoa(firstFile+len(p.files)-1), f.name)
	}
	return argv, nil
}

func (p *process) close() {
	for _, f := range p.files {
		f.Close()
	}
}
