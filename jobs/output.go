package jobs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"gridbroker/plugins"
)

// longestDirName is how many bytes of a job's name its output directory has.
const longestDirName = 64

// outputDir names a job's output directory: its name, made harmless, and id.
func outputDir(r *Record) string {
	safe := strings.Map(func(c rune) rune {
		if c != utf8.RuneError && (unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsDigit(c)) || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '_'
	}, r.Name)
	safe = strings.TrimLeft(safe, ".-")
	for len(safe) > longestDirName {
		_, last := utf8.DecodeLastRuneInString(safe)
		safe = safe[:len(safe)-last]
	}
	if safe == "" {
		return r.ID
	}
	return safe + "-" + r.ID
}

// Wanted says what of jobs' output is to be brought, and where to.
type Wanted struct {
	Dir   string   // each job's directory is made below it
	Files []string // names or globs; none: all that the job leaves
	// Attempt is the number of the attempt whose output it is; 0: the present
	// one or, where that has not reached a back-end, the last that has.
	Attempt int
	// MaxBytes bounds what is brought in all; 0: nine tenths of what is free on the disk.
	MaxBytes int64
}

// Fetched is what came of fetching one job's output.
type Fetched struct {
	Attempt int
	Dir     string
	Files   []string
	Missing []string // what a job that is done was to leave, and did not
}

// source is where a job's output lies: that of one of its attempts.
type source struct {
	*Outcome
	attempt int
	handle  plugins.Handle
	dir     string
	files   []string // as they are called here
	left    []string // the same, as the job calls them
}

// Output brings the output files of jobs into one directory each.
func (c *Controller) Output(ctx context.Context, os []*Outcome, w Wanted) (map[string]Fetched, error) {
	out := map[string]Fetched{}
	var have []*source
	for _, o := range os {
		s, err := o.source(w)
		if err != nil {
			o.Err = err
			continue
		}
		out[o.ID] = Fetched{}
		have = append(have, s)
	}
	room := plugins.NewRoom(w.MaxBytes)
	none := func(s *source, p place) {
		s.Err = fmt.Errorf("job %s: no back-end for %s at %s", s.ID, p.Interface, p.Endpoint)
	}
	err := each(c, have, func(s *source) plugins.Handle { return s.handle }, none, func(backend plugins.Submitter, list []*source) error {
		return fetch(ctx, c, backend, list, w.Files, room)
	})
	if err != nil {
		return nil, err
	}
	for _, s := range have {
		switch {
		case s.Err == nil:
			out[s.ID] = Fetched{Attempt: s.attempt, Dir: s.dir, Files: s.files, Missing: s.missing(w.Files)}
		case len(s.files) > 0: // brought all the same, before what went wrong
			out[s.ID] = Fetched{Attempt: s.attempt, Dir: s.dir, Files: s.files}
		}
	}
	return out, nil
}

// source finds the attempt whose output is wanted.
func (o *Outcome) source(w Wanted) (*source, error) {
	dir := filepath.Join(w.Dir, outputDir(o.Record))
	if w.Attempt > 0 && w.Attempt != o.number() {
		dir = fmt.Sprintf("%s.attempt%d", dir, w.Attempt)
		for _, p := range o.Past {
			if p.Number == w.Attempt && p.Handle.ID != "" {
				return &source{Outcome: o, attempt: p.Number, handle: p.Handle, dir: dir}, nil
			}
		}
		return nil, fmt.Errorf("job %s: its attempt %d reached no back-end: it has no output", o.ID, w.Attempt)
	}
	if o.Handle.ID != "" {
		return &source{Outcome: o, attempt: o.number(), handle: o.Handle, dir: dir}, nil
	}
	for i := len(o.Past) - 1; i >= 0 && w.Attempt == 0; i-- {
		if p := o.Past[i]; p.Handle.ID != "" {
			return &source{Outcome: o, attempt: p.Number, handle: p.Handle, dir: fmt.Sprintf("%s.attempt%d", dir, p.Number)}, nil
		}
	}
	return nil, fmt.Errorf("job %s is %s: it has no output", o.ID, o.State)
}

// version tells states of the files apart: they change no more when the attempt has ended.
func (s *source) version() string {
	switch {
	case s.handle != s.Handle:
		return fmt.Sprintf("attempt %d", s.attempt)
	case s.Final():
		return ended(s.Record)
	}
	return ""
}

// ended is the version of the files of a job that has ended.
func ended(r *Record) string { return "ended " + r.Ended.UTC().Format(time.RFC3339) }

// fetch brings output from one endpoint.
func fetch(ctx context.Context, c *Controller, backend plugins.Submitter, list []*source, want []string, room *plugins.Room) error {
	f, ok := backend.(plugins.Fetcher)
	if !ok {
		for _, s := range list {
			s.Err = errCannot(s.Outcome, "bring output back")
		}
		return nil
	}
	reqs := make([]plugins.FetchRequest, len(list))
	for i, s := range list {
		reqs[i] = plugins.FetchRequest{Handle: s.handle, Dir: s.dir, Want: want, Version: s.version(), Room: room}
		if job, err := s.Job(); err == nil {
			reqs[i].Outputs = plugins.OutputNames(job)
		}
	}
	results := f.Fetch(ctx, reqs, c.Progress)
	of := map[string]*source{}
	os := make([]*Outcome, 0, len(list))
	for i, s := range list {
		if i >= len(results) {
			s.Err = fmt.Errorf("job %s: the back-end gave no answer", s.ID)
			continue
		}
		s.Err, s.files = results[i].Err, results[i].Files
		if len(want) == 0 {
			s.dropUnchanged()
		}
		s.tidy()
		s.left = s.files
		if err := s.rename(); s.Err == nil {
			s.Err = err
		}
		s.Files = s.files
		of[s.ID] = s
		os = append(os, s.Outcome)
	}
	return c.apply(context.WithoutCancel(ctx), well(os), func(r *Record) Event {
		return Brought{Attempt: of[r.ID].attempt, Dir: of[r.ID].dir}
	})
}

// tidy removes the directory that was made for files of which none has come. One in which anything lies stays.
func (s *source) tidy() {
	if len(s.files) == 0 && (s.Err != nil || !s.Final()) {
		_ = syscall.Rmdir(s.dir)
	}
}

// missing lists the declared files that were not brought, where all were asked for.
func (s *source) missing(want []string) []string {
	job, err := s.Job()
	if err != nil || s.State != plugins.Done || len(want) > 0 || s.attempt != s.number() {
		return nil
	}
	return plugins.MissingOutputs(job, s.left)
}
