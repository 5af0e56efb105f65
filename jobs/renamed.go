package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gridbroker/durable"
)

// rename gives the files that were brought the names that the job's description has for them here. One that
// somebody else has renamed meanwhile is right already.
func (s *source) rename() error {
	job, err := s.Job()
	if err != nil || len(s.files) == 0 {
		return nil
	}
	var root *os.Root
	var errs []error
	for _, out := range job.OutputSandbox {
		if out.Back == "" || out.DestURL != "" {
			continue
		}
		if root == nil {
			if root, err = durable.OpenOwn(s.dir); err != nil {
				return err
			}
			defer root.Close()
			s.files = slices.Clone(s.left)
		}
		was := path.Clean(out.Name)
		for i, name := range s.left {
			rest, below := strings.CutPrefix(name, was+"/")
			if name != was && !below {
				continue
			}
			to := path.Join(out.Back, rest)
			if name == was {
				to = out.Back
			}
			if slices.Contains(s.left, to) {
				errs = append(errs, fmt.Errorf("%s stays %s: the job left a %s, too", name, name, to))
				continue
			}
			if err := move(root, name, to); err != nil {
				errs = append(errs, err)
				continue
			}
			s.files[i] = to
		}
	}
	if root == nil {
		return nil
	}
	return errors.Join(append(errs, durable.SyncNames(root, s.files))...)
}

// move renames a file and removes the directories that are empty then.
func move(root *os.Root, name, to string) error {
	if dir := path.Dir(to); dir != "." {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return err
		}
	}
	if err := root.Rename(filepath.FromSlash(name), filepath.FromSlash(to)); err != nil {
		if _, there := root.Lstat(filepath.FromSlash(to)); there != nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for dir := path.Dir(name); dir != "." && root.Remove(filepath.FromSlash(dir)) == nil; dir = path.Dir(dir) {
	}
	return nil
}
