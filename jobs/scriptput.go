package jobs

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gridbroker/durable"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// What a job leaves lies where its PostScript expects it, in the directory that HTCondor would bring it to, before that runs.

const (
	// outputTries is how often the output is asked for that a PostScript wants.
	outputTries = 3
	// outputPause is the time between.
	outputPause = 20 * time.Second
)

// layOutputs brings what the job has left to where its PostScript wants it. What cannot be had is missing there, as it is where
// a job did not leave it.
func (f *following) layOutputs(ctx context.Context, o *Outcome, s *jdl.Script) {
	if len(s.Files) == 0 && s.Rest == "" || o.Handle.ID == "" || f.Inputs == "" {
		return
	}
	for try := range outputTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return
			case <-f.Clock.After(outputPause):
			}
		}
		again, err := f.bringOutputs(ctx, o, s)
		if err == nil || !again {
			return
		}
	}
}

// bringOutputs asks for the output once. again: it may be had later.
func (f *following) bringOutputs(ctx context.Context, o *Outcome, s *jdl.Script) (again bool, err error) {
	backend, ok := f.Registry.For(o.Handle.Interface)
	if !ok {
		return false, fmt.Errorf("no back-end for %s", o.Handle.Interface)
	}
	fetcher, ok := backend.(plugins.Fetcher)
	if !ok {
		return false, errCannot(o, "bring output back")
	}
	if err := durable.MkdirAll(f.Inputs, 0o700); err != nil {
		return false, err
	}
	durable.DiscardKilled(f.Inputs, arriving)
	dir, err := os.MkdirTemp(f.Inputs, fmt.Sprintf("%s%d-*", arriving, os.Getpid()))
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	job, err := o.Job()
	if err != nil {
		return false, err
	}
	req := plugins.FetchRequest{Handle: o.Handle, Dir: filepath.Join(dir, "out"), Version: ended(o.Record), Room: plugins.NewRoom(0), Outputs: plugins.OutputNames(job)}
	got := fetcher.Fetch(ctx, []plugins.FetchRequest{req}, f.Progress)
	if len(got) != 1 {
		return true, fmt.Errorf("job %s: the back-end gave no answer", o.ID)
	}
	from := &source{Outcome: o, attempt: o.number(), handle: o.Handle, dir: req.Dir, files: got[0].Files}
	from.dropUnchanged()
	for _, name := range from.files {
		if at := layAt(s, name, job, o.Created); at != "" {
			if failed := lay(filepath.Join(req.Dir, name), at, f.now()); failed != nil && err == nil {
				err = failed
			}
		}
	}
	if got[0].Err != nil {
		return true, got[0].Err
	}
	return false, err
}

// layAt is where a file of the job's is laid; "": nowhere. What the description names takes the place of what lies there,
// as with HTCondor; what the job leaves beside that only of what was made since the DAG began, and never that of a script;
// hidden files stay away.
func layAt(s *jdl.Script, name string, job *jdl.Job, began time.Time) string {
	if !filepath.IsLocal(name) {
		return ""
	}
	at, named := s.Files[name]
	for dir := path.Dir(name); !named && dir != "."; dir = path.Dir(dir) { // of a directory
		if at, named = s.Files[dir]; named {
			at = filepath.Join(at, strings.TrimPrefix(name, dir))
		}
	}
	if !named {
		if s.Rest == "" || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") { // what a shell, SSH or git would heed
			return ""
		}
		at = filepath.Join(s.Rest, name)
		if info, err := os.Lstat(at); err == nil && info.ModTime().Before(began) {
			return ""
		}
	}
	for _, other := range []*jdl.Script{job.Pre, job.Post, s} {
		if other == nil {
			continue
		}
		command := other.Command
		if !filepath.IsAbs(command) {
			command = filepath.Join(other.Dir, command)
		}
		if filepath.Clean(at) == filepath.Clean(command) {
			return ""
		}
	}
	return at
}
