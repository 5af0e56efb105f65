package remote

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDirectoryOfJobs: where others could put files into the directory of the jobs, or another one in its place, nothing is kept
// in it and nothing of it is believed. What it lies in may be sticky, or root's.
func TestDirectoryOfJobs(t *testing.T) {
	top := t.TempDir()
	for _, c := range []struct {
		what, base, refused string
		change              func(base string) error
	}{
		{"own", "own/base", "", func(string) error { return nil }},
		{"within a sticky one", "sticky/base", "", func(base string) error { return os.Chmod(filepath.Dir(base), 0o777|fs.ModeSticky) }},
		{"written by all", "all/base", "others can write to it", func(base string) error { return os.Chmod(base, 0o702) }},
		{"written by a group", "group/base", "others can write to it", func(base string) error { return os.Chmod(base, 0o720) }},
		{"sticky itself", "open/base", "others can write to it", func(base string) error { return os.Chmod(base, 0o777|fs.ModeSticky) }},
		{"within one that all write to", "above/base", "others can write to it", func(base string) error { return os.Chmod(filepath.Dir(base), 0o777) }},
		{"another's", "another/base", "it belongs to user 4711", func(base string) error { return os.Chown(base, 4711, -1) }},
		{"within another's", "within/it/base", "it belongs to user 4711", func(base string) error { return os.Chown(filepath.Dir(filepath.Dir(base)), 4711, -1) }},
		{"a link to one that all write to", "link/base", "others can write to it", func(base string) error {
			return errors.Join(os.Chmod(base, 0o777), os.Rename(base, base+"-real"), os.Symlink(base+"-real", base))
		}},
	} {
		if strings.Contains(c.what, "another") && os.Geteuid() != 0 {
			continue // to give files away takes root
		}
		base := filepath.Join(top, c.base)
		if err := errors.Join(os.MkdirAll(base, 0o700), c.change(base)); err != nil {
			t.Fatal(err)
		}
		opts := Options{Environ: os.Environ(), Home: top}.Defaults()
		s, err := Open(&opts, &System{Name: "Counter", Send: counting, Job: "run_job\n", Work: "work"}, "count:"+base, Target{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Runner(t.Context(), strings.NewReader(""), io.Discard, "find")
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", c.what, err)
		}
		s.Close()
	}
}
