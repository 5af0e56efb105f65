package environment

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// plainSource opens a mount's source without following a link in any part of its path: what the site allowed is what
// gets mounted. The descriptor keeps it so until the launcher has mounted it.
func plainSource(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, sourceError(path, err)
	}
	return fd, nil
}

func sourceError(path string, err error) error {
	if errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("mount %s: its path passes symbolic links, which are not followed", path)
	}
	return fmt.Errorf("mount %s: %w", path, err)
}
