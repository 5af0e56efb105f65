package environment

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is how long a machine has until our program inside answers, on a node that is busy too.
const bootTime = 90 * time.Second

// runMachine is the supervisor of a machine on the node. It stands where process 1 is with other launchers, with the
// same descriptors: it hands the sandbox and the task to the machine, what comes over the control pipe too, and brings
// back the streams, the status and the sandbox.
func runMachine(errs io.Writer) int {
	runtime.LockOSThread() // the machine ends with this thread
	for _, n := range []int{controlFD, statusFD, stderrFD} {
		unix.CloseOnExec(n)
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	control := bufio.NewReader(fd(controlFD))
	t, err := readTask(control)
	if err == nil {
		err = t.inMachine(control)
	}
	if err != nil {
		fmt.Fprintln(errs, oneLine(err))
		return exitNotDeployed
	}
	return 0
}

func (t *task) inMachine(control io.Reader) error {
	m, sandbox := t.Machine, t.Setup.Sandbox
	squash := exec.Command(m.Squash, t.Setup.Tree, filepath.Join(m.Bundle, "disk"), "-noI", "-noD", "-noF", "-noX", "-no-xattrs", "-no-progress", "-quiet")
	squash.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if out, err := squash.CombinedOutput(); err != nil {
		return fmt.Errorf("mksquashfs: %w: %s", err, strings.TrimSpace(string(out)))
	}
	host, err := m.start()
	if err != nil {
		return err
	}
	defer host.end()
	t.Setup.Tree, t.Setup.Sandbox = guestTree, guestSandbox
	kind, body, err := readFrame(host.link)
	switch {
	case kind == frameFailed:
		return fmt.Errorf("in the machine: %s", body)
	case err != nil || kind != frameReady:
		return fmt.Errorf("the machine did not come up: %w; its console: %s", cmp.Or(err, errors.New("no answer")), host.console())
	}
	host.link.SetReadDeadline(time.Time{})
	given := make(chan error, 1)
	go func() {
		err := host.give(t, sandbox, control)
		given <- err
		if err != nil {
			host.cmd.Process.Kill()
		}
	}()
	err = host.bring(sandbox, m.Memory)
	select {
	case why := <-given:
		return cmp.Or(why, err)
	default:
		return err
	}
}

// give sends the sandbox and the task, and then what else comes for the job.
func (h *host) give(t *task, sandbox string, control io.Reader) error {
	out := &line{w: h.link}
	if err := writeTar(context.Background(), out.stream(frameFiles), sandbox); err != nil {
		return fmt.Errorf("copy the sandbox into the machine: %w", err)
	}
	text, err := json.Marshal(t)
	if err == nil {
		err = out.send(frameTask, append(text, '\n'))
	}
	if err != nil {
		return err
	}
	go h.obey(control, out)
	go func() {
		io.Copy(h.input, os.Stdin) // a job that reads no more needs no more
		shutWrite(h.input)
	}()
	return nil
}

// A host is a machine that runs.
type host struct {
	cmd         *exec.Cmd
	dir         string
	link, input *os.File
}

// start runs QEMU in the bundle. Signals that batch systems send to every process would end it: it has them blocked.
func (m *machine) start() (*host, error) {
	h := &host{dir: m.Bundle, cmd: exec.Command(m.QEMU, m.arguments()...)}
	h.cmd.Dir, h.cmd.SysProcAttr = m.Bundle, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	h.cmd.Env = []string{"PATH=/usr/bin:/bin"}
	said, err := os.Create(filepath.Join(m.Bundle, "qemu"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	h.cmd.Stdout, h.cmd.Stderr = said, said
	for _, ours := range []**os.File{&h.link, &h.input} {
		theirs, err := pair(ours)
		if err != nil {
			return nil, err
		}
		defer theirs.Close()
		h.cmd.ExtraFiles = append(h.cmd.ExtraFiles, theirs)
	}
	var block, was unix.Sigset_t
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		block.Val[0] |= 1 << (sig - 1)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, &was); err != nil {
		return nil, err
	}
	err = h.cmd.Start()
	if err := errors.Join(err, unix.PthreadSigmask(unix.SIG_SETMASK, &was, nil)); err != nil {
		return nil, err
	}
	h.link.SetReadDeadline(time.Now().Add(bootTime))
	return h, nil
}

// pair makes a socket of ours and the other end of it.
func pair(ours **os.File) (*os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "socket")
	err = unix.SetNonblock(fds[0], true) // and so it has deadlines
	*ours = os.NewFile(uintptr(fds[0]), "socket")
	return theirs, err
}

// shutWrite tells the other end of a socket that no more comes.
func shutWrite(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(n uintptr) { unix.Shutdown(int(n), unix.SHUT_WR) }) // an end that is gone needs none
	}
}

