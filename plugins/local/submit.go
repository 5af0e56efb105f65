package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gridbroker/durable"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// Submit implements plugins.Submitter. A job's directory carries our own id,
// so a request that is repeated finds the job instead of starting it twice.
func (b *Backend) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	results := make([]plugins.Result, len(reqs))
	touched := map[*site]bool{}
	for i, req := range reqs {
		results[i].ID = req.ID
		s, err := b.site(req.Endpoint.URL)
		if err == nil {
			err = s.submit(ctx, req)
		}
		if results[i].Err = err; err == nil {
			results[i].Handle = s.handle(req.ID)
			touched[s] = true
		}
		if p != nil {
			p.Step("submit to this machine", 1, int64(len(reqs)))
		}
	}
	for s := range touched {
		s.read.drop()
		if err := s.syncAll(); err != nil {
			fail(results, s, err)
			continue
		}
		if err := s.ensureRunner(); err != nil {
			// The jobs are safely queued; the next status call starts a runner.
			fail(results, s, err)
		}
	}
	return results
}

// fail marks the jobs of a site as uncertain: queued, but nobody runs them yet,
// or they may not outlive a power cut.
func fail(results []plugins.Result, s *site, err error) {
	for i := range results {
		if results[i].Err == nil && results[i].Handle.Endpoint == EndpointURL(s.Name) {
			results[i].Err = &plugins.Error{Kind: plugins.Uncertain, Op: "start runner", Endpoint: EndpointURL(s.Name), Err: err}
		}
	}
}

func (s *site) submit(ctx context.Context, req plugins.Request) error {
	refuse := func(kind plugins.Kind, op, said string, err error) error {
		return &plugins.Error{Kind: kind, Op: op, Endpoint: EndpointURL(s.Name), Said: said, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return refuse(plugins.Unavailable, "submit", "", err)
	}
	if !siteName.MatchString(req.ID) {
		return refuse(plugins.Invalid, "submit", fmt.Sprintf("job id %q cannot name a directory", req.ID), nil)
	}
	if s.Disabled {
		return refuse(plugins.Refused, "submit", "the site is draining", nil)
	}
	if why := unsupported(req.Job, s); why != "" {
		return refuse(plugins.Refused, "submit", why, nil)
	}
	if err := s.prepare(); err != nil {
		return refuse(plugins.Unavailable, "submit", "", err)
	}
	if err := s.place(ctx, req); ctx.Err() != nil && err != nil {
		return refuse(plugins.Unavailable, "submit", "", ctx.Err())
	} else if err != nil {
		return refuse(plugins.Refused, "submit", "", err)
	}
	return nil
}

// place builds the job's directory aside and moves it to its place, then to
// the queue, so that a job is either there whole or not at all.
func (s *site) place(ctx context.Context, req plugins.Request) error {
	if _, err := os.Stat(s.job(req.ID)); err == nil {
		return nil // submitted before
	}
	placed, err := placing(s)
	if err != nil {
		return err
	}
	defer placed()
	if err := plugins.Fit(filepath.Join(s.dir, "new"), req.Job.InputSandbox); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Join(s.dir, "new"), "")
	if err != nil {
		return err
	}
	defer func() { clearAway(tmp, ctx.Err() != nil) }()
	if err := stage(ctx, req, filepath.Join(tmp, "work")); err != nil {
		return err
	}
	sp := newSpec(req, s)
	if sp.Inside, err = environmentOf(s, req.Job); err != nil {
		return err
	}
	if sp.Place, err = durable.PlaceOf(tmp); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(tmp, "spec.json"), sp); err != nil {
		return err
	}
	return s.withQueue(func() error {
		if err := os.Rename(tmp, s.job(req.ID)); errors.Is(err, fs.ErrExist) {
			return nil
		} else if err != nil {
			return err
		}
		return os.WriteFile(s.queued(req.ID), nil, 0o600)
	})
}

// muchToClear is how many bytes take a file system a moment to remove: a gigabyte took a third of a second.
const muchToClear = 64 << 20

// clearAway removes what was built aside. Whoever has interrupted the copying of gigabytes does not wait for that: rm(1) goes on with it.
func clearAway(tmp string, hurry bool) {
	if hurry && sizeOf(tmp) > muchToClear && detached("rm", "-rf", "--", tmp) == nil {
		return
	}
	os.RemoveAll(tmp)
}

// sizeOf is how many bytes the files below a directory have, as far as it can be read.
func sizeOf(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}

// longestPlacing is for how long a directory may be built at most.
const longestPlacing = 24 * time.Hour

// placing begins to build a directory aside, until placed is called. What killed commands have left there, which may be as
// large as their input files, is removed first: all of it where nobody else builds one, else what was begun a day ago.
func placing(s *site) (placed func(), err error) {
	path := filepath.Join(s.dir, "new.lock")
	alone, ok, err := lock(path, false)
	if err != nil {
		return nil, err
	}
	left, err := s.names("new")
	for _, name := range left {
		path := filepath.Join(s.dir, "new", name)
		if info, gone := os.Lstat(path); ok || gone == nil && time.Since(info.ModTime()) > longestPlacing {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if ok {
		alone.Close()
	}
	if err != nil {
		return nil, err
	}
	beside, err := lockFile(path, syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	return func() { beside.Close() }, nil
}

// stage copies the input files into the job's directory.
func stage(ctx context.Context, req plugins.Request, work string) error {
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return err
	}
	defer root.Close()
	var names []string
	for _, f := range req.Job.InputSandbox {
		mode := fs.FileMode(0o600)
		if f.Executable || f.Name == req.Job.Executable || f.Name == req.Job.Prologue || f.Name == req.Job.Epilogue {
			mode = 0o700
		}
		src, _, err := f.Open()
		if err != nil {
			return fmt.Errorf("input file %s: %w", f.Name, err)
		}
		err = copyInto(ctx, root, f.Name, mode, src)
		src.Close()
		if err != nil {
			return fmt.Errorf("input file %s: %w", f.Name, err)
		}
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return durable.SyncNames(root, names) // or the job might find its place on disk, and start, without them
}

// partOfCopy is how many bytes are copied between two looks at whether that was interrupted, and partsOnDisk how many of these are
// put on the disk together: to do so is not interrupted, nor is the removal of a file of which gigabytes are on their way there.
const (
	partOfCopy  = 16 << 20
	partsOnDisk = 4
)

// copyInto writes a file below root, making directories on the way.
func copyInto(ctx context.Context, root *os.Root, name string, mode fs.FileMode, src io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	dst, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	for n := 1; err == nil; n++ { // a part at a time: gigabytes, too, are interrupted, and the file system may yet copy by itself
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(dst, src, partOfCopy)
		}
		if err == nil && n%partsOnDisk == 0 {
			err = dst.Sync()
		}
	}
	if errors.Is(err, io.EOF) {
		err = dst.Sync()
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	return err
}

// Find implements plugins.Finder: a job's directory has our id for its name.
func (b *Backend) Find(_ context.Context, endpoint glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	s, err := b.site(endpoint.URL)
	if err != nil {
		return nil, err
	}
	found := map[string]plugins.Handle{}
	for _, id := range ids {
		if !siteName.MatchString(id) {
			continue
		}
		if _, err := os.Stat(s.job(id)); err == nil {
			found[id] = s.handle(id)
		}
	}
	return found, nil
}
