package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// PlaceOf tells which file or directory a path leads to: its number in the file system and,
// where that keeps it, when it was made.
func PlaceOf(path string) (string, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return "", fmt.Errorf("statx %s: %w", path, err)
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return fmt.Sprint(st.Ino), nil
	}
	return fmt.Sprintf("%d %d.%09d", st.Ino, st.Btime.Sec, st.Btime.Nsec), nil
}
