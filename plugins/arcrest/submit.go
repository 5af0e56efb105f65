package arcrest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/plugins"
)

// Limits of one submission request. A-REX takes descriptions of 5 MiB (its
// default maxjobdesc) and requests of 100 MiB; the count keeps an answer
// within the time limit.
const (
	maxDescription = 5 << 20
	maxRequest     = 64 << 20
	maxBatch       = 500
)

// A-REX makes the jobs of one request one after the other, waiting for the
// disk at each, and those of several requests side by side: so many jobs go
// out in a few requests at once.
const (
	batchesAtOnce = 4
	minBatch      = 25 // jobs that are worth a request of their own
)

// Submit implements plugins.Submitter. Requests of one batch go out as one
// POST; a batch whose outcome is not known ends the submission, since the
// endpoint is then not well.
func (b *Backend) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	res := make([]plugins.Result, len(reqs))
	for i := range reqs {
		res[i].ID = reqs[i].ID
	}
	if len(reqs) == 0 {
		return res
	}
	s := &submission{reqs: withDirectories(reqs), res: res, progress: p}
	var err error
	if s.c, err = b.client(ctx, "submit", reqs[0].Endpoint.URL, ""); err == nil {
		err = s.run(ctx)
	}
	if err != nil {
		s.failRest(err)
	}
	return res
}

// submission is one call of Submit.
type submission struct {
	c        *client
	reqs     []plugins.Request
	res      []plugins.Result
	progress plugins.Progress
}

func (s *submission) run(ctx context.Context) error {
	delegation, err := delegate(ctx, s.c, "submit")
	if err != nil {
		return err
	}
	texts := s.describeAll(delegation)
	made, err := s.makeAll(ctx, batches(texts), texts)
	if failed := s.upload(ctx, made); err == nil {
		err = failed
	}
	return err
}

// makeAll submits the batches, a few at once, and returns which jobs the CE
// made. After an error no further batch is begun.
func (s *submission) makeAll(ctx context.Context, all [][]int, texts [][]byte) (made []int, first error) {
	var mu sync.Mutex
	stopped := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return first != nil
	}
	var g errgroup.Group
	g.SetLimit(batchesAtOnce)
	for _, batch := range all {
		g.Go(func() error {
			if stopped() {
				return nil
			}
			got, err := s.make(ctx, batch, texts)
			mu.Lock()
			defer mu.Unlock()
			made = append(made, got...)
			if first == nil {
				first = err
			}
			return nil
		})
	}
	_ = g.Wait() // its functions return nil
	slices.Sort(made)
	return made, first
}

// describeAll writes the descriptions. One that cannot be written, or is too
// long, fails its job alone; its text is nil.
func (s *submission) describeAll(delegation string) [][]byte {
	texts := make([][]byte, len(s.reqs))
	for i := range s.reqs {
		text, err := describe(&s.reqs[i], delegation)
		switch {
		case err != nil:
			s.res[i].Err = s.c.fail(plugins.Invalid, "describe the job", "", err)
		case len(text) > maxDescription:
			s.res[i].Err = s.c.fail(plugins.Invalid, "describe the job", "the description is longer than 5 MiB", nil)
		default:
			texts[i] = text
		}
	}
	return texts
}

// batches groups the indices of texts that are not nil so that each group is
// within the limits of one request.
func batches(texts [][]byte) [][]int {
	var all [][]int
	var now []int
	size := 0
	most := min(maxBatch, max(minBatch, (len(texts)+batchesAtOnce-1)/batchesAtOnce))
	for i, text := range texts {
		if text == nil {
			continue
		}
		if len(now) == most || len(now) > 0 && size+len(text) > maxRequest {
			all, now, size = append(all, now), nil, 0
		}
		now, size = append(now, i), size+len(text)
	}
	if len(now) > 0 {
		all = append(all, now)
	}
	return all
}

