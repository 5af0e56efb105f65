package jdl

import (
	"errors"
	"io"
	"io/fs"
	"slices"
)

// maxGlobEntries is how many names a pattern may look at: 100,000 are read in
// well under a second. A pattern over the whole file system would never end.
const maxGlobEntries = 100_000

// errGlobTooWide is that a pattern looks at more than maxGlobEntries names.
var errGlobTooWide = errors.New("the pattern looks at more than 100,000 names")

// boundedFS is a file system of which no more than left names are read.
type boundedFS struct {
	fs.FS
	left int
}

// ReadDir implements fs.ReadDirFS.
func (b *boundedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if b.left <= 0 {
		return nil, errGlobTooWide
	}
	f, err := b.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.ErrUnsupported}
	}
	entries, err := dir.ReadDir(b.left + 1)
	if err == io.EOF { // an empty directory
		err = nil
	}
	if b.left -= len(entries) + 1; b.left <= 0 { // an empty directory costs, too
		return nil, errGlobTooWide
	}
	return entries, err
}

// Stat implements fs.StatFS.
func (b *boundedFS) Stat(name string) (fs.FileInfo, error) {
	if b.left--; b.left <= 0 {
		return nil, errGlobTooWide
	}
	return fs.Stat(b.FS, name)
}

// globWithin is fs.Glob within the budget.
func globWithin(fsys fs.FS, pattern string) ([]string, error) {
	b := &boundedFS{FS: fsys, left: maxGlobEntries}
	found, err := fs.Glob(b, pattern)
	slices.Sort(found)             // ReadDir gives the names as the directory has them
	if err == nil && b.left <= 0 { // Glob itself ignores what cannot be read
		err = errGlobTooWide
	}
	return found, err
}
