package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gridbroker/durable/sqlite"
)

// OpenCopy opens a copy of DIR/jobs.db that is thrown away when it is closed: what
// is recorded can be read where nothing can be written, as on a full disk. Where
// there is no such file nothing is recorded, and the copy is empty.
func OpenCopy(dir string, now func() time.Time) (*SQLite, error) {
	var failed error
	for _, at := range []string{os.TempDir(), "/dev/shm"} {
		discardKilled(at, copies)
		temp, err := os.MkdirTemp(at, fmt.Sprintf("%s%d-*", copies, os.Getpid()))
		if err == nil {
			var s *SQLite
			if err = copyRecords(dir, temp); err == nil || errors.Is(err, fs.ErrNotExist) {
				s, err = openFile(temp, now)
			}
			if err == nil {
				s.temp, s.dir = temp, dir // what is told is of the records
				return s, nil
			}
			os.RemoveAll(temp)
		}
		failed = cmp.Or(failed, err)
	}
	return nil, fmt.Errorf("a copy of the job records: %w", failed)
}

// copies begins the names of copies; the process that has it follows.
const copies = "grid-records-"

// discardKilled removes this user's files and directories of processes that were killed: their names are a
// word that ends in "-", the process and more. Others may write to the directory and take such names: what is not
// the user's own stays, root's commands included.
func discardKilled(dir, word string) {
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		rest, ours := strings.CutPrefix(e.Name(), word)
		text, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(text)
		if !ours || err != nil || pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// copyRecords copies the database and its write-ahead log, or what of these is named.
func copyRecords(from, to string, names ...string) error {
	if names == nil {
		names = []string{"jobs.db", "jobs.db-wal"}
	}
	if err := sqlite.CheckFiles(filepath.Join(from, "jobs.db")); err != nil {
		return err
	}
	for _, name := range names {
		err := copyFile(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && name != "jobs.db") {
			return err
		}
	}
	return nil
}

// copyFile copies to a new file, which is its owner's alone.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return copyTo(in, to)
}

// copyTo writes a new file, which is its owner's alone.
func copyTo(in io.Reader, to string) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Unwritable reports whether an error of OpenStore is that nothing can be written,
// while what is there may well be read.
func Unwritable(err error) bool { return sqlite.Unwritable(err) }
