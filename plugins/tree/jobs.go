package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// told is a job as a desk tells of it.
type told managers.UserTold

type toldJobs struct {
	Jobs []told `json:"jobs"`
}

// atOnce is how many jobs are in one request.
const atOnce = 500

// NeedOf is what a description, with further tags, asks of the one system that a job runs at. An environment
// with a bound on its version (NAME>=VERSION) is an error: managers know tags by their names.
func NeedOf(j *jdl.Job, tags ...string) (managers.Resources, error) {
	dem := j.Demand
	for _, text := range dem.RuntimeEnvironments {
		wish := jdl.ParseEnvironmentWish(text)
		if wish.Op != "" && wish.Op != "==" {
			return managers.Resources{}, fmt.Errorf("environment %s: a tree of managers knows tags by their names, and compares no versions; name the tag, as %s", text, wish.Tag())
		}
		tags = append(tags[:len(tags):len(tags)], wish.Tag())
	}
	slots := max(1, dem.Slots)
	return managers.Resources{
		CPUs: slots, GPUs: dem.GPUs, Memory: dem.Memory * int64(slots), Wall: int64((dem.WallTime + time.Second - 1) / time.Second),
		Tags: managers.Tags(tags...),
	}, nil
}

// Submit implements plugins.Submitter. A job is known to the desk by our id: sent twice it is taken once.
func (b *backend) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	results := make([]plugins.Result, len(reqs))
	at := 0
	for part := range slices.Chunk(reqs, atOnce) {
		c, err := b.client(part[0].Endpoint.URL)
		for i := range part {
			results[at+i] = plugins.Result{ID: part[i].ID, Err: err}
		}
		if err == nil {
			c.submit(ctx, part, results[at:at+len(part)])
		}
		if at += len(part); p != nil {
			p.Step("submit", int64(len(part)), int64(len(reqs)))
		}
	}
	return results
}

func (c *client) submit(ctx context.Context, reqs []plugins.Request, results []plugins.Result) {
	var in struct {
		Jobs []managers.UserJob `json:"jobs"`
	}
	for i, q := range reqs {
		need, err := NeedOf(q.Job)
		if err != nil {
			results[i].Err = &plugins.Error{Kind: plugins.Refused, Op: "submit", Endpoint: c.endpoint, Err: err}
			continue
		}
		in.Jobs = append(in.Jobs, managers.UserJob{Key: q.ID, Need: need, Priority: int(q.Job.Priority), For: q.For})
	}
	if len(in.Jobs) == 0 {
		return
	}
	var out toldJobs
	err := c.insist(ctx, func() error { return c.do(ctx, "submit", "/v1/jobs", in, &out, true) })
	said := map[string]told{}
	for _, t := range out.Jobs {
		said[t.Key] = t
	}
	for i, q := range reqs {
		t, answered := said[q.ID]
		switch {
		case results[i].Err != nil: // it was not asked for
		case err != nil:
			results[i].Err = err
		case !answered:
			results[i].Err = &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Endpoint: c.endpoint, Said: "no answer for this job"}
		case t.Error != "":
			results[i].Err = &plugins.Error{Kind: plugins.Refused, Op: "submit", Endpoint: c.endpoint, Said: t.Error}
		default:
			results[i].Handle = c.handle(q.ID)
		}
	}
}

// patience is for how long a desk may be away, as it is started again, before jobs are refused for it.
const patience = 5 * time.Second

// insist asks again where the desk did nothing, for a while.
func (c *client) insist(ctx context.Context, ask func() error) error {
	for until := time.Now().Add(patience); ; {
		err := ask()
		e, ok := errors.AsType[*plugins.Error](err)
		if !ok || e.Kind != plugins.Unavailable || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(time.Second, min(e.RetryIn, patience/3))):
		}
	}
}

func (c *client) handle(key string) plugins.Handle {
	return plugins.Handle{Interface: Interface, Endpoint: c.endpoint, ID: key, Owner: c.owner()}
}

// Find implements plugins.Finder.
func (b *backend) Find(ctx context.Context, e glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	c, err := b.client(e.URL)
	if err != nil {
		return nil, err
	}
	found := map[string]plugins.Handle{}
	for part := range slices.Chunk(ids, atOnce) {
		got, err := c.ask(ctx, "find", "/v1/jobs/status", part)
		if err != nil {
			return nil, err
		}
		for key := range got {
			found[key] = c.handle(key)
		}
	}
	return found, nil
}

// ask asks about jobs, by their keys.
func (c *client) ask(ctx context.Context, op, path string, keys []string) (map[string]told, error) {
	var out toldJobs
	if err := c.do(ctx, op, path, map[string]any{"keys": keys}, &out, false); err != nil {
		return nil, err
	}
	got := map[string]told{}
	for _, t := range out.Jobs {
		if slices.Contains(keys, t.Key) {
			got[t.Key] = t
		}
	}
	return got, nil
}

// notOurs is the error about a job that another credential of ours was submitted with: the desk shows it to that one.
func (c *client) notOurs(op string, h plugins.Handle) error {
	if h.Owner == "" || h.Owner == c.owner() {
		return nil
	}
	return &plugins.Error{Kind: plugins.Credential, Op: op, Endpoint: c.endpoint, Said: fmt.Sprintf("the job belongs to %s, and you are %s now", h.Owner, c.owner())}
}

