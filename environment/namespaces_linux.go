package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attributes are the namespaces to start a process in; a launcher with a program of its own needs only a session.
func (p *process) attributes() *syscall.SysProcAttr {
	return p.attributesOf(jobUser{os.Geteuid(), os.Getegid()})
}

// attributesOf are those for a job of a user.
func (p *process) attributesOf(who jobUser) *syscall.SysProcAttr {
	if p.setup == nil && p.around == nothing {
		return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	}
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	inside := who
	switch {
	case p.around == boxed: // apptainer makes no namespace of control groups
		flags |= unix.CLONE_NEWPID | unix.CLONE_NEWCGROUP
		inside = jobUser{}
	case p.around == nothing:
		flags |= unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
		if !p.setup.Network {
			flags |= unix.CLONE_NEWNET
		}
	}
	return &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: flags,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN}, // kept over exec until dropPrivileges
		UidMappings: []syscall.SysProcIDMap{{ContainerID: inside.UID, HostID: who.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: inside.GID, HostID: who.GID, Size: 1}},
	}
}

// make builds the tree's view and enters it.
func (s *setup) make() error {
	if s.Entered {
		s.Tree = "/"
		if err := inOrder(s.plainSandbox, s.closeRoot); err != nil {
			return err
		}
	}
	if err := s.given(); err != nil {
		return err
	}
	c := &calls{}
	s.plan(c)
	return c.run()
}

// plan lists the system calls that build the tree's view and enter it.
func (s *setup) plan(c *calls) {
	if s.Entered {
		s.hide(c)
		s.devices(c)
		s.scratch(c)
		s.files(c)
		return
	}
	c.mount(saying("private mounts"), "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if s.Parts == nil {
		c.bind(s.Tree, s.Tree, keptOf(s.Tree)|unix.MS_RDONLY, 0)
	} else {
		s.parts(c)
	}
	s.mount(c, "proc", "/proc", unix.MS_NODEV|unix.MS_NOEXEC, "")
	s.hide(c)
	s.devices(c)
	s.scratch(c)
	s.files(c)
	s.folders(c)
	if s.Parts != nil {
		c.remount(s.Tree, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, 0)
	}
	if !s.Network {
		loopback(c)
	}
	s.enter(c)
	c.add(saying("host name"), unix.SYS_SETHOSTNAME, s.Hostname, len(s.Hostname))
}

// parts makes an empty root over a folder of the node, and mounts what lies at the folder's top there.
func (s *setup) parts(c *calls) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY, Resolve: unix.RESOLVE_NO_SYMLINKS}
	c.add(saying("open %s", s.Tree), unix.SYS_OPENAT2, unix.AT_FDCWD, s.Tree, unsafe.Pointer(how), int(unix.SizeofOpenHow)).keep = 1
	c.mount(saying("a root over %s", s.Tree), "tmpfs", s.Tree, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m")
	for _, name := range ownPlaces() {
		c.add(saying("make /%s", name), unix.SYS_MKDIRAT, unix.AT_FDCWD, filepath.Join(s.Tree, name), 0o755)
	}
	for _, p := range s.Parts {
		at := filepath.Join(s.Tree, p.Name)
		switch {
		case p.Link != "":
			c.add(saying("link /%s", p.Name), unix.SYS_SYMLINKAT, p.Link, unix.AT_FDCWD, at)
			continue
		case p.Folder:
			c.add(saying("make /%s", p.Name), unix.SYS_MKDIRAT, unix.AT_FDCWD, at, 0o755)
		default:
			c.add(saying("make /%s", p.Name), unix.SYS_MKNODAT, unix.AT_FDCWD, at, unix.S_IFREG|0o644, 0)
		}
		const tree = unix.OPEN_TREE_CLONE | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW | unix.OPEN_TREE_CLOEXEC
		open := c.add(saying("open the image's /%s", p.Name), unix.SYS_OPEN_TREE, 0, p.Name, tree)
		open.take, open.keep = 1, 2
		c.add(saying("mount the image's /%s", p.Name), unix.SYS_MOVE_MOUNT, 0, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH).take = 2
		c.close(2)
		c.remount(at, keptOf(at)|unix.MS_RDONLY, 0)
	}
	c.close(1)
}

// plainSandbox sees that the launcher's program mounted the sandbox at its own place, and not where a link of the image
// leads, which may be a place that something else is mounted upon.
func (s *setup) plainSandbox() error {
	_, err := s.in(SandboxTarget)
	return err
}

// given sees that the folders which the launcher's program mounted by their paths are those that were looked at.
func (s *setup) given() error {
	for _, g := range s.Given {
		var st unix.Stat_t
		if err := unix.Stat(g.Target, &st); err != nil {
			return fmt.Errorf("mount at %s: %w", g.Target, err)
		}
		if uint64(st.Dev) != g.Device || st.Ino != g.Ino {
			return fmt.Errorf("mount at %s: its source was exchanged meanwhile", g.Target)
		}
	}
	return nil
}

// closeRoot makes the tree read-only, without set-id bits and devices, where the launcher's program did not.
func (s *setup) closeRoot() error {
	const closed = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV
	var st unix.Statfs_t
	if err := unix.Statfs("/", &st); err != nil || st.Flags&closed == closed {
		return err
	}
	flags := uintptr(st.Flags&keptFlags) | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("", "/", "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
		return fmt.Errorf("close the root: %w", err)
	}
	return nil
}

