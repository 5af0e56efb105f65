package environment

import (
	"fmt"
	"os"
)

// bubblewrap launches by bwrap (Debian package bubblewrap, 0.8 or newer) with our program as process 1 inside. It makes
// the namespaces and mounts what lies outside: the tree, the sandbox, the definition's folders, the node's /dev. The rest
// our program makes of that, as with namespaces of our own: bwrap reads the table of mounts anew for each of its own
// binds, which took more time than all else it does.
type bubblewrap struct{ self string }

func (*bubblewrap) Name() string   { return "bwrap" }
func (*bubblewrap) Isolates() bool { return true }

func (b *bubblewrap) Command(job *Job) (*process, error) {
	program, err := lookProgram("bwrap")
	if err != nil {
		return nil, err
	}
	self, err := os.Open(b.self)
	if err != nil {
		return nil, err
	}
	d, p := job.Definition, &process{files: []*os.File{self}, rest: newSetup(job)}
	p.rest.Entered = true
	argv := []string{program, "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"}
	if !d.Network {
		argv = append(argv, "--unshare-net")
	}
	argv = append(argv, "--as-pid-1", "--die-with-parent", "--new-session", "--clearenv", "--hostname", hostname(d),
		"--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP", // until process 1 has made its mounts
		"--ro-bind", job.Tree, "/", "--proc", "/proc", "--dev-bind", "/dev", "/dev", "--bind", job.Sandbox.Dir, SandboxTarget)
	if argv, err = p.bindMounts(argv, d.Mounts); err != nil {
		return nil, err
	}
	p.argv = append(argv, "--setenv", "GOMAXPROCS", "1", "--setenv", "GOGC", "off", "--chdir", SandboxTarget, "--",
		fmt.Sprintf("/proc/self/fd/%d", firstFile), "init")
	return p, nil
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
		f, err := p.given(m)
		if err != nil {
			p.close()
			return nil, err
		}
		p.files = append(p.files, f)
		how := "--ro-bind"
		if m.Writable {
			how = "--bind"
		}
		argv = append(argv, how, fmt.Sprintf("/proc/self/fd/%d", firstFile+len(p.files)-1), m.Target)
	}
	return argv, nil
}

func (p *process) close() {
	for _, f := range p.files {
		f.Close()
	}
	p.bundle.close()
}
