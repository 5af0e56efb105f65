package environment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where the image's tree and the job's sandbox lie in a machine, before the job is put into its namespaces.
const (
	guestTree    = "/tree"
	guestSandbox = "/box"
)

// guest is the first program of a machine. It ends by being turned off with it.
func guest() int {
	if os.Getpid() != 1 {
		return exitNotDeployed // on a node this would mount and load
	}
	runtime.LockOSThread()
	link, input, err := guestLines()
	if err != nil {
		fmt.Fprintln(os.Stderr, "grid-launch: in the machine:", oneLine(err))
		unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
	out := &line{w: fd(link)}
	if err := guestJob(fd(link), fd(input), out); err != nil {
		out.send(frameFailed, []byte(oneLine(err)))
	}
	for {
		unix.Pause()
	}
}

// guestLines loads what the kernel needs and opens the serial lines to the node.
func guestLines() (link, input int, err error) {
	err = inOrder(
		func() error { return guestMount("devtmpfs", "/dev") },
		func() error { return guestMount("proc", "/proc") },
		func() error { return guestMount("sysfs", "/sys") },
		loadModules,
	)
	if err != nil {
		return 0, 0, err
	}
	if link, err = openLine("link"); err == nil {
		input, err = openLine("input")
	}
	return link, input, err
}

func guestMount(kind, at string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(kind, at, kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount %s at %s: %w", kind, at, err)
	}
	return nil
}

func loadModules() error {
	list, err := filepath.Glob("/module*")
	if err != nil {
		return err
	}
	const compressed = 4 // MODULE_INIT_COMPRESSED_FILE of linux/module.h
	for _, name := range list {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		flags := 0
		if !strings.HasSuffix(name, ".ko") {
			flags = compressed
		}
		err = unix.FinitModule(int(f.Fd()), "", flags)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("load %s: %w", name, err)
		}
	}
	return nil
}

// settled tries something that the kernel's drivers make possible in a moment.
func settled(what string, try func() bool) error {
	for end := time.Now().Add(30 * time.Second); !try(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("the machine has no %s", what)
		}
	}
	return nil
}

