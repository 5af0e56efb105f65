package jdl

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// MaxTreeFiles is how many files a directory of the InputSandbox may hold, each
// of which is sent by itself.
const MaxTreeFiles = 5_000

// packHint is the way out for directories that cannot go along as they are.
const packHint = "pack it (tar) and let the job unpack it"

// addTree adds all files below a directory, under its name or dest; "." as dest
// puts them into the job's directory itself. A link to a file of the directory is that file.
func addTree(r *jobReader, e inputEntry, abs, dest string) {
	if dest == "" {
		dest = path.Base(abs)
	}
	root := strings.TrimPrefix(abs, "/")
	files, empty, err := treeFiles(r, root)
	switch {
	case errors.Is(err, errGlobTooWide) || len(files) > MaxTreeFiles:
		r.fail(e.pos, "directory", packHint, "InputSandbox: %s holds more than %d files", e.text, MaxTreeFiles)
		return
	case err != nil:
		r.fail(e.pos, "directory", packHint, "InputSandbox: %s: %v", e.text, err)
		return
	case len(files) == 0:
		r.warn(e.pos, "directory", "", "InputSandbox: there are no files in %s", e.text)
	case len(empty) > 0:
		r.warn(e.pos, "directory", packHint, "InputSandbox: %s: directories without a file are not brought: %d, %s among them",
			e.text, len(empty), strings.TrimPrefix(empty[0], root+"/"))
	}
	for _, f := range files {
		warnPrivate(r, e, "/"+f.path)
		n := len(r.job.InputSandbox)
		addInput(r, e, "/"+f.path, path.Join(dest, strings.TrimPrefix(strings.TrimPrefix(f.path, root), "/")))
		if len(r.job.InputSandbox) > n {
			r.job.InputSandbox[n].Executable = f.program
		}
	}
}

// treeFile is a file below a directory; one that may be executed here stays so.
type treeFile struct {
	path    string
	program bool
}

// treeFiles lists the files below a directory in order, and the directories in which there is nothing.
func treeFiles(r *jobReader, root string) (files []treeFile, empty []string, err error) {
	t := &tree{disk: r.cfg.root, left: &boundedFS{FS: r.cfg.root, left: maxGlobEntries}, root: root, real: realPath(r.cfg.root, "/"+root)}
	err = t.walk(root)
	slices.SortFunc(t.files, func(a, b treeFile) int { return strings.Compare(a.path, b.path) })
	return t.files, t.empty, err
}

// tree is a directory that is read. real is where it lies, were it named by a link.
type tree struct {
	disk       fs.FS
	left       *boundedFS
	root, real string
	files      []treeFile
	empty      []string
}

func (t *tree) walk(dir string) error { // fs.WalkDir does not enter a link, as which the directory may be named
	entries, err := t.left.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, cause(err))
	}
	if len(entries) == 0 {
		t.empty = append(t.empty, dir)
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if entry.IsDir() {
			err = t.walk(name)
		} else {
			err = t.add(name, entry.Type()&fs.ModeSymlink != 0)
		}
		if err != nil || len(t.files) > MaxTreeFiles {
			return err
		}
	}
	return nil
}

// add takes a file. A link leads to no file outside of the directory: who gave it to
// the user may not choose what else of the user's is sent.
func (t *tree) add(name string, link bool) error {
	short := strings.TrimPrefix(name, t.root+"/")
	if link {
		if at := realPath(t.disk, "/"+name); !strings.HasPrefix(at, t.real+"/") {
			return fmt.Errorf("the link %s leads out of it, to %s", short, at)
		}
	}
	info, err := fs.Stat(t.disk, name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", short, cause(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither file nor directory", short)
	}
	t.files = append(t.files, treeFile{name, info.Mode()&0o111 != 0})
	return nil
}
