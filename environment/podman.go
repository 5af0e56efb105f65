package environment

import (
	"fmt"
	"os"
)

// podman launches by podman (Debian package podman, 4.3 or newer) with crun, for sites that wish it: a definition has to
// name it. It is started in namespaces of its own, as their user 0, with a /dev/shm of its own for all that it writes, so
// that it needs no ranges of ids, touches nothing of the user's other containers and leaves neither files nor processes:
// all of it ends with the first process there. What it makes is the container's namespaces and an empty root; the tree and
// what else comes from outside lies in folders of that root, of which our program, as process 1 inside, makes the job's
// view, as with namespaces of our own.
type podman struct{ self string }

func (*podman) Name() string   { return "podman" }
func (*podman) Isolates() bool { return true }

const (
	podDir     = "/dev/shm" // podman's own folder, in memory
	podTree    = "/tree"    // where the tree is in the container's root
	podSandbox = "/box"
)

// Command has podman started by our program, which makes its namespaces.
func (l *podman) Command(job *Job) (*process, error) {
	program, err := lookProgram("podman")
	if err != nil {
		return nil, err
	}
	self, err := os.Open(l.self)
	if err != nil {
		return nil, err
	}
	p := &process{files: []*os.File{self}, rest: newSetup(job), around: boxed}
	p.user = &jobUser{UID: os.Geteuid(), GID: os.Getegid()}
	given := volumes{flag: "--volume", how: map[bool]string{false: "rbind,rprivate,ro", true: "rbind,rprivate,rw"}, separators: ":"}
	given.argv = []string{given.flag, "/dev:/dev:rbind,rprivate,dev,exec"}
	if err := p.volumes(job, &given); err != nil {
		p.close()
		return nil, err
	}
	p.argv = append([]string{l.self, "box", program}, podmanOptions(job.Definition)...)
	p.argv = append(append(p.argv, given.argv...), "--preserve-fds", fmt.Sprint(p.streams()+2-3), "--rootfs", podDir+"/root",
		fmt.Sprintf("/proc/self/fd/%d", firstFile), "init")
	return p, nil
}

// podmanOptions are those of a container that is nothing but namespaces.
func podmanOptions(d *Definition) []string {
	network := "none"
	if d.Network {
		network = "host"
	}
	options := []string{
		"--root", podDir + "/store", "--runroot", podDir + "/run", "--tmpdir", podDir + "/tmp", "--storage-driver", "vfs",
		"--events-backend", "none", "--cgroup-manager", "cgroupfs", "--runtime", "crun", "--log-level", "error", "run",
		"--cgroups", "disabled", "--cgroupns", "private", "--userns", "host", "--ipc", "private", "--network", network,
		"--hostname", hostname(d), "--user", "0:0", "--workdir", "/", "--log-driver", "none", "--no-hosts", "--passwd=false",
		"--http-proxy=false", "--ulimit", "host", "--cap-drop", "all", "--env", "GOMAXPROCS=1", "--env", "GOGC=off",
	}
	for _, c := range []string{"SYS_ADMIN", "SETPCAP", "SETFCAP", "NET_ADMIN"} { // until process 1 has made its mounts
		options = append(options, "--cap-add", c)
	}
	for _, o := range []string{"no-new-privileges", "seccomp=unconfined", "apparmor=unconfined", "label=disable", "unmask=ALL"} {
		options = append(options, "--security-opt", o) // our program closes these doors with every launcher
	}
	return options
}

// volumes has the tree, the sandbox and the definition's folders put into the launcher's root, and process 1 look for them
// there.
func (p *process) volumes(job *Job, into *volumes) error {
	into.add(job.Tree, podTree, false)
	into.add(job.Sandbox.Dir, podSandbox, true)
	p.rest.Tree, p.rest.Sandbox, p.rest.Mounts = podTree, podSandbox, nil
	for i, m := range job.Definition.Mounts {
		f, err := p.given(m)
		if err != nil {
			return err
		}
		f.Close()
		at := podMount(i)
		into.add(m.Source, at, m.Writable)
		p.rest.Given[i].Target = at
		p.rest.Mounts = append(p.rest.Mounts, Mount{Source: at, Target: m.Target, Writable: m.Writable})
	}
	return into.err
}

// podMount is where a definition's folder is in the container's root.
func podMount(i int) string { return fmt.Sprintf("/mounts/%d", i) }

// podmanEnv keeps podman to its folder: neither the user's nor the site's settings of containers have a say in what jobs
// see, and it takes the namespaces that it finds itself in for its own.
func podmanEnv() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=" + podDir, "TMPDIR=" + podDir,
		"XDG_RUNTIME_DIR=" + podDir, "CONTAINERS_CONF=/dev/null", "_CONTAINERS_USERNS_CONFIGURED=done", "GOMAXPROCS=1",
	}
}
