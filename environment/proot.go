package environment

// initPath is where our program is seen inside a tree under proot: in /dev, which is the node's.
const initPath = "/dev/.grid-launch"

// proot launches by proot (ptrace): for nodes without user namespaces. The tree is a view and no wall: processes,
// network and files of the node stay within reach, so a definition has to say open = true.
type proot struct{ self string }

func (*proot) Name() string   { return "proot" }
func (*proot) Isolates() bool { return false }

func (l *proot) Command(job *Job) (*process, error) {
	program, err := lookProgram("proot")
	if err != nil {
		return nil, err
	}
	argv := []string{program, "-r", job.Tree, "-b", "/proc", "-b", "/dev", "-b", "/tmp",
		"-b", job.Sandbox.Dir + ":" + SandboxTarget, "-b", l.self + ":" + initPath, "-w", SandboxTarget}
	for _, m := range job.Definition.Mounts {
		argv = append(argv, "-b", m.Source+":"+m.Target)
	}
	return &process{argv: append(argv, initPath, "init")}, nil
}
