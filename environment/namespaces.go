package environment

// namespaces launches by our own program alone: a fork of it, in new user, mount, process, network, IPC, UTS and cgroup
// namespaces, makes the mounts itself.
type namespaces struct{}

func (*namespaces) Name() string   { return "namespaces" }
func (*namespaces) Isolates() bool { return true }

func (*namespaces) Command(job *Job) (*process, error) {
	s := newSetup(job)
	if job.Definition.isFolder() {
		var err error
		if s.Parts, err = partsOf(job.Tree); err != nil {
			return nil, err
		}
	}
	return &process{setup: s, forked: true}, nil
}

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
	// Parts is what lies at the top of a tree that is a folder of the node: it has no places to mount upon, and so is seen part
	// by part in a root of its own.
	Parts []part `json:",omitempty"`
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
