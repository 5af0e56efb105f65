package arcrest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/plugins"
)

// Status implements plugins.Submitter. Two requests per endpoint bring all:
// the list of live states, and the details. Details are a cycle of the
// infoprovider old; for jobs that ended since, the CE's own record is read.
func (b *Backend) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	b.byEndpoint("status", hs, func(c *client, at []int, err error) {
		var got map[string]*plugins.Status
		if err == nil {
			got, err = c.status(ctx, idsOf(hs, at))
		}
		for _, i := range at {
			out[i] = plugins.Status{Handle: hs[i], State: plugins.Unknown, Err: err}
			if st := got[hs[i].ID]; st != nil {
				out[i] = *st
				out[i].Handle = hs[i]
			}
		}
	})
	return out
}

func (c *client) status(ctx context.Context, ids []string) (map[string]*plugins.Status, error) {
	if _, err := c.version(ctx, "status"); err != nil {
		return nil, err
	}
	var live map[string]string
	var info map[string]jobItem
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { live, err = c.live(gctx); return err })
	g.Go(func() (err error) { info, err = c.bulk(gctx, "status", "info", scopeRead, ids); return err })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make(map[string]*plugins.Status, len(ids))
	for _, id := range ids {
		out[id] = c.combine(id, live[id], info[id])
	}
	return out, c.complete(ctx, out)
}

// live lists the state of every job we have there.
func (c *client) live(ctx context.Context) (map[string]string, error) {
	path, err := c.rest(ctx, "status", "/jobs?state="+everyState)
	if err != nil {
		return nil, err
	}
	var list jobList
	if err := c.decode(ctx, &call{op: "status", method: http.MethodGet, path: path, scope: scopeRead}, &list); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(list.Jobs))
	for _, j := range list.Jobs {
		out[j.ID] = j.State
	}
	return out, nil
}

// combine makes one status of the live state and the details.
func (c *client) combine(id, live string, item jobItem) *plugins.Status {
	native := live
	if native == "" {
		native = item.Info.rest()
	}
	// the list does not know what the batch system does with a job
	if was := item.Info.rest(); native == "RUNNING" && (was == "QUEUING" || was == "HELD") {
		native = was
	}
	st := &plugins.Status{State: stateOf(native), Native: native}
	switch {
	case live == "" && item.Code == http.StatusNotFound:
		st.State, st.Native = plugins.Lost, "None"
		st.Err = c.fail(plugins.Refused, "status", item.Reason, nil)
		return st
	case native == "":
		st.Err = c.fail(plugins.Unavailable, "status", "the answer leaves out job "+id, nil)
		return st
	}
	item.Info.fill(st)
	return st
}

// fill copies the details. They may be older than the state.
func (a *activity) fill(st *plugins.Status) {
	st.Submitted, st.Started, st.Ended = instant(a.Submitted), instant(a.Started), instant(a.LRMSEnd)
	if st.Ended.IsZero() {
		st.Ended = instant(a.Ended)
	}
	st.Expires = instant(a.Erased)
	st.WallTime, st.CPUTime = seconds(a.Wall), seconds(a.CPU)
	st.MaxMemory = number(a.Memory)
	if len(a.Node) > 0 {
		st.Node = a.Node[0]
	}
	if len(a.Error) > 0 {
		st.Reason = a.Error[0]
	}
	if a.rest() == st.Native {
		st.ExitCode = exitCode(a.ExitCode)
	}
	settle(st)
}

// settle makes a job that failed by its exit code alone a finished one.
func settle(st *plugins.Status) {
	if st.State == plugins.Failed && st.ExitCode.OK && ranToItsEnd(st.Reason) {
		st.State = plugins.Done
	}
}

// complete reads the records of jobs that ended after the details were
// written, several at once.
func (c *client) complete(ctx context.Context, all map[string]*plugins.Status) error {
	var g errgroup.Group
	g.SetLimit(c.o.Connections)
	var mu sync.Mutex
	var first error
	for id, st := range all {
		ended := st.State == plugins.Done || st.State == plugins.Failed || st.State == plugins.Cancelled
		if !ended || st.ExitCode.OK || st.Reason != "" {
			continue
		}
		g.Go(func() error {
			if err := c.record(ctx, id, st); err != nil {
				mu.Lock()
				defer mu.Unlock()
				first = err
			}
			return nil
		})
	}
	_ = g.Wait() // its functions return nil
	if ctx.Err() != nil {
		return first
	}
	return nil
}

// instant reads the times of GLUE 2.0 documents; zero when there is none.
func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
