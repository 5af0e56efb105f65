package plugins

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
)

// ErrNoRoom is a file that is not brought, as it is larger than what may be brought.
var ErrNoRoom = errors.New("too large")

// Room is what the files of one or several fetches may have together. It is asked
// before a file is brought, by what its server says of its size: none is without
// end, for a server's list is held to. Its methods are safe for concurrent use; a nil
// Room lets everything in.
type Room struct {
	most int64 // bytes; 0: nine tenths of what is free at the first file

	mu    sync.Mutex
	asked bool
	free  int64
	taken int64
}

// NewRoom is room for so many bytes, or for 0 nine tenths of what is free on the disk.
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
			r.free, _ = FreeBytes(dir) // of what cannot be asked nothing is filled
		}
		limit, whose = r.free/10*9, "of what is free in "+filepath.Dir(dir)+" may be filled"
	}
	if size <= limit-r.taken {
		r.taken += size
		return nil
	}
	return &Error{Kind: Refused, Op: "fetch " + name, Endpoint: endpoint, Err: ErrNoRoom,
		Said: fmt.Sprintf("not brought: it is listed with %s, and %s %s", sizeText(size), sizeText(limit-r.taken), whose),
		Hint: fmt.Sprintf("make room, or name by --file what you want; grid output --max-size %dMB lets as much in", (r.taken+size)>>20+1)}
}

// FreeBytes is what an ordinary user may still fill where a directory is.
func FreeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return max(0, min(int64(st.Bavail), 1<<40)) * int64(st.Bsize), nil // below 0 where only root may go on
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
