package central

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gridbroker/credential"
	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// submission, taken and outcome are the scheduler's documents.
type submission struct {
	Key   string `json:"key"`
	JDL   string `json:"jdl"`
	Files []file `json:"files,omitempty"`
}

type file struct {
	Name string `json:"name"`
	Body []byte `json:"body"`
}

type taken struct {
	Key   string `json:"key"`
	ID    string `json:"id"`
	Error string `json:"error"`
}

// atOnce is the number of jobs of one request, maxRequest the bytes that they may
// have together where they are several: half of what schedulers read.
const (
	atOnce     = 500
	maxRequest = 32 << 20
)

// Submit implements plugins.Submitter. A job is known to the scheduler by our
// id: sent twice it is taken once.
func (b *Backend) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	results := make([]plugins.Result, len(reqs))
	for i := range reqs {
		results[i].ID = reqs[i].ID
	}
	if len(reqs) == 0 {
		return nil
	}
	until := time.Now().Add(patience)
	c, err := b.client(ctx, reqs[0].Endpoint.URL)
	if err == nil {
		err = c.delegate(ctx, until)
	}
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	for from := 0; from < len(reqs); from += atOnce {
		to := min(from+atOnce, len(reqs))
		c.submit(ctx, until, reqs[from:to], results[from:to])
		if p != nil {
			p.Step("submit", int64(to-from), int64(len(reqs)))
		}
	}
	return results
}

// submit sends jobs in as few requests as their sizes allow.
func (c *client) submit(ctx context.Context, until time.Time, reqs []plugins.Request, results []plugins.Result) {
	var jobs []submission
	size, at := 0, map[string]int{}
	for i, q := range reqs {
		files, err := sandbox(q.Job)
		if err != nil {
			results[i].Err = &plugins.Error{Kind: plugins.Refused, Op: "submit", Endpoint: c.endpoint, Err: err, Hint: "name them by URL, or submit directly: --via \"\""}
			continue
		}
		s := submission{q.ID, q.Job.Text(), files}
		if n := s.size(); size+n > maxRequest && len(jobs) > 0 {
			c.send(ctx, until, jobs, at, results)
			jobs, size, at = nil, n, map[string]int{}
		} else {
			size += n
		}
		at[q.ID] = i
		jobs = append(jobs, s)
	}
	if len(jobs) > 0 {
		c.send(ctx, until, jobs, at, results)
	}
}

// size is about how many bytes a submission takes in a request.
func (s *submission) size() int {
	n := 2 * len(s.JDL) // quotes and ends of lines take more in JSON
	for _, f := range s.Files {
		n += base64.StdEncoding.EncodedLen(len(f.Body))
	}
	return n
}

// send sends jobs in one request; at has the places of their results.
func (c *client) send(ctx context.Context, until time.Time, jobs []submission, at map[string]int, results []plugins.Result) {
	var out struct {
		Jobs []taken `json:"jobs"`
	}
	err := c.insist(ctx, until, "submit", "POST", "/v1/jobs", map[string]any{"jobs": jobs}, &out)
	if err == nil && len(out.Jobs) != len(jobs) {
		err = &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Endpoint: c.endpoint, Said: fmt.Sprintf("%d answers for %d jobs", len(out.Jobs), len(jobs))}
	}
	unanswered := err
	if err == nil {
		unanswered = &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Endpoint: c.endpoint, Said: "no answer for this job"}
	}
	for _, i := range at {
		results[i].Err = unanswered
	}
	if err != nil {
		return
	}
	given, several := map[string]string{}, map[string]bool{} // to whom, and to more than one
	for _, t := range out.Jobs {
		key, known := given[t.ID]
		several[t.ID] = several[t.ID] || known && key != t.Key
		given[t.ID] = t.Key
	}
	for _, t := range out.Jobs {
		i, mine := at[t.Key]
		switch {
		case !mine:
		case t.ID != "" && several[t.ID]:
			results[i].Err = &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Endpoint: c.endpoint, Said: "it gave one id to several jobs"}
		case t.Error != "" || t.ID == "":
			results[i].Err = &plugins.Error{Kind: plugins.Refused, Op: "submit", Endpoint: c.endpoint, Said: t.Error}
		default:
			results[i].Handle, results[i].Err = c.handle(t.ID), nil
		}
	}
}

func (c *client) handle(id string) plugins.Handle {
	return plugins.Handle{Interface: Interface, Endpoint: c.endpoint, ID: id, Owner: c.owner()}
}

// maxSandbox bounds the small files that travel with a job, in bytes: as much
// as a scheduler takes by default.
const maxSandbox = 1 << 20

