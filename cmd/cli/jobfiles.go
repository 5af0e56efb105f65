package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"gridbroker/jdl"
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
func (a *app) readJobs(paths []string) ([]jobFile, error) {
	var files []jobFile
	var errs []error
	for _, path := range paths {
		set, err := a.readJobFile(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a.warn(set)
		files = append(files, jobFile{path, set})
	}
	return files, errors.Join(errs...)
}

func (a *app) readJobFile(path string) (*jdl.JobSet, error) {
	in, name := a.env.In, "-"
	if path != "-" {
		f, err := os.Open(a.abs(path))
		if err != nil {
			return nil, usageError(err)
		}
		defer f.Close()
		in, name = f, path
	}
	text, err := io.ReadAll(io.LimitReader(in, maxJobFile+1))
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", name, err))
	}
	if len(text) > maxJobFile {
		return nil, usageError(fmt.Errorf("%s: longer than %d MB", name, maxJobFile>>20))
	}
	opts := []jdl.Option{jdl.WithClock(a.env.Now)}
	if path == "-" {
		opts = append(opts, jdl.WithDir(a.env.Dir))
	}
	return jdl.ParseJobs(name, text, opts...)
}

func (a *app) warn(set *jdl.JobSet) {
	said := map[string]bool{}
	print := func(ds []*jdl.Diagnostic) {
		for _, d := range ds {
			if text := d.Error(); !said[text] {
				said[text] = true
				fmt.Fprintf(a.env.Err, "grid: warning: %s\n", text)
			}
		}
	}
	print(set.Warnings)
	for _, job := range set.Jobs {
		print(job.Warnings)
	}
}

// jobsOf lists the jobs of all files.
func jobsOf(files []jobFile) []*jdl.Job {
	var jobs []*jdl.Job
	for _, f := range files {
		jobs = append(jobs, f.set.Jobs...)
	}
	return jobs
}
