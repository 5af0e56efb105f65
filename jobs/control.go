package jobs

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gridbroker/plugins"
)

// errCannot is that a back-end has no such operation.
func errCannot(r *Record, what string) error {
	return fmt.Errorf("job %s: %s cannot %s", r.ID, r.Handle.Interface, what)
}

// perJob spreads the errors of a bulk call over its jobs; what is missing is
// an error, too.
func perJob(rs []*Record, errs []error) {
	for i, r := range rs {
		if i < len(errs) {
			r.err = errs[i]
		} else {
			r.err = fmt.Errorf("job %s: the back-end gave no answer", r.ID)
		}
	}
}

// Cancel ends jobs. One that was never sent is cancelled at once; for the
// others the state tells when the back-end has done it. Ended jobs stay as
// they are.
func (c *Controller) Cancel(ctx context.Context, rs []*Record) error {
	if err := c.Reconcile(ctx, rs); err != nil {
		return err
	}
	now := c.Now()
	err := c.Store.Update(ctx, rs, func(r *Record) Change {
		switch {
		case r.Final():
			return Change{}
		case r.State == plugins.Intended && (r.Owner == "" || !c.Store.alive(r.Owner)):
			r.State, r.Cancelled, r.Ended, r.Reason = plugins.Cancelled, now, now, "cancelled before it was sent"
		}
		r.Cancelled = now
		return Change{"cancel", ""}
	})
	if err != nil {
		return err
	}
	var live []*Record
	for _, r := range rs {
		switch {
		case r.Final():
		case r.Handle.ID == "":
			r.err = &plugins.Error{Kind: plugins.Uncertain, Op: "cancel job " + r.ID, Endpoint: r.Handle.Endpoint,
				Said: "it is not known whether the job arrived", Hint: "ask again with grid status, then cancel"}
		default:
			live = append(live, r)
		}
	}
	return c.each(live, func(backend plugins.Submitter, rs []*Record) error {
		perJob(rs, backend.Cancel(ctx, handles(rs)))
		asked := rs[:0:0]
		for _, r := range rs {
			if r.err == nil {
				asked = append(asked, r)
			}
		}
		if len(asked) == 0 {
			return nil
		}
		return c.refresh(ctx, backend, asked)
	})
}

