package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gridbroker/durable"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// errands are the files that are brought at once, each once for all the jobs that take it.
type errands struct {
	dir string // they arrive below it
	of  map[jdl.Made]*errand
}

// errand brings one file.
type errand struct {
	from *Record // the job that made it
	file string
	dir  string // it arrives there
	err  error  // a *goneError: it never will
}

// goneError is that a file is nowhere.
type goneError struct{ error }

func (e *goneError) Unwrap() error { return e.error }

// arriving begins the names of folders in which files arrive; the process that has it follows.
const arriving = "arriving-"

// send brings the files.
func (s *supply) send(ctx context.Context, need map[string][]jdl.InputFile) (*errands, error) {
	if err := durable.MkdirAll(s.Inputs, 0o700); err != nil {
		return nil, err
	}
	durable.DiscardKilled(s.Inputs, arriving)
	dir, err := os.MkdirTemp(s.Inputs, fmt.Sprintf("%s%d-*", arriving, os.Getpid()))
	if err != nil {
		return nil, err
	}
	r := &errands{dir: dir, of: map[jdl.Made]*errand{}}
	var list []*errand
	for _, files := range need {
		for _, f := range files {
			if r.of[f.From] != nil {
				continue
			}
			e := &errand{from: s.makers[f.From.Job], file: f.From.File, dir: filepath.Join(dir, strconv.Itoa(len(r.of)))}
			if r.of[f.From], e.err = e, unfit(e.from); e.err == nil {
				list = append(list, e)
			}
		}
	}
	if err := s.run(ctx, list); err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

// end removes what has arrived.
func (r *errands) end() { os.RemoveAll(r.dir) }

// unfit is why nothing can be taken from a job.
func unfit(from *Record) error {
	switch {
	case from == nil:
		return &goneError{errors.New("its record was removed")}
	case !from.Final():
		return errors.New("that is being run again")
	case from.Failure():
		return &goneError{errors.New("that has failed")}
	case from.Handle.ID == "":
		return &goneError{errors.New("that is at no computing element")}
	}
	return nil
}

// run fetches files as output is fetched, those of one endpoint together.
func (s *supply) run(ctx context.Context, list []*errand) error {
	room := plugins.NewRoom(0)
	none := func(e *errand, p place) { e.err = fmt.Errorf("no back-end for %s at %s", p.Interface, p.Endpoint) }
	err := each(s.Controller, list, func(e *errand) plugins.Handle { return e.from.Handle }, none, func(backend plugins.Submitter, list []*errand) error {
		f, ok := backend.(plugins.Fetcher)
		if !ok {
			for _, e := range list {
				e.err = &goneError{fmt.Errorf("%s cannot bring output back", e.from.Handle.Interface)}
			}
			return nil
		}
		reqs := make([]plugins.FetchRequest, len(list))
		for i, e := range list {
			reqs[i] = plugins.FetchRequest{Handle: e.from.Handle, Dir: e.dir, Want: []string{e.file}, Version: ended(e.from), Room: room}
		}
		results := f.Fetch(ctx, reqs, s.Progress)
		for i, e := range list {
			if i < len(results) {
				e.judge(results[i].Err)
			} else {
				e.err = errors.New("the back-end gave no answer")
			}
		}
		return nil
	})
	return errors.Join(err, ctx.Err())
}

// judge looks at what has arrived: the file, whatever else went wrong. Where it was not brought, err tells why.
func (e *errand) judge(err error) {
	info, failed := os.Lstat(e.arrived())
	switch {
	case failed == nil && info.Mode().IsRegular():
		return
	case failed == nil && err == nil: // a directory
		if n, failed := countFiles(e.arrived()); failed != nil || n > jdl.MaxTreeFiles {
			e.err = &goneError{cmp.Or(failed, fmt.Errorf("it is a directory of %d files, and at most %d go along: let the job pack it", n, jdl.MaxTreeFiles))}
		}
		return
	case failed == nil:
		failed = err
	case err == nil:
		err = failed
	}
	said, ok := errors.AsType[*plugins.Error](err)
	refused := ok && said.Kind == plugins.Refused && !errors.Is(err, plugins.ErrNoRoom)
	switch {
	case !refused && !errors.Is(err, fs.ErrNotExist):
		e.err = err
	case e.fromOutput() != nil:
		e.err = &goneError{err}
	}
}

// countFiles counts the files below a directory.
func countFiles(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	return n, err
}

// arrived is where the file is when it was brought.
func (e *errand) arrived() string { return filepath.Join(e.dir, e.file) }

// fromOutput takes the file from where the user has brought the output of that job to.
func (e *errand) fromOutput() error {
	if e.from.Output == "" {
		return fs.ErrNotExist
	}
	root, err := os.OpenRoot(e.from.Output) // no link leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(e.file)
	if err == nil && info.IsDir() {
		below, err := root.OpenRoot(e.file)
		if err != nil {
			return err
		}
		defer below.Close()
		return os.CopyFS(e.arrived(), below.FS())
	}
	if err != nil || !info.Mode().IsRegular() {
		return fs.ErrNotExist
	}
	in, err := root.Open(e.file)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(e.arrived()), 0o700); err != nil {
		return err
	}
	return durable.CopyTo(in, e.arrived())
}

// deliver lays the files of one job where it takes them from. The error names the file that is not there, and its node.
func (r *errands) deliver(files []jdl.InputFile, now time.Time) error {
	var late error
	for _, f := range files {
		e := r.of[f.From]
		err := e.err
		if err == nil {
			err = lay(e.arrived(), f.Source, now)
		}
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s (job %s): %w", f.From, f.From.Job, err)
		if _, gone := errors.AsType[*goneError](err); gone {
			return err
		}
		late = err
	}
	return late
}

// lay puts a file that has arrived in its place, where it is whole or not there. Several jobs may share it on the disk. Its
// time is that of the records: it tells of which attempt it is.
func lay(from, to string, now time.Time) error {
	if err := durable.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d.part", to, os.Getpid())
	_ = os.RemoveAll(part) // of a process that was killed
	err := linkTree(from, part)
	if err == nil {
		err = os.Chtimes(part, now, now)
	}
	if err == nil {
		if info, failed := os.Lstat(to); failed == nil && info.IsDir() { // of an attempt before
			err = os.RemoveAll(to)
		}
	}
	if err == nil {
		err = durable.Rename(part, to)
	}
	if err != nil {
		_ = os.RemoveAll(part)
	}
	return err
}

// linkTree makes a file, or all files below a directory, known under another name too.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		at := to + strings.TrimPrefix(name, from)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Mkdir(at, 0o700)
		}
		if os.Link(name, at) == nil {
			return nil
		}
		return durable.CopyFile(name, at) // no file system has to be able to link
	})
}
