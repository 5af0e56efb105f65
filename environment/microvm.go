package environment

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// microvm launches a machine of its own by QEMU (Debian packages qemu-system-x86 and squashfs-tools), whose processor is
// emulated, so that it needs no rights. The image's kernel and its modules start our program inside, which puts the job
// into namespaces there as on a node: limits, seccomp and signals are the same as with every launcher.
type microvm struct{ self string }

func (*microvm) Name() string   { return "microvm" }
func (*microvm) Isolates() bool { return true }

// machineLinger is how long a machine that is to end has to bring back the sandbox.
const machineLinger = 20 * time.Second

// A machine is what its supervisor needs besides the task.
type machine struct {
	QEMU, Squash string // programs
	Bundle       string // folder with kernel and initrd, for the disk as well
	Memory       int64  // bytes
	Processors   int
	UID, GID     int // the job's
}

// Command makes what the machine starts from: kernel and initrd, in a bundle that goes with the process.
func (m *microvm) Command(job *Job) (*process, error) {
	s := job.Definition.System
	if s == nil {
		return nil, errors.New("the definition has no [system]")
	}
	if runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("machines are for amd64 alone, not %s", runtime.GOARCH)
	}
	spec := &machine{Memory: int64(s.Memory), Processors: max(s.Processors, 1), UID: os.Geteuid(), GID: os.Getegid()}
	if spec.Memory == 0 {
		spec.Memory = 512 << 20
	}
	var err error
	if spec.QEMU, err = lookProgram("qemu-system-x86_64"); err != nil {
		return nil, err
	}
	if spec.Squash, err = lookProgram("mksquashfs"); err != nil {
		return nil, err
	}
	b, err := newBundle()
	if err != nil {
		return nil, err
	}
	spec.Bundle = b.dir
	p := &process{argv: []string{m.self, "machine"}, rest: newSetup(job), bundle: b, machine: spec}
	if err := m.fill(b, s, job.Tree); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// fill copies the kernel from the image, and makes the initrd of our program and the kernel's modules.
func (m *microvm) fill(b *bundle, s *System, dir string) error {
	tree, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	name, version, err := s.kernel(tree)
	if err != nil {
		return err
	}
	list, err := modules(tree, version)
	if err != nil {
		return err
	}
	from, err := tree.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := b.create("kernel", func(w io.Writer) error { _, err := io.Copy(w, from); return err }); err != nil {
		return err
	}
	return b.create("initrd", func(w io.Writer) error {
		a := &initrd{w: bufio.NewWriterSize(w, 1<<20)}
		self, err := os.Open(m.self)
		if err := a.addFile("init", self, err); err != nil {
			return err
		}
		for i, file := range list {
			f, err := tree.Open(file)
			if err := a.addFile(fmt.Sprintf("module%02d%s", i, moduleSuffix(file)), f, err); err != nil {
				return err
			}
		}
		return a.close()
	})
}

// create makes a file of a bundle.
func (b *bundle) create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(b.sub(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
