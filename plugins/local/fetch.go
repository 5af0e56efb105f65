package local

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	if err := os.MkdirAll(req.Dir, 0o755); err != nil {
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
	return copyWanted(ctx, src, dst, want)
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

// copyWanted copies the regular files that match. Both ends are rooted, so
// that a link the job has left cannot lead outside.
func copyWanted(ctx context.Context, src, dst *os.Root, want []string) (files []string, err error) {
	err = fs.WalkDir(src.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !plugins.Wanted(name, want) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(src, dst, name); err != nil {
			return fmt.Errorf("output file %s: %w", name, err)
		}
		files = append(files, name)
		return nil
	})
	return files, err
}

func copyFile(src, dst *os.Root, name string) error {
	info, err := src.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("is not a regular file")
	}
	in, err := src.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return copyInto(dst, name, info.Mode().Perm()&0o755|0o600, in)
}
