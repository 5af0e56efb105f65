package simtest

import (
	"context"
	"fmt"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// network lies between processes and computing elements.
type network struct {
	*world
	ces    map[string]*ce // by URL
	plant  plant
	calm   bool // no faults any more
	tardy  bool // requests may arrive hours late
	within time.Duration
}

// ce is a computing element. However often a request arrives, the answer is
// the same, and the job is there once.
type ce struct {
	url     string
	jobs    map[string]*instance // by request id
	refused map[string]error
	down    time.Time // until then it refuses connections
	blind   time.Time // until then it has forgotten what came after
	since   time.Time //   this time
	full    float64   // chance of a refusal
}

// instance is a job at a computing element.
type instance struct {
	request, job string
	at           *ce
	made         time.Time
	starts, ends time.Time
	how          plugins.Status
	cancelled    time.Time
}

// live reports whether it may still do something.
func (i *instance) live(now time.Time) bool {
	return i.cancelled.IsZero() && (now.Before(i.ends) || i.how.State == plugins.Done && i.how.ExitCode.V == 0)
}

func (i *instance) status(now time.Time) plugins.Status {
	switch {
	case !i.cancelled.IsZero():
		return plugins.Status{State: plugins.Cancelled}
	case now.Before(i.starts):
		return plugins.Status{State: plugins.Queued}
	case now.Before(i.ends):
		return plugins.Status{State: plugins.Running, Started: i.starts}
	}
	st := i.how
	st.Started, st.Ended = i.starts, i.ends
	return st
}

const (
	timeout  = time.Minute    // for which a client waits for an answer
	tardiest = 12 * time.Hour // after which no request arrives any more
)

// call is one message and its answer. do happens at the computing element when
// the message arrives there, twice perhaps; ok is false when no answer came in
// time.
func (n *network) call(p *process, to *ce, do func()) (answered, refused bool) {
	if !p.effect() {
		return false, false
	}
	there, back := n.between(time.Millisecond, time.Second), n.between(time.Millisecond, time.Second)
	lost, answerLost := false, false
	if !n.calm {
		switch {
		case n.chance(0.05):
			lost = true
		case n.chance(0.05):
			answerLost = true
		case n.chance(0.05): // half open: it arrives when the client is gone
			there = n.between(timeout, n.within)
		case n.chance(0.03):
			back = n.between(0, 2*timeout) // late answer
		case n.tardy && n.chance(0.03):
			there = n.between(n.within, tardiest)
		}
	}
	if p.now.Before(to.down) {
		p.sleep(there)
		p.effect()
		return false, true
	}
	arrived := false
	arrive := func() {
		if arrived = !n.now.Before(to.down); arrived {
			do()
		}
	}
	if !lost {
		n.at(n.now.Add(there), arrive)
		if !n.calm && n.chance(0.05) {
			n.at(n.now.Add(there+n.between(0, time.Second)), arrive) // twice
		}
	}
	if lost || answerLost || there+back > timeout {
		p.sleep(timeout)
		p.effect()
		return false, false
	}
	p.sleep(there + back + time.Millisecond)
	if p.effect(); !arrived {
		p.sleep(timeout - there - back)
		return false, false
	}
	return true, false
}

// client is a back-end as one process has it.
type client struct {
	*network
	p *process
}

func (c client) ce(url string) *ce { return c.ces[url] }

func fault(kind plugins.Kind, op string, to *ce, said string) error {
	return &plugins.Error{Kind: kind, Op: op, Endpoint: to.url, Said: said}
}

// Submit implements plugins.Submitter.
func (c client) Submit(_ context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	to := c.ce(reqs[0].Endpoint.URL)
	got := make([]error, len(reqs))
	done := false
	answered, refused := c.call(c.p, to, func() {
		for i, q := range reqs {
			if err := c.take(to, q); !done {
				got[i] = err
			}
		}
		done = true
	})
	out := make([]plugins.Result, len(reqs))
	for i, q := range reqs {
		out[i] = plugins.Result{ID: q.ID, Handle: plugins.Handle{Interface: q.Endpoint.Interface, Endpoint: to.url, ID: "their-" + q.ID}}
		switch {
		case refused:
			out[i].Err = fault(plugins.Unavailable, "submit", to, "connection refused")
		case !answered && c.plant == wrongKind:
			out[i].Err = fault(plugins.Unavailable, "submit", to, "timeout")
		case !answered:
			out[i].Err = fault(plugins.Uncertain, "submit", to, "no answer")
		default:
			out[i].Err = got[i]
		}
	}
	return out
}

// take makes a job at the computing element, and looks whether it is the only
// one.
func (n *network) take(to *ce, q plugins.Request) error {
	if to.jobs[q.ID] != nil || to.refused[q.ID] != nil {
		return to.refused[q.ID]
	}
	if n.chance(to.full) {
		to.refused[q.ID] = fault(plugins.Refused, "submit", to, "full")
		return to.refused[q.ID]
	}
	i := &instance{request: q.ID, job: jobOf(q.ID), at: to, made: n.now}
	i.starts = n.now.Add(n.between(time.Second, 20*time.Minute))
	i.ends = i.starts.Add(n.between(time.Minute, 30*time.Minute))
	switch {
	case n.chance(0.1):
		i.how = plugins.Status{State: plugins.Failed, Reason: "node died"}
	case n.chance(0.05):
		i.how = plugins.Status{State: plugins.Done, ExitCode: glue.Some(3)}
	default:
		i.how = plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	n.trace("%s is made at %s", q.ID, to.url)
	if !n.tardy {
		n.alone(i)
	}
	to.jobs[q.ID] = i
	return nil
}

// alone looks whether the job of a new instance is at another place.
func (n *network) alone(i *instance) {
	for _, other := range n.ces {
		for _, o := range other.jobs {
			if o.job == i.job && o.live(n.now) {
				n.faults = append(n.faults, fmt.Sprintf("job %s is at %s as %s and at %s as %s", i.job, o.at.url, o.request, i.at.url, i.request))
			}
		}
	}
}

// known reports whether the computing element remembers a job just now.
func (to *ce) known(id string, now time.Time) *instance {
	i := to.jobs[id]
	if i == nil || now.Before(to.blind) && i.made.After(to.since) {
		return nil
	}
	return i
}

// Find implements plugins.Finder.
func (c client) Find(_ context.Context, e glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	to := c.ce(e.URL)
	found := map[string]plugins.Handle{}
	answered, _ := c.call(c.p, to, func() {
		for _, id := range ids {
			if to.jobs[id] != nil { // by what the batch system has
				found[id] = plugins.Handle{Interface: e.Interface, Endpoint: e.URL, ID: "their-" + id}
			}
		}
	})
	if !answered && c.plant == blindFinder {
		return nil, nil
	}
	if !answered {
		return nil, fault(plugins.Unavailable, "find", to, "no answer")
	}
	return found, nil
}

// Status implements plugins.Submitter.
func (c client) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	to := c.ce(hs[0].Endpoint)
	out := make([]plugins.Status, len(hs))
	answered, _ := c.call(c.p, to, func() {
		for k, h := range hs {
			if i := to.known(h.ID[len("their-"):], c.now); i == nil {
				out[k] = plugins.Status{State: plugins.Lost}
			} else {
				out[k] = i.status(c.now)
			}
		}
	})
	if !answered {
		for k := range out {
			out[k] = plugins.Status{State: plugins.Unknown, Err: fault(plugins.Unavailable, "status", to, "no answer")}
		}
	}
	return out
}

// Cancel implements plugins.Submitter.
func (c client) Cancel(_ context.Context, hs []plugins.Handle) []error {
	to := c.ce(hs[0].Endpoint)
	errs := make([]error, len(hs))
	answered, _ := c.call(c.p, to, func() {
		for _, h := range hs {
			if i := to.jobs[h.ID[len("their-"):]]; i != nil && i.cancelled.IsZero() && c.now.Before(i.ends) {
				i.cancelled = c.now
			}
		}
	})
	for k := range errs {
		if !answered {
			errs[k] = fault(plugins.Unavailable, "cancel", to, "no answer")
		}
	}
	return errs
}

// jobOf is our id in a request's.
func jobOf(request string) string { return request[:15] }
