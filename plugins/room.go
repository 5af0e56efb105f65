package plugins

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"

	"gridbroker/jdl"
)

// ErrNoRoom is a file that is not brought or not taken, as it is larger than there is room for.
var ErrNoRoom = errors.New("too large")

// Room is what the files of one or several fetches may have together. It is asked
// before a file is brought, by what its server says of its size: none is without
// end, for a server's list is held to. Its methods are safe for concurrent use; a nil
// Room lets everything in.
type Room struct {
	most int64 // bytes; 0: nine tenths of what is free at the first file, a gigabyte where that cannot be known

	mu    sync.Mutex
	asked bool
	free  int64
	why   error // what is free is not known
	taken int64
}

// unknownRoom is how many bytes are let into a file system that does not tell its size.
const unknownRoom = 1 << 30

// NewRoom is room for so many bytes, or for 0 nine tenths of what is free on the disk; a gigabyte where that does not tell its size.
func NewRoom(most int64) *Room { return &Room{most: most} }

// Take takes room for a file of so many bytes below a directory that is there. Where there is none
// left it tells so, by an error that is ErrNoRoom.
func (r *Room) Take(dir, endpoint, name string, size int64) error {
	if r == nil || size <= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	limit, whose := r.most, "may be brought"
	if limit == 0 {
		if !r.asked {
			r.asked = true
			r.free, r.why = FreeBytes(dir) // of what cannot be asked nothing is filled
		}
		limit, whose = r.free/10*9, "of what is free in "+filepath.Dir(dir)+" may be filled"
		if errors.Is(r.why, errNoSize) {
			limit, whose = unknownRoom, "are let into "+filepath.Dir(dir)+", whose file system does not tell its size"
		}
	}
	if size <= limit-r.taken {
		r.taken += size
		return nil
	}
	return &Error{Kind: Refused, Op: "fetch " + name, Endpoint: endpoint, Err: ErrNoRoom,
		Said: fmt.Sprintf("not brought: it is listed with %s, and %s %s", sizeText(size), sizeText(limit-r.taken), whose),
		Hint: fmt.Sprintf("make room, or name by --file what you want; grid output --max-size %dMB lets as much in", (r.taken+size)>>20+1)}
}

// errNoSize is that a file system, as some of FUSE are, tells of no blocks at all, neither free nor taken.
var errNoSize = errors.New("the file system does not tell its size")

// FreeBytes is what an ordinary user may still fill where a directory is.
func FreeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	if st.Blocks == 0 {
		return 0, errNoSize
	}
	return max(0, min(int64(st.Bavail), 1<<40)) * int64(st.Bsize), nil // below 0 where only root may go on
}

// Fit is an error, which is ErrNoRoom, where a directory's disk has no room for copies of the input files of a job. It names the
// first that does not fit, and is told before anything is written: a sparse file of terabytes would fill the disk first.
func Fit(dir string, files []jdl.InputFile) error {
	free, err := FreeBytes(dir)
	if err != nil {
		return nil // whoever writes there is told
	}
	for _, f := range files {
		size := f.Size()
		if size > free {
			return fmt.Errorf("input file %s is %w: it has %s, and %s are free for it in %s", f.Name, ErrNoRoom, sizeText(size), sizeText(free), dir)
		}
		free -= size
	}
	return nil
}

func sizeText(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 50, "PB"}, {1 << 40, "TB"}, {1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "kB"}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", max(0, n))
}
