package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links lead to a file at most (MAXSYMLINKS of Linux).
const maxLinks = 40

// OthersCanExchange looks at all that a path leads through, links and what they name included: where somebody else than a
// user could put another file at its end, at is the place and why says what is wrong with it. Everything must belong to the
// user or to root and be writable by nobody else. Sticky directories are well, and so is a group of the user's alone (one of
// the user's own number). A path that ends at nothing is an error.
func OthersCanExchange(path string, uid int) (at, why string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	at, rest := "/", strings.Split(path, "/")
	for links := 0; ; {
		info, err := os.Lstat(at)
		if err != nil {
			return "", "", err
		}
		if why := exchangedBy(info, uid); why != "" {
			return at, why, nil
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(at)
			if links++; err != nil || links > maxLinks {
				return "", "", &fs.PathError{Op: "readlink", Path: at, Err: orLoop(err)}
			}
			rest = append(strings.Split(target, "/"), rest...)
			if at = filepath.Dir(at); filepath.IsAbs(target) {
				at = "/"
			}
		}
		if len(rest) == 0 {
			return "", "", nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // what "." and ".." lead to was looked at
	}
}

func orLoop(err error) error {
	if err == nil {
		return syscall.ELOOP
	}
	return err
}

// exchangedBy says who else may write to a file or directory, or change where a link leads; "": nobody.
func exchangedBy(info fs.FileInfo, uid int) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	if st.Uid != 0 && int(st.Uid) != uid {
		return fmt.Sprintf("it belongs to user %d", st.Uid)
	}
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 || mode.IsDir() && mode&fs.ModeSticky != 0 {
		return ""
	}
	if mode.Perm()&0o002 != 0 || mode.Perm()&0o020 != 0 && int(st.Gid) != uid {
		return fmt.Sprintf("its mode is %04o", mode.Perm())
	}
	return ""
}
