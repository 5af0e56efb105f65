package jdl

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Nearby is what a description in another language may name besides the job's own
// files: further pieces of its text and lists of jobs, which hang below the same
// directory, and the environment of whoever submits.
type Nearby struct {
	cfg  jobConfig
	dirs []string
}

// NewNearby is what is near a description, as the options have it.
func NewNearby(file string, opts ...Option) *Nearby {
	cfg := newJobConfig(opts)
	n := &Nearby{cfg, []string{cfg.baseDir(file)}}
	if cfg.here != "" && cfg.here != n.dirs[0] {
		n.dirs = append(n.dirs, cfg.here)
	}
	return n
}

// In is what is near a description in a directory, which may be relative.
func (n *Nearby) In(dir string) *Nearby {
	in := &Nearby{cfg: n.cfg}
	for _, d := range n.dirs {
		in.dirs = append(in.dirs, "/"+below(d, dir))
	}
	return in
}

// Getenv is a variable of whoever submits; "" where there is none.
func (n *Nearby) Getenv(name string) string {
	if n.cfg.getenv == nil {
		return ""
	}
	return n.cfg.getenv(name)
}

// Now is the time at which the description is read.
func (n *Nearby) Now() time.Time { return n.cfg.now() }

// Read is the text of a file of at most 16 MB. Where that is one for its owner's eyes alone, as a description's reader would not
// think of it (by a link out of its directory, or from where names begin with a dot), private is where it lies.
func (n *Nearby) Read(name string) (text []byte, private string, err error) {
	var first error
	for _, dir := range n.dirs {
		rel := below(dir, name)
		info, err := fs.Stat(n.cfg.root, rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			first = fs.ErrNotExist
			continue
		case err != nil:
			return nil, "", cause(err)
		case !info.Mode().IsRegular():
			return nil, "", errors.New("it is no file")
		case info.Size() > maxNodeFile:
			return nil, "", fmt.Errorf("it is longer than %d MB", maxNodeFile>>20)
		}
		text, err = readFile(fileOf(n.cfg.root, rel))
		return text, privateAt(n.cfg.root, dir, "/"+rel), err
	}
	return nil, "", cause(first)
}

// Path is the absolute path of a file by its name.
func (n *Nearby) Path(name string) string { return "/" + below(n.dirs[0], name) }

// Nearest is the name that a file which is not there was probably meant to have; "" where none is near.
func (n *Nearby) Nearest(name string) string {
	for _, dir := range n.dirs {
		if near := nearestFile(n.cfg.root, below(dir, name), name); near != "" {
			return near
		}
	}
	return ""
}

// Has reports whether there is a file or a directory of a name.
func (n *Nearby) Has(name string) bool {
	return slices.ContainsFunc(n.dirs, func(dir string) bool {
		_, err := fs.Stat(n.cfg.root, below(dir, name))
		return err == nil
	})
}

// Glob is the names that a pattern matches, in order, as relative as the pattern
// is; those of directories end in a slash.
func (n *Nearby) Glob(pattern string) ([]string, error) {
	for _, dir := range n.dirs {
		found, err := globWithin(n.cfg.root, below(dir, pattern))
		if err != nil {
			return nil, err
		}
		var names []string
		for _, at := range found {
			if strings.HasPrefix(path.Base(at), ".") && !strings.HasPrefix(path.Base(pattern), ".") {
				continue
			}
			name := "/" + at
			if !path.IsAbs(pattern) {
				name = strings.TrimPrefix(name, strings.TrimSuffix(path.Clean(dir), "/")+"/")
			}
			if info, err := fs.Stat(n.cfg.root, at); err == nil && info.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
		if len(names) > 0 {
			return names, nil
		}
	}
	return nil, nil
}

// below is a name, or a pattern, from the root of the file system.
func below(dir, name string) string {
	if !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	return strings.TrimPrefix(path.Clean(name), "/")
}
