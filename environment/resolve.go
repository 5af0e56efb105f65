package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links one path may pass, as in the kernel, and maxSteps of how many folders and links its way
// may be in all: targets such as "a/../a/../a" make ways of any length.
const (
	maxLinks = 40
	maxSteps = 1000
)

// resolve follows the symbolic links of a folder's path as the image means them: an absolute target starts at the tree,
// and ".." ends there. With create, folders that are missing are made. The result has no link in it, so that os.Root
// opens exactly it.
func (u *unpacker) resolve(dir string, create bool) (string, error) {
	rest := strings.Split(dir, "/")
	at, links := ".", 0
	for steps := 0; len(rest) > 0; steps++ {
		switch {
		case steps > maxSteps:
			return "", &UnpackError{dir, "takes too many steps"}
		case len(at) > maxPath || strings.Count(at, "/") >= maxDepth:
			return "", &UnpackError{dir, "leads too deep"}
		}
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		target, err := u.step(next, create)
		if err != nil {
			return "", err
		}
		if target == "" {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", &UnpackError{dir, "passes too many symbolic links"}
		}
		if path.IsAbs(target) {
			at = "."
		}
		rest = slices.Concat(strings.Split(target, "/"), rest)
	}
	return at, nil
}

// step looks at one part of a path: a folder gives "", a symbolic link its target.
func (u *unpacker) step(name string, create bool) (target string, err error) {
	info, err := u.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		if u.left.Entries--; u.left.Entries < 0 {
			return "", &UnpackError{name, "is one too many: the image has more entries than are allowed"}
		}
		u.layer[name] = true
		u.made(name)
		return "", u.root.Mkdir(name, 0o755)
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return u.root.Readlink(name)
	case !info.IsDir():
		return "", &UnpackError{name, fmt.Sprintf("is a %s where a folder is needed", info.Mode().Type())}
	}
	if create {
		u.layer[name] = true // with what comes to lie in it
	}
	return "", nil
}

// finish gives the folders their modes and times, the deepest first.
func (u *unpacker) finish() error {
	names := make([]string, 0, len(u.folder))
	for name := range u.folder {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) })
	for _, name := range names {
		meta := u.folder[name]
		if err := u.root.Chmod(name, meta.mode); err != nil {
			return err
		}
		if err := u.root.Chtimes(name, meta.time, meta.time); err != nil {
			return err
		}
	}
	return nil
}

// places makes the files and folders that launchers mount upon where the image lacks them.
func (u *unpacker) places() error {
	for _, name := range etcPlaces.folders {
		if err := u.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, name := range etcPlaces.files {
		if _, err := u.resolve(path.Dir(name), true); err != nil {
			return err
		}
		if _, err := u.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