// keptFlags are those of a mount that a user namespace may not clear.
const keptFlags = unix.ST_NOEXEC | unix.ST_NOATIME | unix.ST_NODIRATIME | unix.ST_RDONLY

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// in is a place in the tree, which must be there itself and no link.
func (s *setup) in(name string) (string, error) {
	full := filepath.Join(s.Tree, name)
	fd, err := unix.Openat2(unix.AT_FDCWD, full, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ELOOP) {
		return "", fmt.Errorf("the image's %s is a symbolic link: nothing is mounted upon it", name)
	}
	if err != nil {
		return "", fmt.Errorf("the image has no %s to mount upon: %w", name, err)
	}
	return full, unix.Close(fd)
}

func (s *setup) mount(c *calls, kind, name string, flags uintptr, data string) {
	at := filepath.Join(s.Tree, name)
	c.place(at, name)
	c.mount(saying("mount %s at %s", kind, name), kind, at, kind, flags|unix.MS_NOSUID, data)
}

// hide keeps the names and sizes of the user's keys from the job.
func (s *setup) hide(c *calls) {
	for _, name := range []string{"/proc/keys", "/proc/key-users"} {
		c.bind(os.DevNull, filepath.Join(s.Tree, name), keptOf(os.DevNull)|unix.MS_RDONLY, unix.ENOENT)
	}
}

// loopback brings the interface of a network of its own up, so that a job reaches itself at 127.0.0.1.
func loopback(c *calls) {
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		c.err = errors.Join(c.err, err)
		return
	}
	lo.SetUint16(unix.IFF_UP)
	c.add(saying("loopback"), unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0).keep = 1
	c.add(saying("loopback"), unix.SYS_IOCTL, 0, unix.SIOCSIFFLAGS, unsafe.Pointer(lo)).take = 1
	c.close(1)
}

// devices makes a /dev of its own: a few harmless nodes, terminals, and what the definition names. In a tree that was
// entered already it is put together at /tmp, beside the node's own, and takes its place.
func (s *setup) devices(c *calls) {
	place := "/dev"
	if s.Entered {
		place = "/tmp"
	}
	s.mount(c, "tmpfs", place, unix.MS_NOEXEC, "mode=755,size=1m")
	dev := filepath.Join(s.Tree, place)
	nodes := append([]string{os.DevNull, "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}, s.Devices...)
	for _, node := range nodes {
		name := strings.TrimPrefix(node, "/dev/")
		c.file(dev, name, "")
		c.mount(saying("device %s", node), node, filepath.Join(dev, name), "", unix.MS_BIND, "")
	}
	furnish(c, dev)
	if s.Entered {
		c.add(saying("unmount the node's /dev"), unix.SYS_UMOUNT2, "/dev", unix.MNT_DETACH)
		c.mount(saying("put /dev in its place"), dev, "/dev", "", unix.MS_MOVE, "")
	}
	s.mount(c, "devpts", "/dev/pts", unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
}

// furnish makes the links and folders of a /dev.
func furnish(c *calls, dev string) {
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		c.add(saying("link %s", name), unix.SYS_SYMLINKAT, target, unix.AT_FDCWD, filepath.Join(dev, name))
	}
	for _, name := range []string{"pts", "shm"} {
		c.add(saying("make %s", name), unix.SYS_MKDIRAT, unix.AT_FDCWD, filepath.Join(dev, name), 0o755)
	}
}

func (s *setup) scratch(c *calls) {
	data := fmt.Sprintf("mode=1777,size=%d", s.Scratch)
	s.mount(c, "tmpfs", "/dev/shm", unix.MS_NODEV, data)
	s.mount(c, "tmpfs", "/tmp", unix.MS_NODEV, data)
}

// files puts the generated files of /etc over the tree's.
func (s *setup) files(c *calls) {
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC // the last is that of the /dev they are made in
	for i, f := range s.Files {
		dev, name := filepath.Join(s.Tree, "dev"), fmt.Sprintf(".etc%d", i)
		made, at := filepath.Join(dev, name), filepath.Join(s.Tree, f.Name)
		c.file(dev, name, f.Text)
		c.place(at, f.Name)
		c.bind(made, at, flags, 0)
		c.add(saying("remove %s", made), unix.SYS_UNLINKAT, unix.AT_FDCWD, made, 0)
	}
}

// folders mounts the sandbox and what the definition gives: by a descriptor, so that what was checked to be no link is
// what gets mounted.
func (s *setup) folders(c *calls) {
	at := filepath.Join(s.Tree, SandboxTarget)
	c.place(at, SandboxTarget)
	c.bind(s.Sandbox, at, keptOf(s.Sandbox), 0)
	for _, m := range s.Mounts {
		at, flags := filepath.Join(s.Tree, m.Target), keptOf(m.Source)
		if !m.Writable {
			flags |= unix.MS_RDONLY
		}
		c.place(at, m.Target)
		how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
		c.add(func(err error) error { return sourceError(m.Source, err) },
			unix.SYS_OPENAT2, unix.AT_FDCWD, m.Source, unsafe.Pointer(how), int(unix.SizeofOpenHow)).keep = 1
		c.bindOpened(m.Source, at, flags)
	}
}

// enter makes the tree the root and lets go of the node's.
func (s *setup) enter(c *calls) {
	c.add(saying("enter the tree"), unix.SYS_CHDIR, s.Tree)
	c.add(saying("pivot_root"), unix.SYS_PIVOT_ROOT, ".", ".")
	c.add(saying("unmount the node's root"), unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
	c.add(saying("enter the tree"), unix.SYS_CHDIR, "/")
}
