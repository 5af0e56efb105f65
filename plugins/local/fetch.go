package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// Fetch implements plugins.Fetcher.
func (b *Backend) Fetch(ctx context.Context, jobs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(jobs))
	for i, j := range jobs {
		out[i].Files, out[i].Err = b.fetch(ctx, j)
		if p != nil {
			p.Step("fetch output", 1, int64(len(jobs)))
		}
	}
	return out
}

func (b *Backend) fetch(ctx context.Context, req plugins.FetchRequest) ([]string, error) {
	s, err := b.locate(req.Handle)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noJob("fetch", req.Handle)
	}
	if err != nil {
		return nil, err
	}
	want := req.Want
	if len(want) == 0 {
		var sp spec
		if err := readJSON(filepath.Join(s.job(req.Handle.ID), "spec.json"), &sp); err != nil {
			return nil, err
		}
		want = sp.Outputs
	}
	dst, err := durable.OwnRoot(req.Dir, 0o755)
	if err != nil {
		return nil, err
	}
	defer dst.Close()
	alone, err := durable.Alone(ctx, dst)
	if err != nil {
		return nil, err
	}
	defer alone.Close()
	src, err := os.OpenRoot(filepath.Join(s.job(req.Handle.ID), "work"))
	if err != nil {
		return nil, err
	}
	defer src.Close()
	files, err := copyWanted(ctx, src, dst, want, func(name string, size int64) error { return req.Room.Take(req.Dir, req.Handle.Endpoint, name, size) })
	there, _ := regular(src.FS()) // of what is there and was not brought the error tells
	for _, name := range req.Want {
		if !slices.ContainsFunc(append(there, files...), func(f string) bool { return plugins.Wanted(f, []string{name}) }) {
			err = errors.Join(err, &plugins.Error{Kind: plugins.Refused, Op: "fetch " + name, Endpoint: req.Handle.Endpoint, Said: "no such file"})
		}
	}
	return files, err
}

// List implements plugins.Lister.
func (b *Backend) List(_ context.Context, hs []plugins.Handle) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(hs))
	for i, h := range hs {
		s, err := b.locate(h)
		if err == nil {
			out[i].Files, err = regular(os.DirFS(filepath.Join(s.job(h.ID), "work")))
		}
		out[i].Err = err
	}
	return out
}

// regular lists what is no directory. What cannot be read keeps nothing else out of the
// list; the error tells of it.
func regular(fsys fs.FS) (names []string, err error) {
	var unread []error
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			unread = append(unread, err)
		case d.IsDir() && plugins.TooDeep(name):
			unread = append(unread, fmt.Errorf("not looked into, for it lies deep: %s", plugins.Few([]string{name})))
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, name)
		}
		return nil
	})
	return names, errors.Join(append(unread, err)...)
}

// leftOut are files of a job that are not brought: links that lead out of its
// directory, sockets and the like, what lies too deep, and what cannot be read.
type leftOut struct {
	odd, unread, deep []string
	why               error   // the first that cannot be read
	large             []error // of those that there is no room for
	unwritten         []error // of those whose name is taken by what is no file
}

// Unwrap returns what there was no room for.
func (l *leftOut) Unwrap() []error { return l.large }

func (l *leftOut) Error() string {
	var parts []string
	if l.odd != nil {
		parts = append(parts, "not brought, for they are no files of the job's directory: "+plugins.Few(l.odd))
	}
	if l.unread != nil {
		parts = append(parts, fmt.Sprintf("not brought, for they cannot be read: %s (%v)", plugins.Few(l.unread), l.why))
	}
	if l.deep != nil {
		parts = append(parts, fmt.Sprintf("not brought, for they lie more than %d directories deep: %s", plugins.Deepest, plugins.Few(l.deep)))
	}
	for _, errs := range [][]error{l.large, l.unwritten} {
		if len(errs) > 0 {
			parts = append(parts, errs[0].Error())
		}
		if n := len(errs) - 1; n > 0 {
			parts = append(parts, fmt.Sprintf("and %d more files", n))
		}
	}
	return strings.Join(parts, "; ")
}

func (l *leftOut) cannotRead(name string, err error) {
	l.unread = append(l.unread, name)
	l.why = cmp.Or(l.why, err)
}

func (l *leftOut) tooDeep(dir string, want []string) {
	if plugins.Wanted(dir, want) {
		l.deep = append(l.deep, dir)
	}
}

// cannotWrite notes a file whose place is taken by something else, as by what an earlier
// fetch has brought. Any other error is of all files.
func (l *leftOut) cannotWrite(ctx context.Context, name string, err error) error {
	err = fmt.Errorf("output file %s: %w", name, err)
	if ctx.Err() != nil || !plugins.OfOneFile(err) {
		return err
	}
	l.unwritten = append(l.unwritten, err)
	return nil
}

// err is the report, where something was left out.
func (l *leftOut) err() error {
	if l.odd == nil && l.unread == nil && l.deep == nil && l.large == nil && l.unwritten == nil {
		return nil
	}
	return l
}

// copyWanted copies the regular files that match. Both ends are rooted, so
// that a link the job has left cannot lead outside; what is no file there, or
// cannot be read, is left out, and reported when all others are brought.
func copyWanted(ctx context.Context, src, dst *os.Root, want []string, room func(name string, size int64) error) (files []string, err error) {
	left := &leftOut{}
	err = fs.WalkDir(src.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && name != "." {
			left.cannotRead(name, err)
			return nil
		}
		if err == nil && d.IsDir() && plugins.TooDeep(name) {
			left.tooDeep(name, want)
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !plugins.Wanted(name, want) {
			return err
		}
		in, err := left.open(src, name, d)
		if in == nil || err != nil {
			return err
		}
		defer in.Close()
		if info, err := in.Stat(); err == nil {
			if err := room(name, info.Size()); err != nil {
				left.large = append(left.large, err)
				return nil
			}
		}
		err = copyFile(ctx, in, dst, name)
		if err == nil {
			files = append(files, name)
			return nil
		}
		return left.cannotWrite(ctx, name, err)
	})
	if err == nil {
		err = durable.SyncNames(dst, files)
	}
	if err == nil {
		err = left.err()
	}
	return files, err
}

// open opens a file of the job's; nil: it is left out, or a link to a directory.
func (l *leftOut) open(src *os.Root, name string, d fs.DirEntry) (*os.File, error) {
	info, err := src.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil && !info.Mode().IsRegular(), err != nil && d.Type()&fs.ModeSymlink != 0:
		l.odd = append(l.odd, name)
		return nil, nil
	case err == nil:
		var in *os.File
		if in, err = durable.OpenIn(src, name, os.O_RDONLY); err == nil {
			return in, nil
		}
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return nil, err // nothing can be opened: that is no fault of this file
	}
	l.cannotRead(name, err)
	return nil, nil
}

// partSuffix ends the name of a file that is not whole yet.
const partSuffix = ".grid-part"

func copyFile(ctx context.Context, in *os.File, dst *os.Root, name string) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	part := plugins.PartName(name, partSuffix)
	if err := copyInto(ctx, dst, part, info.Mode().Perm()&0o755|0o600, in); err != nil {
		_ = dst.Remove(part) // a file that is not whole is none
		return err
	}
	return dst.Rename(part, name)
}