// sandbox reads the input files that are of this machine.
func sandbox(job *jdl.Job) (files []file, err error) {
	size := int64(0)
	for _, f := range job.InputSandbox {
		if f.IsURL() || f.Text != "" { // what a broker makes is the scheduler's own to make
			continue
		}
		in, _, err := f.Open()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(io.LimitReader(in, maxSandbox-size+1)) // it may grow
		if err := errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		if size += int64(len(body)); size > maxSandbox {
			return nil, errors.New("its input files are larger than 1 MB, and do not pass through a scheduler")
		}
		files = append(files, file{f.Name, body})
	}
	return files, nil
}

// Find implements plugins.Finder.
func (b *Backend) Find(ctx context.Context, e glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	c, err := b.client(ctx, e.URL)
	if err != nil {
		return nil, err
	}
	found := map[string]plugins.Handle{}
	for part := range slices.Chunk(ids, atOnce) {
		var out viewList
		if err := c.do(ctx, "find", "POST", "/v1/jobs/status", map[string]any{"keys": part}, &out); err != nil {
			return nil, err
		}
		for _, v := range out.Jobs {
			if v.ID != "" && slices.Contains(part, v.Key) {
				found[v.Key] = c.handle(v.ID)
			}
		}
	}
	return found, nil
}

// delegate gives the scheduler a proxy of ours to act with, where we have one and
// the scheduler has shown who it is: whoever listens at this machine's port gets none.
// Tokens are not passed on: the scheduler's own are for its sites.
func (c *client) delegate(ctx context.Context, until time.Time) error {
	x := c.set.X509
	if x == nil || c.byToken() != nil || c.plain() {
		return nil
	}
	var ask struct {
		ID  string `json:"id"`
		CSR string `json:"csr"`
	}
	if err := c.insist(ctx, until, "delegate", "POST", "/v1/delegation", nil, &ask); err != nil {
		return unsent(err)
	}
	chain, err := x.SignDelegation([]byte(ask.CSR), delegationLife)
	if err != nil {
		e := &plugins.Error{Kind: plugins.Credential, Op: "delegate", Endpoint: c.endpoint, Said: err.Error(), Err: err}
		c.clock.blame(e)
		return e
	}
	return unsent(c.insist(ctx, until, "delegate", "PUT", "/v1/delegation", map[string]string{"id": ask.ID, "chain": string(chain)}, nil))
}

// unsent tells that no job has been sent yet: nothing is uncertain.
func unsent(err error) error {
	if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Uncertain {
		e.Kind = plugins.Unavailable
	}
	return err
}

// Renew implements plugins.Renewer: one delegation serves all jobs of its VOs.
func (b *Backend) Renew(ctx context.Context, hs []plugins.Handle) []error {
	errs := make([]error, len(hs))
	done := map[string]error{}
	b.each(ctx, hs, func(c *client, err error, places []int) {
		endpoint := hs[places[0]].Endpoint
		if known, was := done[endpoint]; was {
			err = known
		} else if err == nil {
			err = c.renew(ctx)
		}
		done[endpoint] = err
		for _, i := range places {
			errs[i] = err
		}
		if err == nil {
			c.othersVO(ctx, hs, places, errs)
		}
	})
	return errs
}

// othersVO tells of which jobs nothing was renewed: those of other VOs than the proxy that was delegated. Where
// the scheduler cannot tell now it does so itself, in their states.
func (c *client) othersVO(ctx context.Context, hs []plugins.Handle, places []int, errs []error) {
	if c.byToken() != nil || c.set.X509 == nil || c.plain() {
		return
	}
	vos := credential.NamedVOs(c.set.X509)
	got, err := c.views(ctx, hs, places)
	for _, i := range places {
		vo := cmp.Or(got[hs[i].ID].VO, got[hs[i].ID].Named)
		if err == nil && vo != "" && !slices.Contains(vos, vo) {
			errs[i] = &plugins.Error{Kind: plugins.Credential, Op: "renew", Endpoint: c.endpoint,
				Said: fmt.Sprintf("the job goes by what you have delegated as a member of VO %s, and your proxy is of %s", foreign.Text(clipped(vo)), cmp.Or(strings.Join(vos, ", "), "no VO")),
				Hint: "grid auth proxy --voms VO, then renew again"}
		}
	}
}

// renew delegates anew; who shows a token shows the one that he has now: until it runs out the
// scheduler begins his jobs.
func (c *client) renew(ctx context.Context) error {
	if c.byToken() != nil {
		return unsent(c.do(ctx, "renew", "POST", "/v1/jobs/status", map[string]any{}, nil))
	}
	return c.delegate(ctx, time.Now().Add(patience))
}
