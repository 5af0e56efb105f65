package environment

// namespaces launches by our own program alone: it is started in new user, mount, process, network, IPC, UTS and
// cgroup namespaces and makes the mounts itself.
type namespaces struct{ self string }

func (*namespaces) Name() string   { return "namespaces" }
func (*namespaces) Isolates() bool { return true }

func (n *namespaces) Command(job *Job) (*process, error) {
	d := job.Definition
	p := &process{argv: []string{n.self, "init"}}
	p.setup = &setup{
		Tree: job.Tree, Sandbox: job.Sandbox.Dir, Scratch: scratchBytes(d), Hostname: hostname(d), Devices: devices(d),
		Network: d.Network,
	}
	for _, f := range etcFiles(job) {
		p.setup.Files = append(p.setup.Files, setupFile{f.name, f.text})
	}
	p.setup.Mounts = d.Mounts
	return p, nil
}

// A setup is the mounts that process 1 of our own namespaces makes before it closes the doors.
type setup struct {
	Tree, Sandbox, Hostname string
	Scratch                 int64
	Network                 bool
	Devices                 []string
	Files                   []setupFile
	Mounts                  []Mount
}

type setupFile struct{ Name, Text string }
