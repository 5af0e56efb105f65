package sim

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// door is the back-end of all sites of a run.
type door struct {
	*grid
	numbers map[string]int // of jobs, by record
	states  map[attempt]fate
	limits  map[string]time.Time // by attempt that was sent ahead: when it counts as late
}

func newDoor(g *grid) door {
	return door{g, map[string]int{}, map[attempt]fate{}, map[string]time.Time{}}
}

// fate is what became of an attempt so far: little, as there is one for every job of a run.
type fate struct {
	state          plugins.State
	started, ended int64 // Unix time in seconds; 0: not yet
}

// tell writes what a site says of it.
func (f fate) tell(st *plugins.Status) {
	st.State, st.Started, st.Ended = f.state, at(f.started), at(f.ended)
	switch f.state {
	case plugins.Done:
		st.ExitCode = glue.Some(0)
	case plugins.Failed:
		st.Fault, st.Reason = plugins.SitesFault, "lost with its node"
	}
}

// at is a time in seconds; 0: none.
func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// at finds the site of an endpoint.
func (d door) at(url string) *site {
	name, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	return d.site(name)
}

// Submit implements plugins.Submitter.
func (d door) Submit(_ context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	out := make([]plugins.Result, len(reqs))
	for i, q := range reqs {
		out[i].ID = q.ID
		c := d.at(q.Endpoint.URL)
		number, known := d.numbers[recordOf(q.ID, d.numbers)]
		if err := c.advance(d.now); err != nil || !known || !c.takes() || c.Procs < d.job(number).procs {
			out[i].Err = d.refusal(c, q)
			d.run.Messages++
			continue
		}
		j := d.job(number)
		begin := time.Time{}
		if q.Booking != nil && q.Booking.Deadline > 0 { // in a slot
			begin = d.Now().Add(q.Booking.Begin)
			d.run.Booked++
		}
		id, takes := d.send(number, c, begin)
		out[i].Took = takes
		j.tries++
		if !begin.IsZero() {
			d.limits[id] = begin.Add(d.scenario.Latency.Duration).Add(missedAfter)
		}
		d.states[attemptOf(id)] = fate{state: plugins.Queued}
		out[i].Handle = plugins.Handle{Interface: q.Endpoint.Interface, Endpoint: q.Endpoint.URL, ID: id}
	}
	return out
}

// recordOf is our job's id in a request's, which has the attempt behind it.
func recordOf(request string, known map[string]int) string {
	for id := request; id != ""; {
		if _, ok := known[id]; ok {
			return id
		}
		id = id[:max(0, strings.LastIndexAny(id, "-._"))]
	}
	return request
}

// refusal says why a site takes no job.
func (d door) refusal(c *site, q plugins.Request) error {
	e := &plugins.Error{Kind: plugins.Refused, Op: "submit", Endpoint: q.Endpoint.URL, Said: "no room for " + strconv.Quote(q.ID)}
	switch {
	case c.down:
		e.Kind, e.Said = plugins.Unavailable, "connection refused"
	case c.closed:
		e.Kind, e.Said = plugins.Refused, "the credential is not accepted"
	}
	return e
}

// Status implements plugins.Submitter.
func (d door) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	d.run.Messages += 2
	var c *site
	for i, h := range hs {
		if i == 0 || h.Endpoint != hs[i-1].Endpoint {
			c = d.at(h.Endpoint)
		}
		if c.down {
			out[i] = plugins.Status{State: plugins.Unknown, Err: &plugins.Error{Kind: plugins.Unavailable, Op: "status", Endpoint: h.Endpoint, Said: "connection refused"}}
		} else if f, ok := d.states[attemptOf(h.ID)]; ok {
			f.tell(&out[i])
		} else {
			out[i] = plugins.Status{State: plugins.Lost}
		}
		out[i].Handle = h
	}
	return out
}

// Cancel implements plugins.Submitter.
func (d door) Cancel(_ context.Context, hs []plugins.Handle) []error {
	errs := make([]error, len(hs))
	for i, h := range hs {
		c := d.at(h.Endpoint)
		d.run.Messages++
		if errs[i] = c.advance(d.now); errs[i] != nil || d.states[attemptOf(h.ID)].state != plugins.Queued {
			continue
		}
		if k := slices.IndexFunc(c.coming, func(a arrival) bool { return a.id == h.ID }); k >= 0 {
			c.coming = slices.Delete(c.coming, k, k+1)
		} else if errs[i] = c.engine.Cancel(h.ID, d.Now()); errs[i] != nil {
			continue
		}
		d.states[attemptOf(h.ID)] = fate{state: plugins.Cancelled}
		if _, booked := d.limits[h.ID]; booked {
			d.run.Missed++
			delete(d.limits, h.ID)
		}
	}
	return errs
}

// begun is told of every start.
func (d door) begun(_ int, id string, _ *site, start time.Time) {
	d.states[attemptOf(id)] = fate{state: plugins.Running, started: start.Unix()}
	if limit, booked := d.limits[id]; booked && start.After(limit) {
		d.run.Missed++
	}
	delete(d.limits, id)
}

// left is told of every end.
func (d door) left(_ int, id string, _ *site, start, end time.Time, well bool) {
	f := fate{plugins.Done, start.Unix(), end.Unix()}
	if !well {
		f.state = plugins.Failed
		d.run.Again++
	}
	d.states[attemptOf(id)] = f
}