// openLine opens the serial line of a name, when the other side is there.
func openLine(name string) (int, error) {
	n := -1
	err := settled("serial line "+name, func() bool {
		if n < 0 {
			list, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
			for _, file := range list {
				if text, _ := os.ReadFile(file); strings.TrimSpace(string(text)) == name {
					n, _ = unix.Open(filepath.Join("/dev", filepath.Base(filepath.Dir(file))), unix.O_RDWR|unix.O_CLOEXEC, 0)
				}
			}
		}
		if n < 0 {
			return false
		}
		poll := []unix.PollFd{{Fd: int32(n), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, 0)
		return err == nil && poll[0].Revents&unix.POLLHUP == 0
	})
	return n, err
}

// newRoot leaves the initrd, which nothing can pivot from, and mounts the image's tree and a place for the sandbox.
func newRoot() error {
	steps := []func() error{
		func() error { return guestMount("tmpfs", "/root") },
		func() error { return os.Rename("/init", "/keep") },
	}
	if err := inOrder(steps...); err != nil {
		return err
	}
	program, err := os.ReadFile("/keep")
	if err != nil {
		return err
	}
	if err := os.WriteFile("/root/init", program, 0o755); err != nil {
		return err
	}
	if err := os.Remove("/keep"); err != nil {
		return err
	}
	for _, name := range []string{"/dev", "/proc", "/sys"} {
		if err := os.Mkdir("/root"+name, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(name, "/root"+name, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", name, err)
		}
	}
	return inOrder(
		func() error { return unix.Chdir("/root") },
		func() error { return unix.Mount(".", "/", "", unix.MS_MOVE, "") },
		func() error { return unix.Chroot(".") },
		func() error { return unix.Chdir("/") },
		func() error { return os.Mkdir(guestTree, 0o755) },
		func() error {
			return settled("disk", func() bool { _, err := os.Stat("/dev/vda"); return err == nil })
		},
		func() error {
			return unix.Mount("/dev/vda", guestTree, "squashfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
		},
		func() error { return guestMount("tmpfs", guestSandbox) },
	)
}

func guestJob(link, input fd, out *line) error {
	if err := newRoot(); err != nil {
		return err
	}
	if err := out.send(frameReady, nil); err != nil {
		return err
	}
	taken := newTaker(guestSandbox, 1<<62)
	var text []byte
	for text == nil {
		kind, body, err := readFrame(link)
		switch {
		case err != nil:
			return err
		case kind == frameTask:
			text = body
		case kind == frameFiles:
			err = taken.write(body)
		}
		if err != nil {
			return fmt.Errorf("the sandbox does not fit: %w", err)
		}
	}
	if err := taken.close(); err != nil {
		return err
	}
	t := &task{}
	if err := json.Unmarshal(text, t); err != nil {
		return err
	}
	before, err := giveSandbox(t.Machine)
	if err != nil {
		return err
	}
	if err := t.runGuest(text, link, input, out); err != nil {
		return err
	}
	return sendBack(before, out)
}

// giveSandbox gives the sandbox to the job's user, and notes how it stands.
func giveSandbox(m *machine) (map[string]mark, error) {
	err := filepath.WalkDir(guestSandbox, func(name string, _ fs.DirEntry, err error) error {
		return cmp.Or(err, os.Lchown(name, m.UID, m.GID))
	})
	if err != nil {
		return nil, err
	}
	return marks(guestSandbox)
}

// runGuest starts process 1 of the job as on a node, and connects it with the node until all of it has ended.
func (t *task) runGuest(text []byte, link, input fd, out *line) error {
	p := &process{argv: []string{"/init", "init"}, setup: t.Setup}
	var inner, outer [6]*os.File // standard streams, control, status and the job's standard error
	for i := range inner {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if inner[i], outer[i] = w, r; i == 0 || i == controlFD {
			inner[i], outer[i] = r, w
		}
	}
	who := jobUser{t.Machine.UID, t.Machine.GID}
	attr := &syscall.ProcAttr{Env: []string{"PATH=/usr/bin:/bin", "GOMAXPROCS=1", "GOGC=off"}, Sys: p.attributesOf(who)}
	attr.Sys.Credential = &syscall.Credential{Uid: uint32(who.UID), Gid: uint32(who.GID), NoSetGroups: true}
	for _, f := range inner {
		attr.Files = append(attr.Files, f.Fd())
	}
	pid, err := syscall.ForkExec(p.argv[0], p.argv, attr)
	if err != nil {
		return fmt.Errorf("start the job's process 1: %w", err)
	}
	for _, f := range inner {
		f.Close()
	}
	if _, err := outer[controlFD].Write(text); err != nil {
		return err
	}
	go passOn(link, outer[controlFD])
	go func() {
		io.Copy(outer[0], input)
		outer[0].Close()
	}()
	var streams sync.WaitGroup
	for i, kind := range map[int]byte{1: frameOut, 2: frameErr, statusFD: frameStatus, stderrFD: frameErr} {
		streams.Go(func() { io.Copy(out.stream(kind), outer[i]) })
	}
	streams.Wait()
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

// passOn hands signals to process 1; the end of its pipe has it kill the job.
func passOn(link io.Reader, control *os.File) {
	defer control.Close()
	for {
		kind, body, err := readFrame(link)
		if err != nil || kind == frameControl && len(body) == 0 {
			return
		}
		if kind == frameControl {
			control.Write(body) // a process 1 that is gone needs none
		}
	}
}

// sendBack sends what the job changed in its sandbox.
func sendBack(before map[string]mark, out *line) error {
	now, err := marks(guestSandbox)
	if err != nil {
		return err
	}
	var batch []string
	for name := range before {
		if _, ok := now[name]; !ok {
			batch = append(batch, name)
		}
	}
	for len(batch) > 0 {
		n := min(len(batch), 100) // of at most 4096 bytes each, in one frame
		list, err := json.Marshal(batch[:n])
		if err != nil {
			return err
		}
		if err := out.send(frameGone, list); err != nil {
			return err
		}
		batch = batch[n:]
	}
	changed := func(name string, info fs.FileInfo) bool { return before[name] != markOf(info) }
	if err := writeSome(context.Background(), out.stream(frameFiles), guestSandbox, changed); err != nil {
		return err
	}
	return out.send(frameEnd, nil)
}
