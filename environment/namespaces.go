package environment

// namespaces launches by our own program alone: it is started in new user, mount, process, network, IPC, UTS and
// cgroup namespaces and makes the mounts itself.
type namespaces struct{ self string }

func (*namespaces) Name() string   { return "namespaces" }
func (*namespaces) Isolates() bool { return true }

func (n *namespaces) Command(job *Job) (*process, error) {
	p := &process{argv: []string{n.self, "init"}, setup: newSetup(job)}
	if allThreads && !job.Definition.Network {
		p.argv, p.network = append(p.argv, withNetwork), true
	}
	return p, nil
}

// withNetwork is the argument with which process 1 is to make itself a network.
const withNetwork = "network"

func newSetup(job *Job) *setup {
	d := job.Definition
	s := &setup{
		Tree: job.Tree, Sandbox: job.Sandbox.Dir, Scratch: scratchBytes(d), Hostname: hostname(d), Devices: devices(d),
		Network: d.Network, Mounts: d.Mounts,
	}
	for _, f := range etcFiles(job) {
		s.Files = append(s.Files, setupFile{f.name, f.text})
	}
	return s
}

// A setup is the mounts that process 1 of our own namespaces makes before it closes the doors.
type setup struct {
	Tree, Sandbox, Hostname string
	Scratch                 int64
	Network                 bool
	Devices                 []string
	Files                   []setupFile
	Mounts                  []Mount
	// Entered is that the launcher's program has entered the tree already and mounted what lies outside of it; the
	// node's /dev is at /dev.
	Entered bool
	// Given are the folders that a launcher's program mounted, as they were when the definition's paths were looked at.
	Given []givenFolder
}

// A givenFolder is what has to be at a place inside.
type givenFolder struct {
	Target      string
	Device, Ino uint64
}

type setupFile struct{ Name, Text string }
