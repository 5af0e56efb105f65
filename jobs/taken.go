package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Files that a node of a DAG takes from others are brought from where these ran, before the node is planned, into a folder
// of its own. What lies there is whole: nothing else is remembered of it.

// takenDir is where the files lie that a job takes from others.
func takenDir(c *Controller, id string) string { return filepath.Join(c.Inputs, id) }

// takeOver writes into the record of a node which jobs its files come from, and where they will lie.
func takeOver(c *Controller, job *jdl.Job, r *Record, byNode map[string]*Record) error {
	if r == nil || len(job.Taken()) == 0 {
		return nil
	}
	if c.Inputs == "" {
		return fmt.Errorf("%s: node %s takes files of other nodes, and there is no place for them here", job.File, job.Node)
	}
	job.BringTo(takenDir(c, r.ID), func(node string) string { return byNode[node].ID })
	r.JDL = job.Text()
	return nil
}

// dropTaken removes what jobs that are forgotten took from others.
func dropTaken(c *Controller, gone []*Outcome) error {
	if c.Inputs == "" {
		return nil
	}
	var errs []error
	for _, o := range gone {
		errs = append(errs, os.RemoveAll(takenDir(c, o.ID)))
	}
	return errors.Join(errs...)
}

// Takes lists the files that the job takes from other nodes of its DAG.
func (o *Outcome) Takes() []jdl.InputFile {
	if !strings.Contains(o.JDL, "NodeInputs") { // most are not read
		return nil
	}
	job, err := o.Job()
	if err != nil {
		return nil
	}
	return job.Taken()
}

// TakenText names files with the nodes that make them.
func TakenText(files []jdl.InputFile) string {
	texts := make([]string, len(files))
	for i, f := range files {
		texts[i] = f.From.String()
	}
	return strings.Join(texts, ", ")
}

// supply is one look at jobs that may take files from others.
type supply struct {
	*Controller
	makers map[string]*Record // the jobs that files come from, by id; nil: its record was removed

	ready []*Outcome        // have all their files
	late  []*Outcome        // some cannot be had now
	gone  []*Outcome        // some never can
	why   map[string]string // of late and gone, by id
}

// supplyAll brings the files that jobs take from others and that are not here.
func supplyAll(ctx context.Context, c *Controller, os []*Outcome) (*supply, error) {
	s := &supply{Controller: c, makers: map[string]*Record{}, why: map[string]string{}}
	need := map[string][]jdl.InputFile{}
	var waiting []*Outcome
	for _, o := range os {
		missing, err := s.lacking(ctx, o)
		if err != nil {
			return nil, err
		}
		if len(missing) == 0 {
			s.ready = append(s.ready, o)
			continue
		}
		need[o.ID] = missing
		waiting = append(waiting, o)
	}
	if len(waiting) == 0 {
		return s, nil
	}
	r, err := s.send(ctx, need)
	if err != nil {
		return nil, err
	}
	defer r.end()
	for _, o := range waiting {
		s.sort(o, r.deliver(need[o.ID], c.now()))
	}
	return s, s.note(ctx, need)
}

// lacking lists the files that a job takes from others and that are not here, or are of an attempt before the present one
// of the job that makes them.
func (s *supply) lacking(ctx context.Context, o *Outcome) (missing []jdl.InputFile, err error) {
	for _, f := range o.Takes() {
		maker, err := s.maker(ctx, f.From.Job)
		if err != nil {
			return nil, err
		}
		info, err := os.Lstat(f.Source)
		if err != nil || !info.Mode().IsRegular() && !info.IsDir() || maker != nil && maker.Sent.After(info.ModTime()) {
			missing = append(missing, f)
		}
	}
	return missing, nil
}

// maker is the record of a job as it is now; nil: there is none any more.
func (s *supply) maker(ctx context.Context, id string) (*Record, error) {
	if r, known := s.makers[id]; known {
		return r, nil
	}
	found, err := s.Store.Find(ctx, []string{id})
	if _, removed := errors.AsType[*IDError](err); removed {
		s.makers[id] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.makers[id] = found[0]
	return found[0], nil
}

// sort puts a job where it belongs.
func (s *supply) sort(o *Outcome, err error) {
	_, gone := errors.AsType[*goneError](err)
	switch {
	case err == nil:
		s.ready = append(s.ready, o)
	case gone:
		s.gone = append(s.gone, o)
		s.why[o.ID] = "cannot have " + err.Error()
	default:
		s.late = append(s.late, o)
		s.why[o.ID] = "waits for " + err.Error()
	}
}

// note records what has been brought.
func (s *supply) note(ctx context.Context, need map[string][]jdl.InputFile) error {
	var brought []*Outcome
	for _, o := range s.ready {
		if need[o.ID] != nil && o.State == plugins.Intended {
			brought = append(brought, o)
		}
	}
	return s.apply(context.WithoutCancel(ctx), brought, func(r *Record) Event {
		if r.State != plugins.Intended {
			return nil
		}
		return Supplied{What: TakenText(need[r.ID])}
	})
}

// supplied are the jobs that have all they take from others. Of the rest it is recorded what they wait for, or that they
// failed.
func (f *following) supplied(ctx context.Context, os []*Outcome) ([]*Outcome, error) {
	s, err := supplyAll(ctx, f.Controller, os)
	if err != nil {
		return nil, err
	}
	now := f.now()
	var late []*Outcome
	for _, o := range s.late {
		if job, err := o.Job(); err == nil && !job.Expiry.IsZero() && now.After(job.Expiry) {
			s.why[o.ID] += "; its ExpiryTime has passed"
			s.gone = append(s.gone, o)
		} else {
			late = append(late, o)
		}
	}
	err = f.apply(ctx, late, func(r *Record) Event {
		if r.State != plugins.Intended || !f.free(r) {
			return nil
		}
		return SupplyLate{Why: s.why[r.ID]}
	})
	if err != nil {
		return nil, err
	}
	return s.ready, f.apply(ctx, s.gone, func(r *Record) Event {
		switch {
		case !f.free(r):
			return nil
		case r.State == plugins.Intended:
			return Blocked{Why: s.why[r.ID]}
		case r.Final() && r.State != plugins.Cancelled:
			return NotRetried{Why: s.why[r.ID]}
		}
		return nil
	})
}