// each asks desks about jobs; tell is called with what is told of each, or why nothing is. Known is that the desk has it.
func (b *backend) each(ctx context.Context, hs []plugins.Handle, op, path string, tell func(i int, t told, known bool, err error)) {
	of := map[string][]int{}
	for i, h := range hs {
		of[h.Endpoint] = append(of[h.Endpoint], i)
	}
	for endpoint, places := range of {
		c, err := b.client(endpoint)
		for part := range slices.Chunk(places, atOnce) {
			var keys []string
			for _, i := range part {
				if err == nil && c.notOurs(op, hs[i]) == nil {
					keys = append(keys, hs[i].ID)
				}
			}
			var got map[string]told
			failed := err
			if len(keys) > 0 {
				got, failed = c.ask(ctx, op, path, keys)
			}
			for _, i := range part {
				t, known := got[hs[i].ID]
				why := failed
				if why == nil {
					why = c.notOurs(op, hs[i])
				}
				tell(i, t, known, why)
			}
		}
	}
}

// Status implements plugins.Submitter.
func (b *backend) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	b.each(ctx, hs, "status", "/v1/jobs/status", func(i int, t told, known bool, err error) {
		switch {
		case err != nil:
			out[i] = plugins.Status{Handle: hs[i], State: plugins.Unknown, Err: err}
		case !known:
			out[i] = plugins.Status{Handle: hs[i], State: plugins.Lost, Err: &plugins.Error{Kind: plugins.Refused, Op: "status", Endpoint: hs[i].Endpoint, Said: "no such job"}}
		default:
			out[i] = t.status(hs[i])
		}
	})
	return out
}

// status is the job in the words of all back-ends: it waits until it is sent on.
func (t told) status(h plugins.Handle) plugins.Status {
	s := plugins.Status{Handle: h, State: plugins.Queued, Native: string(t.State)}
	if t.Submitted > 0 {
		s.Submitted = time.UnixMilli(t.Submitted).UTC()
	}
	system := foreign.Text(t.System)
	switch t.State {
	case managers.UserWaits:
		s.Native = "waits in the tree"
	case managers.UserAway:
		s.Native = "waits until somebody follows it: grid watch or grid follow"
	case managers.UserAssigned:
		s.Native = "has a place at " + system + ": grid watch or grid follow starts it there"
	case managers.UserClaimed:
		s.Native = "is about to be sent to " + system
	case managers.UserEnded:
		s.State = plugins.Cancelled
	case managers.UserGone:
		s.State, s.Reason = plugins.Failed, "its place was claimed, and nobody asked for it for longer than it may take"
	default:
		s.State, s.Native = plugins.Unknown, ""
		s.Err = &plugins.Error{Kind: plugins.Unavailable, Op: "status", Endpoint: h.Endpoint, Said: fmt.Sprintf("it says that the job is %.40q", t.State)}
	}
	return s
}

// Claim implements plugins.Assigner.
func (b *backend) Claim(ctx context.Context, hs []plugins.Handle) []plugins.Claim {
	out := make([]plugins.Claim, len(hs))
	b.each(ctx, hs, "claim", "/v1/jobs/claim", func(i int, t told, _ bool, err error) {
		if out[i].Err = err; err == nil && t.State == managers.UserClaimed {
			out[i].System = t.System
		}
	})
	return out
}

// News implements plugins.Herald: of jobs that have got a place. A desk that holds no such questions refuses them.
func (b *backend) News(ctx context.Context, endpoint, mark string) (ids []string, next string, err error) {
	c, err := b.client(endpoint)
	if err != nil {
		return nil, "", err
	}
	var out managers.UserNews
	err = c.do(ctx, "news", "/v1/jobs/news?since="+url.QueryEscape(cmp.Or(mark, "0")), nil, &out, false)
	return out.Keys, strconv.FormatInt(out.Mark, 10), err
}

// Cancel implements plugins.Submitter: a job that waits is withdrawn, the place of one that has got one is free.
func (b *backend) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	errs := make([]error, len(hs))
	b.each(ctx, hs, "cancel", "/v1/jobs/end", func(i int, _ told, _ bool, err error) { errs[i] = err })
	return errs
}

// Why implements plugins.Explainer.
func (b *backend) Why(ctx context.Context, h plugins.Handle) ([]string, error) {
	c, err := b.client(h.Endpoint)
	if err != nil {
		return nil, err
	}
	got, err := c.ask(ctx, "why", "/v1/jobs/status", []string{h.ID})
	t, known := got[h.ID]
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, errors.New("the tree of managers does not know it")
	}
	id := foreign.Text(t.ID)
	switch t.State {
	case managers.UserWaits:
		return []string{fmt.Sprintf("It waits in the tree of managers, as %s, until some system has all of what it needs free.", id)}, nil
	case managers.UserAway:
		return []string{"It is offered to no system, as nobody follows it: grid watch or grid follow asks for its place."}, nil
	case managers.UserAssigned, managers.UserClaimed:
		return []string{fmt.Sprintf("It has a place at %s, as %s: who follows it starts it there.", foreign.Text(t.System), id)}, nil
	}
	return nil, nil
}

// Ping implements plugins.Pinger.
func (b *backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	c, err := b.client(endpoint)
	if err != nil {
		return plugins.Pong{}, err
	}
	var out struct {
		Interface string   `json:"interface"`
		Versions  []string `json:"versions"`
		Subject   string   `json:"subject"`
	}
	began := time.Now()
	err = c.do(ctx, "ping", "/v1/ping", nil, &out, false)
	if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Credential { // it is up
		return plugins.Pong{Interface: Interface, Said: e.Said, Latency: time.Since(began)}, nil
	}
	const most = 1 << 10
	short := func(s string) string { return s[:min(len(s), most)] }
	for i, v := range out.Versions[:min(len(out.Versions), 16)] {
		out.Versions[i] = short(v)
	}
	return plugins.Pong{Interface: short(out.Interface), Versions: out.Versions[:min(len(out.Versions), 16)], Identity: short(out.Subject), LetIn: err == nil, Latency: time.Since(began)}, err
}
