package durable

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Named lists what lies below a directory under names that match a pattern of path.Match, in order, each with the directory before
// it. The directory's own name is no pattern, as filepath.Glob would take it to be: one with a bracket in it would have nothing.
// Nothing is in a directory that cannot be read; an error is the pattern's.
func Named(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}
