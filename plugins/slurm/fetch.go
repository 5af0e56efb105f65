package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gridbroker/plugins"
)

// Fetch implements plugins.Fetcher: the files of the job's directory, over one
// session per site.
func (b *Backend) Fetch(ctx context.Context, jobs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(jobs))
	sessions := map[*site]files{}
	defer func() {
		for _, fsys := range sessions {
			fsys.Close()
		}
	}()
	for i, job := range jobs {
		s, fsys, err := b.session(ctx, job.Handle.Endpoint, sessions)
		if err == nil {
			out[i].Files, err = s.fetch(ctx, fsys, job, p)
		}
		out[i].Err = err
	}
	return out
}

func (b *Backend) session(ctx context.Context, endpoint string, open map[*site]files) (*site, files, error) {
	s, err := b.site(endpoint)
	if err != nil {
		return nil, nil, err
	}
	if open[s] == nil {
		fsys, err := s.machine.files(ctx)
		if err != nil {
			return nil, nil, s.fail("fetch", err)
		}
		open[s] = fsys
	}
	return s, open[s], nil
}

func (s *site) fetch(ctx context.Context, fsys files, job plugins.FetchRequest, p plugins.Progress) ([]string, error) {
	_, id, ok := splitHandle(job.Handle)
	if !ok {
		return nil, s.fail("fetch", fmt.Errorf("no such job: %s", job.Handle.ID))
	}
	if err := os.MkdirAll(job.Dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(job.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	want := job.Want
	if len(want) == 0 {
		want, err = s.outputList(fsys, id)
	}
	all, lerr := fsys.list(s.dir("jobs", id, "work"))
	if err = errors.Join(err, lerr); err != nil {
		return nil, s.fail("fetch", err)
	}
	var got []string
	for _, f := range all {
		if !plugins.Wanted(f.name, want) {
			continue
		}
		if err := s.download(ctx, fsys, root, id, f, p); err != nil {
			return got, s.fail("fetch "+f.name, err)
		}
		got = append(got, f.name)
	}
	slices.Sort(got)
	for _, name := range job.Want {
		if !slices.ContainsFunc(got, func(f string) bool { return plugins.Wanted(f, []string{name}) }) {
			return got, s.fail("fetch "+name, fs.ErrNotExist)
		}
	}
	return got, nil
}

// List implements plugins.Lister, over one session per site.
func (b *Backend) List(ctx context.Context, hs []plugins.Handle) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(hs))
	sessions := map[*site]files{}
	defer func() {
		for _, fsys := range sessions {
			fsys.Close()
		}
	}()
	for i, h := range hs {
		s, fsys, err := b.session(ctx, h.Endpoint, sessions)
		_, id, ok := splitHandle(h)
		if err == nil && !ok {
			err = s.fail("list", fmt.Errorf("no such job: %s", h.ID))
		}
		if err != nil {
			out[i].Err = err
			continue
		}
		all, err := fsys.list(s.dir("jobs", id, "work"))
		out[i].Err = err
		for _, f := range all {
			out[i].Files = append(out[i].Files, f.name)
		}
	}
	return out
}

// outputList reads the names the job was submitted with.
func (s *site) outputList(fsys files, id string) ([]string, error) {
	r, _, err := fsys.get(s.dir("jobs", id, "outputs"), 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' }), err
}

// download brings one file, continuing an earlier part.
func (s *site) download(ctx context.Context, fsys files, root *os.Root, id string, f file, p plugins.Progress) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !filepath.IsLocal(f.name) {
		return fmt.Errorf("file name %q leaves the directory", f.name)
	}
	if err := root.MkdirAll(filepath.Dir(f.name), 0o700); err != nil {
		return err
	}
	part := f.name + ".part"
	dst, err := root.OpenFile(part, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = s.copyRest(fsys, dst, id, f, p)
	if err = errors.Join(err, dst.Close()); err != nil {
		return err
	}
	return root.Rename(part, f.name)
}

func (s *site) copyRest(fsys files, dst *os.File, id string, f file, p plugins.Progress) error {
	offset, err := dst.Seek(0, io.SeekEnd)
	if err == nil && offset > f.size {
		offset, err = 0, dst.Truncate(0)
	}
	if err != nil {
		return err
	}
	src, _, err := fsys.get(s.dir("jobs", id, "work", f.name), offset)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, err := dst.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(dst, io.LimitReader(src, f.size-offset))
	if p != nil {
		p.Step("fetch", offset+n, f.size)
	}
	return err
}

// Peek implements plugins.Peeker.
func (b *Backend) Peek(ctx context.Context, h plugins.Handle, name string, offset int64, w io.Writer) (int64, error) {
	_, id, ok := splitHandle(h)
	if !ok || !safeName(name) {
		return 0, &plugins.Error{Kind: plugins.Refused, Op: "peek", Endpoint: h.Endpoint, Said: fmt.Sprintf("no file %q of job %s", name, h.ID)}
	}
	return b.read(ctx, h.Endpoint, path.Join("jobs", id, "work", name), offset, w)
}

// Log implements plugins.Logger: the log of job.sh, then what Slurm has to say.
func (b *Backend) Log(ctx context.Context, h plugins.Handle, w io.Writer) error {
	slurmID, id, ok := splitHandle(h)
	if !ok {
		return &plugins.Error{Kind: plugins.Refused, Op: "log", Endpoint: h.Endpoint, Said: "no such job: " + h.ID}
	}
	_, err := b.read(ctx, h.Endpoint, path.Join("jobs", id, "log"), 0, w)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := b.site(h.Endpoint)
	if err != nil {
		return err
	}
	text, serr := s.command(ctx, "scontrol", "show", "job", slurmID)
	if serr != nil {
		if text, err = s.command(ctx, "sacct", "--long", "--parsable2", "--jobs="+slurmID); err != nil {
			return serr
		}
	}
	_, err = io.WriteString(w, text)
	return err
}

func (b *Backend) read(ctx context.Context, endpoint, name string, offset int64, w io.Writer) (int64, error) {
	open := map[*site]files{}
	s, fsys, err := b.session(ctx, endpoint, open)
	if err != nil {
		return 0, err
	}
	defer fsys.Close()
	r, _, err := fsys.get(s.dir(name), offset)
	if err != nil {
		return 0, s.fail("read "+path.Base(name), err)
	}
	defer r.Close()
	n, err := io.Copy(w, r)
	if err != nil {
		return n, s.fail("read "+path.Base(name), err)
	}
	return n, nil
}
