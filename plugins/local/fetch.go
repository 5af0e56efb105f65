package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	if err := durable.MkdirAll(req.Dir, 0o755); err != nil {
		return nil, err
	}
	dst, err := os.OpenRoot(req.Dir)
	if err != nil {
		return nil, err
	}
	defer dst.Close()
	src, err := os.OpenRoot(filepath.Join(s.job(req.Handle.ID), "work"))
	if err != nil {
		return nil, err
	}
	defer src.Close()
	files, err := copyWanted(ctx, src, dst, want)
	for _, name := range req.Want {
		if !slices.ContainsFunc(files, func(f string) bool { return plugins.Wanted(f, []string{name}) }) {
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

func regular(fsys fs.FS) (names []string, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// leftOut are files of a job that are not brought: links that lead out of its
// directory, sockets and the like.
type leftOut struct{ names []string }

const leftOutShown = 5

func (l *leftOut) Error() string {
	text := fmt.Sprintf("not brought, for they are no files of the job's directory: %q", l.names[:min(len(l.names), leftOutShown)])
	if n := len(l.names) - leftOutShown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// copyWanted copies the regular files that match. Both ends are rooted, so
// that a link the job has left cannot lead outside; what is no file there is
// left out, and reported when all others are brought.
func copyWanted(ctx context.Context, src, dst *os.Root, want []string) (files []string, err error) {
	odd := &leftOut{}
	err = fs.WalkDir(src.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !plugins.Wanted(name, want) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if info, err := src.Stat(name); err != nil || !info.Mode().IsRegular() {
			if err == nil || d.Type()&fs.ModeSymlink != 0 {
				if err != nil || !info.IsDir() {
					odd.names = append(odd.names, name)
				}
				return nil
			}
			return err
		}
		if err := copyFile(src, dst, name); err != nil {
			return fmt.Errorf("output file %s: %w", name, err)
		}
		files = append(files, name)
		return nil
	})
	if err == nil {
		err = durable.SyncNames(dst, files)
	}
	if err == nil && odd.names != nil {
		err = odd
	}
	return files, err
}

// partSuffix ends the name of a file that is not whole yet.
const partSuffix = ".grid-part"

// openRegular opens a file that a job has left. What is none is an error at
// once: a pipe would keep who opens it waiting for a writer.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func copyFile(src, dst *os.Root, name string) error {
	in, err := openRegular(src, name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	part := plugins.PartName(name, partSuffix)
	if err := copyInto(dst, part, info.Mode().Perm()&0o755|0o600, in); err != nil {
		_ = dst.Remove(part) // a file that is not whole is none
		return err
	}
	return dst.Rename(part, name)
}
