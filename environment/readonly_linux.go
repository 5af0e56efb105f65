package environment

import "golang.org/x/sys/unix"

// readOnly tells whether a file lies on a file system that is not written to from here.
func readOnly(file string) bool {
	var at unix.Statfs_t
	return unix.Statfs(file, &at) == nil && at.Flags&unix.ST_RDONLY != 0
}