// make submits one batch and returns which of it the CE made jobs of.
func (s *submission) make(ctx context.Context, batch []int, texts [][]byte) (made []int, err error) {
	path, err := rest(ctx, s.c, "submit", "/jobs?action=new")
	if err != nil {
		return nil, err
	}
	ca := &call{op: "submit", method: http.MethodPost, path: path, body: join(batch, texts), creates: true,
		scope: scopeCreate, header: map[string]string{"Content-Type": "application/xml"}}
	var list []jobItem
	err = s.c.eachJob(ctx, ca, len(batch)+elementSlack, func(j *jobItem) { list = append(list, *j) })
	if err == nil && len(list) != len(batch) {
		err = s.c.fail(plugins.Uncertain, "submit", "the answer is about another number of jobs", errMalformed)
	}
	if err != nil {
		for _, i := range batch {
			s.res[i].Err = err
		}
		return nil, s.notSent(err)
	}
	given := map[string]int{}
	for k := range list {
		given[list[k].ID]++
	}
	for k, i := range batch {
		if s.outcome(i, &list[k], given[list[k].ID]) {
			made = append(made, i)
		}
	}
	s.step(len(batch))
	return made, nil
}

func join(batch []int, texts [][]byte) []byte {
	size := 64
	for _, i := range batch {
		size += len(texts[i])
	}
	body := append(make([]byte, 0, size), "<ActivityDescriptions>"...)
	for _, i := range batch {
		body = append(body, texts[i]...)
	}
	return append(body, "</ActivityDescriptions>"...)
}

// outcome keeps what the CE said of one description, with an id that it gave to so many; true: it made the job.
func (s *submission) outcome(i int, item *jobItem, given int) bool {
	switch {
	case item.Code/100 == 2 && validID(item.ID) && given > 1:
		s.res[i].Err = s.c.fail(plugins.Uncertain, "submit", "it gave one id to several jobs", errMalformed)
	case item.Code/100 == 2 && validID(item.ID):
		s.res[i].Handle = s.c.handle(item.ID)
		return true
	case item.Code/100 == 2:
		s.res[i].Err = s.c.fail(plugins.Uncertain, "submit", "it made a job and gave no id", errMalformed)
	default:
		s.res[i].Err = judge(s.c.fail(plugins.Refused, "submit", item.Reason, nil))
	}
	return false
}

// notSent is the error for the requests behind one that failed: the same, but
// nothing of theirs was sent.
func (s *submission) notSent(err error) error {
	if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Uncertain {
		return &plugins.Error{Kind: plugins.Unavailable, Op: e.Op, Endpoint: e.Endpoint, Err: err,
			Said: "not sent, the request before it got no answer"}
	}
	return err
}

// failRest gives the error to all requests that have no outcome yet.
func (s *submission) failRest(err error) {
	for i := range s.res {
		if s.res[i].Err == nil && s.res[i].Handle.ID == "" {
			s.res[i].Err = err
		}
	}
}

func (s *submission) step(n int) {
	if s.progress != nil {
		s.progress.Step("submit", int64(n), int64(len(s.reqs)))
	}
}

// undoTime limits taking back jobs after the caller's context has ended.
const undoTime = 15 * time.Second

// undo takes jobs back whose input files could not be uploaded: they would
// wait for them for ever. The reason stays their error; when a job cannot be
// taken back its handle stays with the result and the error says so.
func (s *submission) undo(ctx context.Context, failed []int) {
	if len(failed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	ids := make([]string, len(failed))
	for k, i := range failed {
		ids[k] = s.res[i].Handle.ID
	}
	errs := s.c.kill(ctx, ids)
	for k, err := range s.c.clean(ctx, ids) {
		i := failed[k]
		if errs[k] == nil && err == nil {
			s.res[i].Handle = plugins.Handle{}
			continue
		}
		if e, ok := errors.AsType[*plugins.Error](s.res[i].Err); ok {
			e.Hint = "the job " + ids[k] + " is left there, waiting for its input files, and does not run"
		}
	}
}
