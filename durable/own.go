package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// OwnRoot makes a directory, and those it lies in, as MkdirAll, and opens it. Where its
// name is taken already it has to be a directory, of the user or of whom the directory
// above belongs to, and no link: in a directory that others can write to they could have
// put it there, to have files written elsewhere or to where they can change them. Links
// on the way to it are followed.
func OwnRoot(dir string, mode fs.FileMode) (*os.Root, error) {
	dir = filepath.Clean(dir)
	above := filepath.Dir(dir)
	if err := MkdirAll(above, mode); err != nil {
		return nil, err
	}
	err := os.Mkdir(dir, mode)
	switch {
	case err == nil:
		err = syncDir(above)
	case errors.Is(err, fs.ErrExist):
		err = nobodyElses(dir, above)
	}
	if err != nil {
		return nil, err
	}
	return openSame(dir)
}

// OpenOwn opens such a directory once more: where a link or somebody else's has taken its place meanwhile, that is an error.
func OpenOwn(dir string) (*os.Root, error) {
	dir = filepath.Clean(dir)
	if err := nobodyElses(dir, filepath.Dir(dir)); err != nil {
		return nil, err
	}
	return openSame(dir)
}

// nobodyElses says what is wrong with what lies at a directory's name.
func nobodyElses(dir, above string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link, which somebody else may have put there: remove it, or choose another directory", dir)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is there, and is no directory", dir)
	}
	parent, err := os.Stat(above)
	if err != nil {
		return err
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	of, well := parent.Sys().(*syscall.Stat_t)
	if ok && well && int(have.Uid) != os.Geteuid() && have.Uid != of.Uid {
		return fmt.Errorf("%s belongs to another user (%d), who could change what is brought there: choose another directory", dir, have.Uid)
	}
	return nil
}

// openSame opens a directory and makes sure that no link has taken its place.
func openSame(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	open, err := root.Stat(".")
	if err == nil {
		var named fs.FileInfo
		if named, err = os.Lstat(dir); err == nil && !os.SameFile(open, named) {
			err = fmt.Errorf("%s is another directory than it was a moment ago", dir)
		}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}
