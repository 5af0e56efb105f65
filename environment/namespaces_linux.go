package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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
	case p.around == boxed:
		flags |= unix.CLONE_NEWPID
		inside = jobUser{}
	case p.around == nothing:
		flags |= unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
		if !p.setup.Network && !p.network {
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

// make builds the tree's view and enters it; joinNetwork is its step into a network that is made already,
// nil where process 1 is in its network.
func (s *setup) make(joinNetwork func() error) error {
	if s.Entered {
		s.Tree = "/"
		return inOrder(s.plainSandbox, s.given, s.closeRoot, s.hide, s.devices, s.scratch, s.files)
	}
	if joinNetwork == nil {
		joinNetwork = s.loopback
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := bind(s.Tree, s.Tree, true); err != nil {
		return err
	}
	if err := inOrder(s.given, s.system, s.hide, s.devices, s.scratch, s.files, s.folders, joinNetwork, s.enter); err != nil {
		return err
	}
	return unix.Sethostname([]byte(s.Hostname))
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

func (s *setup) mount(kind, name string, flags uintptr, data string) error {
	at, err := s.in(name)
	if err != nil {
		return err
	}
	if err := unix.Mount(kind, at, kind, flags|unix.MS_NOSUID, data); err != nil {
		return fmt.Errorf("mount %s at %s: %w", kind, name, err)
	}
	return nil
}

func (s *setup) system() error {
	return s.mount("proc", "/proc", unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// hide keeps the names and sizes of the user's keys from the job.
func (s *setup) hide() error {
	for _, name := range []string{"/proc/keys", "/proc/key-users"} {
		if err := bind("/dev/null", filepath.Join(s.Tree, name), true); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

func (s *setup) loopback() error {
	if s.Network {
		return nil
	}
	return loopback()
}

// devices makes a /dev of its own: a few harmless nodes, terminals, and what the definition names. In a tree that was
// entered already it is put together at /tmp, beside the node's own, and takes its place.
func (s *setup) devices() error {
	place := "/dev"
	if s.Entered {
		place = "/tmp"
	}
	if err := s.mount("tmpfs", place, unix.MS_NOEXEC, "mode=755,size=1m"); err != nil {
		return err
	}
	dev := filepath.Join(s.Tree, place)
	nodes := append([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}, s.Devices...)
	for _, node := range nodes {
		at := filepath.Join(dev, strings.TrimPrefix(node, "/dev/"))
		if err := putFile(at, ""); err != nil {
			return err
		}
		if err := unix.Mount(node, at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("device %s: %w", node, err)
		}
	}
	if err := furnish(dev); err != nil {
		return err
	}
	if s.Entered {
		if err := unix.Unmount("/dev", unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount the node's /dev: %w", err)
		}
		if err := unix.Mount(dev, "/dev", "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("put /dev in its place: %w", err)
		}
	}
	return s.mount("devpts", "/dev/pts", unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
}

// furnish makes the links and folders of a /dev.
func furnish(dev string) error {
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"pts", "shm"} {
		if err := os.Mkdir(filepath.Join(dev, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (s *setup) scratch() error {
	data := fmt.Sprintf("mode=1777,size=%d", s.Scratch)
	if err := s.mount("tmpfs", "/dev/shm", unix.MS_NODEV, data); err != nil {
		return err
	}
	return s.mount("tmpfs", "/tmp", unix.MS_NODEV, data)
}

// putFile makes a file of /dev, and its folder where /dev has none yet.
func putFile(name, text string) error {
	const how = unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_CLOEXEC
	f, err := unix.Open(name, how, 0o644)
	if errors.Is(err, unix.ENOENT) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err = unix.Open(name, how, 0o644)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	if text != "" {
		_, err = unix.Write(f, []byte(text))
	}
	return errors.Join(err, unix.Close(f))
}

// files puts the generated files of /etc over the tree's.
func (s *setup) files() error {
	for i, f := range s.Files {
		made := filepath.Join(s.Tree, "dev", fmt.Sprintf(".etc%d", i))
		if err := putFile(made, f.Text); err != nil {
			return err
		}
		at, err := s.in(f.Name)
		if err != nil {
			return err
		}
		if err := bind(made, at, true); err != nil {
			return err
		}
		if err := os.Remove(made); err != nil {
			return err
		}
	}
	return nil
}

// folders mounts the sandbox and what the definition gives.
func (s *setup) folders() error {
	at, err := s.in(SandboxTarget)
	if err != nil {
		return err
	}
	if err := bind(s.Sandbox, at, false); err != nil {
		return err
	}
	for _, m := range s.Mounts {
		if err := s.folder(m); err != nil {
			return err
		}
	}
	return nil
}

// folder mounts by a descriptor, so that what was checked to be no link is what gets mounted.
func (s *setup) folder(m Mount) error {
	fd, err := plainSource(m.Source)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	at, err := s.in(m.Target)
	if err != nil {
		return err
	}
	return bind(fmt.Sprintf("/proc/self/fd/%d", fd), at, !m.Writable)
}

// bind mounts source at target without set-id bits and devices; flags that the source's own mount has stay, since a
// user namespace may not clear them.
func bind(source, target string, readOnly bool) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s at %s: %w", source, target, err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(target, &st); err != nil {
		return fmt.Errorf("bind %s: %w", target, err)
	}
	flags := uintptr(st.Flags&keptFlags) | unix.MS_NOSUID | unix.MS_NODEV
	if source == "/dev/null" {
		flags = uintptr(st.Flags&(keptFlags|unix.ST_NODEV)) | unix.MS_NOSUID
	}
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
		return fmt.Errorf("bind %s read-only=%t: %w", target, readOnly, err)
	}
	return nil
}

// enter makes the tree the root and lets go of the node's.
func (s *setup) enter() error {
	if err := unix.Chdir(s.Tree); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the node's root: %w", err)
	}
	return unix.Chdir("/")
}
