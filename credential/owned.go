package credential

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Owned refuses a file that somebody else could have written: it and every
// directory it lies in must belong to the user or to root and be writable by
// nobody else, as ssh asks of its own. Sticky directories are well, and so is a
// group of the user's alone (one of the user's own number). A file that is not
// there is well too.
func Owned(env Env, path string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ignoreAbsent(err)
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return ignoreAbsent(err)
		}
		if why := writableByOthers(env, info); why != "" {
			return problem("file.owner", at, "others could have written to it", why, "chown it to you, or: chmod go-w "+quote(at))
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func ignoreAbsent(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// writableByOthers says who else may write to a file or directory; "" nobody.
func writableByOthers(env Env, info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	if st.Uid != 0 && int(st.Uid) != env.UID {
		return fmt.Sprintf("it belongs to user %d", st.Uid)
	}
	mode := info.Mode()
	if mode.IsDir() && mode&fs.ModeSticky != 0 {
		return ""
	}
	if mode.Perm()&0o002 != 0 || mode.Perm()&0o020 != 0 && int(st.Gid) != env.UID {
		return fmt.Sprintf("its mode is %04o", mode.Perm())
	}
	return ""
}
