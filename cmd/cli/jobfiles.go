package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"gridbroker/broker"
	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/formats"
)

// maxJobFile limits a description's size.
const maxJobFile = 64 << 20

// jobFile is one description file and the jobs it makes.
type jobFile struct {
	path string
	set  *jdl.JobSet
}

// readJobs reads description files; "-" is standard input. Warnings go to
// standard error. The errors of all files are reported together.
func readJobs(d *deps, paths []string) ([]jobFile, error) {
	var files []jobFile
	var errs []error
	for _, path := range paths {
		set, err := readJobFile(d, path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sayWarnings(d, set)
		files = append(files, jobFile{path, set})
	}
	nameGroups(files)
	return files, errors.Join(errs...)
}

// nameGroups calls the jobs of a file that has several, and no name for them, as the file is called.
func nameGroups(files []jobFile) {
	for _, f := range files {
		if len(f.set.Jobs) > 1 && f.set.Name == "" && f.path != "-" {
			f.set.Name = foreign.Text(filepath.Base(f.path))
		}
	}
}

func readJobFile(d *deps, path string, opts ...jdl.Option) (*jdl.JobSet, error) {
	name, text, err := readText(d, path)
	if err != nil {
		return nil, err
	}
	return formats.ParseJobs(name, text, append(jobOptions(d, path), opts...)...)
}

// readText reads a description; "-" is standard input.
func readText(d *deps, path string) (name string, text []byte, err error) {
	in, name := d.env.In, "-"
	if path != "-" {
		f, err := openWithin(abs(d, path), pipeWait)
		if err != nil {
			return path, nil, usageError(err)
		}
		defer f.Close()
		in, name = spoken{f, madeWait}, path
	}
	text, err = io.ReadAll(io.LimitReader(in, maxJobFile+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return name, nil, usageError(unwritten(name, madeWait))
	}
	if err != nil {
		return name, nil, usageError(fmt.Errorf("%s: %w", name, err))
	}
	if len(text) > maxJobFile {
		return name, nil, usageError(fmt.Errorf("%s: longer than %d MB", name, maxJobFile>>20))
	}
	return name, text, nil
}

// How long a named pipe may wait for something to write to it: for what opens it, and for
// settings; and for descriptions, which a program may have to make first.
const (
	pipeWait = 10 * time.Second
	madeWait = time.Minute
)

// openWithin opens a file. A named pipe opens only when something opens its
// other end, which wait bounds, whatever stood there a moment before.
func openWithin(path string, wait time.Duration) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(path)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-time.After(wait):
		if fi, err := os.Stat(path); err == nil && fi.Mode()&os.ModeNamedPipe == 0 {
			return nil, fmt.Errorf("%s did not open within %v", path, wait)
		}
		return nil, unwritten(path, wait)
	}
}

// maxNamed bounds a file that is read whole because a flag, a variable or another file
// names it.
const maxNamed = 16 << 20

// readNamed reads such a file. It may be a pipe, as what a shell puts in the place of
// <(command), but no device; one that nothing writes to is not waited for, however often
// it is opened.
func readNamed(path string) ([]byte, error) {
	f, err := openWithin(path, pipeWait)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() && mode&os.ModeNamedPipe == 0 && !mode.IsDir() {
		return nil, fmt.Errorf("%s is neither a file nor a pipe", path)
	}
	text, err := io.ReadAll(io.LimitReader(spoken{f, pipeWait}, maxNamed+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = unwritten(path, pipeWait)
	case err == nil && len(text) > maxNamed:
		err = fmt.Errorf("%s: longer than %d MB", path, maxNamed>>20)
	}
	return text, err
}

// spoken is a file each part of which comes within a time, if it is a pipe.
type spoken struct {
	f    *os.File
	wait time.Duration
}

// Read implements io.Reader.
func (s spoken) Read(p []byte) (int, error) {
	_ = s.f.SetReadDeadline(time.Now().Add(s.wait)) // of what is no pipe there is none
	return s.f.Read(p)
}

// unwritten is the error about a pipe that nothing has come from.
func unwritten(path string, wait time.Duration) error {
	return fmt.Errorf("%s is a named pipe, and nothing wrote to it for %v", path, wait)
}

// jobOptions are how every description is parsed. Names in it are relative to
// its own directory, those from standard input to the working directory.
func jobOptions(d *deps, path string) []jdl.Option {
	dir := d.env.Dir
	if path != "-" {
		dir = filepath.Dir(abs(d, path))
	}
	return []jdl.Option{jdl.WithClock(d.env.Now), jdl.WithDir(dir), jdl.WithFallbackDir(d.env.Dir), jdl.WithEnvironment(d.env.Getenv)}
}

func sayWarnings(d *deps, set *jdl.JobSet) {
	said := map[string]bool{}
	print := func(ds []*classad.Diagnostic) {
		for _, diag := range ds {
			if text := diag.Error(); !said[text] {
				said[text] = true
				sayErr(d, "warning: %s", passage(text))
			}
		}
	}
	print(set.Warnings)
	for _, job := range set.Jobs {
		print(job.Warnings)
	}
}

// planAll plans the jobs of all files together.
func planAll(ctx context.Context, s *session, files []jobFile, rs []*glue.Resource) (*broker.Plan, error) {
	for _, f := range files {
		s.jobs.WholeOrder = s.jobs.WholeOrder || f.set.Collocated
	}
	p, err := s.jobs.Plan(ctx, jobsOf(files), rs)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		p.Collocate(f.set)
	}
	return p, nil
}

// jobsOf lists the jobs of all files.
func jobsOf(files []jobFile) []*jdl.Job {
	var jobs []*jdl.Job
	for _, f := range files {
		jobs = append(jobs, f.set.Jobs...)
	}
	return jobs
}
