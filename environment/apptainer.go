package environment

import (
	"fmt"
	"os"
	"strings"
)

// apptainer launches by apptainer (tried: 1.4.5), for sites that wish it: a definition has to name it. As with podman it is
// started in namespaces of its own, as their user 0, reads neither the user's nor the site's settings, and makes the
// container's namespaces and a root of empty folders; our program, as process 1 inside, makes the job's view of what was
// mounted there. It needs no set-id program.
type apptainer struct{ self string }

func (*apptainer) Name() string   { return "apptainer" }
func (*apptainer) Isolates() bool { return true }

const (
	cellConfig = podDir + "/apptainer.conf"
	cellRoot   = podDir + "/root"
	// cellInit is where our program is in the container's root. apptainer looks at this file to learn what processor the
	// image is for.
	cellInit = "/bin/sh"
)

// apptainerConfig has apptainer add nothing of the node but its devices, of which process 1 leaves the few of every job.
const apptainerConfig = `allow setuid = no
allow pid ns = yes
config passwd = no
config group = no
config resolv_conf = no
mount proc = yes
mount sys = no
mount dev = yes
mount devpts = no
mount home = no
mount tmp = no
mount hostfs = no
mount slave = no
user bind control = yes
enable fusemount = no
enable overlay = no
enable underlay = no
`

// Command has apptainer started by our program, which makes its namespaces.
func (l *apptainer) Command(job *Job) (*process, error) {
	program, err := lookProgram("apptainer")
	if err != nil {
		return nil, err
	}
	p := &process{rest: newSetup(job), around: boxed}
	p.user = &jobUser{UID: os.Geteuid(), GID: os.Getegid()}
	given := volumes{flag: "--bind", how: map[bool]string{false: "ro", true: "rw"}, separators: ":,"}
	given.add(l.self, cellInit, false)
	if err := p.volumes(job, &given); err != nil {
		p.close()
		return nil, err
	}
	p.argv = []string{l.self, "cell", fmt.Sprint(len(job.Definition.Mounts)), program, "--silent", "--config", cellConfig, "exec",
		"--userns", "--pid", "--ipc", "--uts", "--hostname", hostname(job.Definition), "--cleanenv", "--no-home", "--no-eval",
		"--no-init", "--no-umask", "--keep-privs", "--pwd", "/"}
	if !job.Definition.Network {
		p.argv = append(p.argv, "--net", "--network", "none")
	}
	p.argv = append(append(p.argv, given.argv...), cellRoot, cellInit, "init")
	return p, nil
}

// volumes are what a launcher's program mounts into its empty root.
type volumes struct {
	argv       []string
	flag       string
	how        map[bool]string // what says whether a job may write there
	separators string          // which no path may have
	err        error
}

func (v *volumes) add(source, at string, writable bool) {
	if strings.ContainsAny(source, v.separators) {
		v.err = fmt.Errorf("%s: this launcher takes no path with one of %q", source, v.separators)
	}
	v.argv = append(v.argv, v.flag, source+":"+at+":"+v.how[writable])
}