// Clean removes ended jobs and their files from the back-ends and forgets
// them. With forget set a job is forgotten even where its back-end cannot be
// reached, and whatever its state.
func (c *Controller) Clean(ctx context.Context, rs []*Record, forget bool) error {
	var have []*Record
	var gone []*Record
	for _, r := range rs {
		switch {
		case !r.Final() && !forget:
			r.err = fmt.Errorf("job %s is %s: cancel it first", r.ID, r.State)
		case r.Handle.ID == "" || r.State == plugins.Lost:
			gone = append(gone, r)
		default:
			have = append(have, r)
		}
	}
	err := c.each(have, func(backend plugins.Submitter, rs []*Record) error {
		if c, ok := backend.(plugins.Cleaner); ok {
			perJob(rs, c.Clean(ctx, handles(rs)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range have {
		if r.err == nil || forget {
			gone = append(gone, r)
		}
	}
	c.cleanPast(ctx, gone)
	return c.Store.Delete(ctx, gone)
}

// cleanPast removes what earlier attempts left behind, as far as that can be
// had.
func (c *Controller) cleanPast(ctx context.Context, rs []*Record) {
	var old []*Record
	for _, r := range rs {
		for _, p := range r.Past {
			if p.Handle.ID != "" {
				old = append(old, &Record{ID: r.ID, Handle: p.Handle})
			}
		}
	}
	_ = c.each(old, func(backend plugins.Submitter, rs []*Record) error {
		if c, ok := backend.(plugins.Cleaner); ok {
			c.Clean(ctx, handles(rs))
		}
		return nil
	})
}

// Renew brings the credentials delegated for jobs up to date.
func (c *Controller) Renew(ctx context.Context, rs []*Record) error {
	var live []*Record
	for _, r := range rs {
		if !r.Final() && r.Handle.ID != "" {
			live = append(live, r)
		} else {
			r.err = fmt.Errorf("job %s is %s: nothing to renew", r.ID, r.State)
		}
	}
	err := c.each(live, func(backend plugins.Submitter, rs []*Record) error {
		renewer, ok := backend.(plugins.Renewer)
		if !ok {
			for _, r := range rs {
				r.err = errCannot(r, "renew credentials: it keeps none")
			}
			return nil
		}
		perJob(rs, renewer.Renew(ctx, handles(rs)))
		return nil
	})
	if err != nil {
		return err
	}
	done := noErr(live)
	return c.Store.Update(ctx, done, func(*Record) Change { return Change{"renew", "delegated credential renewed"} })
}

func noErr(rs []*Record) []*Record {
	out := rs[:0:0]
	for _, r := range rs {
		if r.err == nil {
			out = append(out, r)
		}
	}
	return out
}

// OutputDir names a job's output directory: its name, made harmless, and id.
func OutputDir(r *Record) string {
	safe := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '_'
	}, r.Name)
	safe = strings.TrimLeft(safe, ".-")
	if len(safe) > 64 {
		safe = safe[:64]
	}
	if safe == "" {
		return r.ID
	}
	return safe + "-" + r.ID
}

// Fetched is what came of fetching one job's output.
type Fetched struct {
	Dir     string
	Files   []string
	Missing []string // what a job that is done was to leave, and did not
}

// Output brings the output files of jobs into one directory each below dir.
// want limits them to names or globs.
func (c *Controller) Output(ctx context.Context, rs []*Record, dir string, want []string) (map[string]Fetched, error) {
	out := map[string]Fetched{}
	var have []*Record
	for _, r := range rs {
		if r.Handle.ID == "" {
			r.err = fmt.Errorf("job %s is %s: it has no output", r.ID, r.State)
			continue
		}
		out[r.ID] = Fetched{}
		have = append(have, r)
	}
	err := c.each(have, func(backend plugins.Submitter, rs []*Record) error {
		f, ok := backend.(plugins.Fetcher)
		if !ok {
			for _, r := range rs {
				r.err = errCannot(r, "bring output back")
			}
			return nil
		}
		reqs := make([]plugins.FetchRequest, len(rs))
		for i, r := range rs {
			reqs[i] = plugins.FetchRequest{Handle: r.Handle, Dir: filepath.Join(dir, OutputDir(r)), Want: want}
			if job, err := r.Job(); err == nil {
				reqs[i].Outputs = plugins.OutputNames(job)
			}
		}
		return c.fetched(ctx, rs, reqs, f.Fetch(ctx, reqs, c.Progress))
	})
	if err != nil {
		return nil, err
	}
	for _, r := range have {
		if r.err == nil {
			out[r.ID] = Fetched{Dir: r.Output, Files: r.files, Missing: r.missing(want)}
		}
	}
	return out, nil
}

// missing lists the declared files that were not brought, where all were asked for.
func (r *Record) missing(want []string) []string {
	job, err := r.Job()
	if err != nil || r.State != plugins.Done || len(want) > 0 {
		return nil
	}
	return plugins.MissingOutputs(job, r.files)
}

func (c *Controller) fetched(ctx context.Context, rs []*Record, reqs []plugins.FetchRequest, results []plugins.FetchResult) error {
	dirs := map[string]string{}
	for i, r := range rs {
		if i >= len(results) {
			r.err = fmt.Errorf("job %s: the back-end gave no answer", r.ID)
			continue
		}
		r.err = results[i].Err
		r.files = results[i].Files
		dirs[r.ID] = reqs[i].Dir
	}
	done := noErr(rs)
	return c.Store.Update(context.WithoutCancel(ctx), done, func(r *Record) Change {
		r.Output = dirs[r.ID]
		return Change{"output", "to " + r.Output}
	})
}

// BackendLog writes the back-end's own log of a job.
func (c *Controller) BackendLog(ctx context.Context, r *Record, w io.Writer) error {
	if r.Handle.ID == "" {
		return nil
	}
	backend, ok := c.Registry.For(r.Handle.Interface)
	if !ok {
		return errCannot(r, "be used: there is no back-end for it")
	}
	l, ok := backend.(plugins.Logger)
	if !ok {
		return nil
	}
	return l.Log(ctx, r.Handle, w)
}
