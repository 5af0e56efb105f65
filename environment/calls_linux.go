package environment

import (
	"errors"
	"fmt"
	"os"
	"path"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A call is one system call of a list that is made before and runs without Go's runtime: in a process that was forked
// and has nothing but the thread that called.
type call struct {
	number uintptr
	args   [6]uintptr
	// take and keep number the descriptor that the call takes as its first argument and the one that its result is kept
	// as; 0: none.
	take, keep uint8
	may        syscall.Errno // that is as good as success
	always     bool          // whatever it ends with
}

// calls is a list of system calls, and what to say where one of them fails.
type calls struct {
	list []call
	why  []func(error) error
	held []any // what the arguments point to
	err  error // of an argument that cannot be one
}

// add puts a call at the end of the list. Arguments are numbers, texts, and pointers to what lives on the heap.
func (c *calls) add(why func(error) error, number uintptr, args ...any) *call {
	next := call{number: number}
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			next.args[i] = uintptr(v)
		case uintptr:
			next.args[i] = v
		case string:
			p, err := unix.BytePtrFromString(v)
			c.err = errors.Join(c.err, err)
			c.held = append(c.held, p)
			next.args[i] = uintptr(unsafe.Pointer(p))
		case unsafe.Pointer:
			c.held = append(c.held, v)
			next.args[i] = uintptr(v)
		}
	}
	c.list, c.why = append(c.list, next), append(c.why, why)
	return &c.list[len(c.list)-1]
}

// run makes all calls of the list, by the calling thread.
func (c *calls) run() error {
	if c.err != nil {
		return c.err
	}
	if i, e := runCalls(c.list); e != 0 {
		return c.why[i](e)
	}
	return nil
}

// runCalls makes calls up to the first that fails, and tells which that was and how it did. It uses nothing of Go's
// runtime, so that it also works in a process that was forked.
//
//go:nosplit
//go:norace
func runCalls(list []call) (int, syscall.Errno) {
	var kept [3]uintptr
	for i := range list {
		c := &list[i]
		if c.take != 0 {
			c.args[0] = kept[c.take%3]
		}
		r, _, e := syscall.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if e != 0 && e != c.may && !c.always {
			return i, e
		}
		kept[c.keep%3] = r // kept[0] is nobody's
	}
	return 0, 0
}

// saying wraps the error of a call.
func saying(format string, args ...any) func(error) error {
	return func(err error) error { return fmt.Errorf(format+": %w", append(args, err)...) }
}

// place asks for a place of the tree, which must be there itself and no link.
func (c *calls) place(full, name string) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	c.add(func(err error) error {
		if errors.Is(err, unix.ELOOP) {
			return fmt.Errorf("the image's %s is a symbolic link: nothing is mounted upon it", name)
		}
		return fmt.Errorf("the image has no %s to mount upon: %w", name, err)
	}, unix.SYS_OPENAT2, unix.AT_FDCWD, full, unsafe.Pointer(how), int(unix.SizeofOpenHow)).keep = 1
	c.close(1)
}

func (c *calls) close(kept uint8) { c.add(saying("close"), unix.SYS_CLOSE).take = kept }

func (c *calls) mount(why func(error) error, source, target, kind string, flags uintptr, data string) *call {
	return c.add(why, unix.SYS_MOUNT, source, target, kind, flags, data)
}

// bind mounts source at target without set-id bits and devices. The flags are those that the source's own mount has: they
// stay, since a user namespace may not clear them. What is missing is an error unless it may be.
func (c *calls) bind(source, target string, flags uintptr, may syscall.Errno) {
	c.mount(saying("bind %s at %s", source, target), source, target, "", unix.MS_BIND|unix.MS_REC, "").may = may
	c.remount(target, flags, may)
}

func (c *calls) remount(target string, flags uintptr, may syscall.Errno) {
	why := saying("bind %s read-only=%t", target, flags&unix.MS_RDONLY != 0)
	c.mount(why, "", target, "", unix.MS_BIND|unix.MS_REMOUNT|flags, "").may = may
}

// bindOpened mounts what the first kept descriptor is open at.
func (c *calls) bindOpened(source, target string, flags uintptr) {
	const tree = unix.OPEN_TREE_CLONE | unix.AT_RECURSIVE | unix.AT_EMPTY_PATH | unix.OPEN_TREE_CLOEXEC
	why := saying("bind %s at %s", source, target)
	open := c.add(why, unix.SYS_OPEN_TREE, 0, "", tree)
	open.take, open.keep = 1, 2
	c.add(why, unix.SYS_MOVE_MOUNT, 0, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH).take = 2
	c.close(2)
	c.close(1)
	c.remount(target, flags, 0)
}

// file makes a file with a text, and its folders below top where they are not there yet.
func (c *calls) file(top, name, text string) {
	for dir := range parents(name) {
		c.add(saying("make %s", dir), unix.SYS_MKDIRAT, unix.AT_FDCWD, path.Join(top, dir), 0o755).may = unix.EEXIST
	}
	full := path.Join(top, name)
	why := saying("make %s", full)
	c.add(why, unix.SYS_OPENAT, unix.AT_FDCWD, full, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644).keep = 1
	c.text(why, text)
}

// text writes a text to the first kept descriptor, and closes it.
func (c *calls) text(why func(error) error, text string) {
	if text != "" {
		c.add(why, unix.SYS_WRITE, 0, text, len(text)).take = 1
	}
	c.close(1)
}

// parents are the folders that a relative name lies in, the topmost first.
func parents(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if name[i] == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

// keptOf are the flags of a place's mount that a user namespace may not clear.
func keptOf(place string) uintptr {
	var st unix.Statfs_t
	if unix.Statfs(place, &st) != nil {
		return 0 // to mount it says why
	}
	flags := uintptr(st.Flags & keptFlags)
	if place == os.DevNull {
		return flags | uintptr(st.Flags&unix.ST_NODEV) | unix.MS_NOSUID
	}
	return flags | unix.MS_NOSUID | unix.MS_NODEV
}
