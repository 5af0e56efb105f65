// Package durable writes what must outlast a loss of power: when one of its
// functions returns, what it did is on disk, names included.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// MkdirAll makes a directory and those it lies in, as os.MkdirAll. The names
// of those it made are on disk when it returns.
func MkdirAll(dir string, mode fs.FileMode) error {
	dir = filepath.Clean(dir)
	have := dir // the last of the path that is there
	for have != filepath.Dir(have) {
		if _, err := os.Stat(have); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		have = filepath.Dir(have)
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	for dir != have {
		dir = filepath.Dir(dir)
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncDir puts the names in a directory on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncNames puts the names of files below a root on disk, those of the directories
// that they lie in included.
func SyncNames(root *os.Root, files []string) error {
	dirs := map[string]bool{".": true}
	for _, name := range files {
		for dir := filepath.Dir(name); !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		d, err := root.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile replaces a file atomically in a directory of the program's own: readers see the old or the new one,
// also after a loss of power. Its mode is 0600. What writers that were killed have left beside it goes.
func WriteFile(path string, data []byte) error {
	if err := Replace(path, unfinished+"*", 0o600, data); err != nil {
		return err
	}
	Sweep(filepath.Dir(path), unfinished)
	return nil
}

// unfinished begins the names of files that are being written.
const unfinished = ".new-"

// abandoned is how long nobody has written to a file that a writer which was killed has left.
const abandoned = 10 * time.Minute

// Sweep removes from a directory what writers that were killed have left of files whose names are a prefix and digits: files of
// this user that nobody has written to for ten minutes.
func Sweep(dir, prefix string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || rest == "" || strings.Trim(rest, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < abandoned {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Replace is WriteFile with another mode, and with the pattern of the name that
// the file has beside its place until it is whole (os.CreateTemp).
func Replace(path, pattern string, mode fs.FileMode, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), pattern)
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Rename puts a file in another's place, what is in it included.
func Rename(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}
