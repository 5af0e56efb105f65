package cli

import (
	"archive/tar"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// runInputs sorts what --in names into files and directories.
func runInputs(d *deps, names []string) (files, dirs []string, err error) {
	for _, name := range names {
		info, err := os.Stat(abs(d, name))
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("--in %s: %w", name, err)
		case info.IsDir():
			dirs = append(dirs, name)
		default:
			files = append(files, name)
		}
	}
	return files, dirs, nil
}

// pack makes an archive of each directory, for a sandbox knows files only. The archives lie in a directory of their own
// until the job has been sent; clean removes them.
func packDirs(d *deps, dirs []string) (files []string, clean func(), err error) {
	tmp, err := os.MkdirTemp("", "grid-run")
	if err != nil {
		return nil, func() {}, err
	}
	clean = func() { os.RemoveAll(tmp) }
	for i, dir := range dirs {
		file := filepath.Join(tmp, fmt.Sprintf("grid-in-%d.tar", i+1))
		if err := packDir(file, abs(d, dir)); err != nil {
			return nil, clean, fmt.Errorf("--in %s: %w", dir, err)
		}
		files = append(files, file)
	}
	return files, clean, nil
}

// packDir writes the files, directories and links below a directory into a tar archive, under the directory's name.
func packDir(file, dir string) (err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	w := tar.NewWriter(out)
	top, err := filepath.EvalSymlinks(dir) // WalkDir does not enter a link
	if err != nil {
		return err
	}
	err = filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		return packEntry(w, name, cmp.Or(strings.TrimPrefix(filepath.Join(filepath.Base(dir), rel), "/"), "."), e)
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func packEntry(w *tar.Writer, name, rel string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	link := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if link, err = os.Readlink(name); err != nil {
			return err
		}
	case !info.Mode().IsRegular() && !info.IsDir():
		return fmt.Errorf("%s is neither file, directory nor link", name)
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uname, h.Gname, h.Uid, h.Gid = filepath.ToSlash(rel), "", "", 0, 0
	h.ModTime = h.ModTime.Truncate(time.Second) // rounded up it may be in the future, and the job's tar would say so
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