// arguments are those of QEMU 7.2 or newer: no device but a disk that is read alone and two serial lines. The kernel's
// own measure of its clock hangs on a node that is busy: it is given, and need not be true.
func (m *machine) arguments() []string {
	return []string{
		"-M", "microvm,isa-serial=on,rtc=on,auto-kernel-cmdline=on", "-accel", "tcg", "-m", fmt.Sprint(m.Memory >> 20), "-smp", fmt.Sprint(m.Processors),
		"-no-reboot", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "file:console", "-monitor", "none",
		"-kernel", "kernel", "-initrd", "initrd",
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off tsc_early_khz=2000000 lpj=4000000 edd=off rdinit=/init -- guest",
		"-drive", "id=disk,file=disk,format=raw,if=none,readonly=on", "-device", "virtio-blk-device,drive=disk",
		"-device", "virtio-serial-device",
		"-chardev", "socket,id=link,fd=3", "-device", "virtserialport,chardev=link,name=link",
		"-chardev", "socket,id=input,fd=4", "-device", "virtserialport,chardev=input,name=input",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	}
}

// console is the end of what the machine's kernel and QEMU said.
func (h *host) console() string {
	var text []byte
	for _, name := range []string{"qemu", "console"} {
		part, _ := os.ReadFile(filepath.Join(h.dir, name))
		text = append(text, part...)
	}
	return strings.Join(strings.Fields(string(text[max(0, len(text)-400):])), " ")
}

// end turns the machine off: all that it had to say was read.
func (h *host) end() {
	h.cmd.Process.Kill()
	h.cmd.Wait()
	h.link.Close()
	h.input.Close()
}

// obey hands on signals. When the supervisor is gone, the job is killed inside; what it wrote comes back if that does
// not take long.
func (h *host) obey(control io.Reader, out *line) {
	for {
		var b [1]byte
		_, err := control.Read(b[:])
		if err == nil {
			err = out.send(frameControl, b[:])
		}
		if err != nil {
			out.send(frameControl, nil) // a machine that hears no more is turned off
			time.Sleep(machineLinger)
			h.cmd.Process.Kill()
			return
		}
	}
}

// bring hands on what the machine says until it has said all. How the job ended is told when its files are back.
func (h *host) bring(sandbox string, memory int64) (err error) {
	files, words := newTaker(sandbox, memory), os.NewFile(stderrFD, "standard error")
	var ended []byte
	started := false
	defer func() {
		if started && err != nil { // the supervisor tells of launchers alone
			fmt.Fprintln(words, "grid-launch:", oneLine(err))
		}
	}()
	for {
		kind, body, err := readFrame(h.link)
		if err != nil {
			return fmt.Errorf("the machine went away: %w", err)
		}
		switch kind {
		case frameOut:
			_, err = os.Stdout.Write(body)
		case frameErr:
			_, err = words.Write(body)
		case frameStatus:
			if string(body) == "started\n" {
				started = true
				_, err = fd(statusFD).Write(body)
			} else if ended = append(ended, body...); len(ended) > 64<<10 {
				return errors.New("the machine tells too much")
			}
		case frameGone:
			err = files.remove(body)
		case frameFiles:
			err = files.write(body)
		case frameFailed:
			return fmt.Errorf("in the machine: %s", body)
		case frameEnd:
			if err = files.close(); err == nil {
				_, err = fd(statusFD).Write(ended)
			}
			return err
		}
		if err != nil && kind != frameOut && kind != frameErr { // a reader of the job's words may leave
			return err
		}
	}
}
