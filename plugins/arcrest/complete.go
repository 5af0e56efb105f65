package arcrest

import (
	"context"

	"gridbroker/plugins"
)

// Complete implements plugins.Completer: a job whose submission was cut
// between the answer to the POST and the last PUT waits for its input files.
// Files that are there already are sent again: a PUT may be repeated.
func (b *Backend) Complete(ctx context.Context, reqs []plugins.Request, hs []plugins.Handle, p plugins.Progress) []error {
	errs := make([]error, len(reqs))
	if len(reqs) == 0 {
		return errs
	}
	s := &submission{reqs: withDirectories(reqs), res: make([]plugins.Result, len(reqs)), progress: p}
	err := s.complete(ctx, b, hs)
	for i := range errs {
		if errs[i] = s.res[i].Err; errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}

func (s *submission) complete(ctx context.Context, b *Backend, hs []plugins.Handle) (err error) {
	if s.c, err = b.client(ctx, "complete", s.reqs[0].Endpoint.URL, hs[0].Owner); err != nil {
		return err
	}
	ids := make([]string, len(hs))
	for i, h := range hs {
		ids[i] = h.ID
	}
	live, err := looker{s.c}.states(ctx, ids)
	if err != nil {
		return err
	}
	var waiting []int
	for i, h := range hs {
		s.res[i].Handle = h
		switch stateOf(live[h.ID]) {
		case plugins.Accepted, plugins.Preparing,
			plugins.Unknown, // so new that the list does not have it yet
			plugins.Lost:    // or so called for a moment; one that is gone refuses the files
			waiting = append(waiting, i)
		}
	}
	_, err = s.bring(ctx, waiting)
	return err
}
