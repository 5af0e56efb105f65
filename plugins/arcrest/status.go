package arcrest

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/plugins"
)

// Status implements plugins.Submitter. Two requests per endpoint bring all:
// the list of live states (where it is long, the states one by one), and the
// details of jobs that the batch system has or had, of which nothing as good is known. Details are a cycle of the
// infoprovider old; for jobs that ended since, the CE's own record is read.
func (b *Backend) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	b.byEndpoint(ctx, "status", hs, func(c *client, at []int, err error) {
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

// status asks, and asks again about jobs whose answer is in doubt.
func (c *client) status(ctx context.Context, ids []string) (map[string]*plugins.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime*c.o.Timeout)
	defer cancel()
	all, doubtful, err := ask(ctx, c, ids)
	for range looks - 1 {
		if err != nil || len(doubtful) == 0 {
			break
		}
		pause(ctx, lookWait)
		var again map[string]*plugins.Status
		again, doubtful, err = ask(ctx, c, doubtful)
		maps.Copy(all, again)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// statusTime is how many of its timeouts an endpoint may take in all to say how
// our jobs are: it could bring every answer late, and others wait for it.
const statusTime = 5

// ask looks once. It returns also the ids that another look may change.
func ask(ctx context.Context, c *client, ids []string) (all map[string]*plugins.Status, doubtful []string, err error) {
	// one after the other: another connection would cost more than the wait
	live, err := looker{c}.states(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	var begun []string
	for _, id := range ids {
		if !waiting(live[id]) {
			begun = append(begun, id)
		}
	}
	now := c.o.Now()
	info, begun := c.details.known(begun, live, now)
	told, err := c.bulk(ctx, "status", "info", scopeRead, begun)
	if err != nil {
		return nil, nil, err
	}
	c.details.keep(told, live, now)
	maps.Copy(info, told)
	all = make(map[string]*plugins.Status, len(ids))
	stale := map[string]*plugins.Status{} // ended since the details were written
	for _, id := range ids {
		item := info[id]
		st := combine(c, id, live[id], &item)
		all[id] = st
		if ended(st.State) && !item.Info.final() {
			stale[id] = st
		}
	}
	err = complete(ctx, c, stale)
	for id, st := range all {
		if inDoubt(st, live[id]) {
			doubtful = append(doubtful, id)
		}
	}
	return all, doubtful, err
}

// inDoubt reports whether a status may come from a moment in which A-REX was
// at the job's files. It moves the state file of a job from one directory to
// another: in between the list leaves the job out or calls it WIPED. It
// removes the mark of failure of a job that is being cleaned before the state:
// in between a failed job looks finished, but has no exit code any more.
func inDoubt(st *plugins.Status, live string) bool {
	return st.State == plugins.Lost || st.State == plugins.Done && !st.ExitCode.OK || live == "" && !ended(st.State)
}

// waiting reports whether a job has not got to the batch system yet: its
// details have nothing to add to its state.
func waiting(live string) bool {
	switch live {
	case "ACCEPTING", "ACCEPTED", "PREPARING", "PREPARED", "SUBMITTING":
		return true
	}
	return false
}

func ended(s plugins.State) bool {
	return s == plugins.Done || s == plugins.Failed || s == plugins.Cancelled
}

// combine makes one status of the live state and the details.
func combine(c *client, id, live string, item *jobItem) *plugins.Status {
	native, was := live, item.Info.rest()
	switch {
	case native == "":
		native = was
	case native == "RUNNING" && (was == "QUEUING" || was == "HELD"):
		native = was // the list does not know what the batch system does with a job
	case native == "FAILED" && was == "KILLED":
		native = was // nor tells it a cancelled job from a failed one
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
	if native == "WIPED" {
		st.Reason = "the CE has removed the job's files"
	}
	return st
}

// final reports whether the details are of an ended job, and complete: before
// the infoprovider's first look there are only name and state.
func (a *activity) final() bool {
	return ended(stateOf(a.rest())) && (a.ExitCode != "" || len(a.Error) > 0)
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
	if current := a.rest() == st.Native; current && ended(st.State) {
		st.ExitCode = exitCode(a.ExitCode)
	}
	if len(a.Error) > 0 && (ended(st.State) || st.State == plugins.Held) {
		st.Reason = a.Error[0]
	}
	settle(st)
}

// settle makes a job that failed by its exit code alone a finished one, of
// which nothing is to be said but that code, and one that failed because we
// cancelled it a cancelled one.
func settle(st *plugins.Status) {
	switch {
	case st.State != plugins.Failed:
	case st.ExitCode.OK && ranToItsEnd(st.Reason):
		st.State = plugins.Done
		if saysCodeAlone(st.Reason) {
			st.Reason = ""
		}
	case strings.Contains(st.Reason, "canceled by external request"):
		st.State = plugins.Cancelled
	}
}

// complete reads the grid manager's records of jobs, several at once.
func complete(ctx context.Context, c *client, stale map[string]*plugins.Status) error {
	g, ctx := errgroup.WithContext(ctx) // where one fails the others would, too, each after its time
	g.SetLimit(c.o.Connections)
	for id, st := range stale {
		g.Go(func() error { return record(ctx, c, id, st) })
	}
	return g.Wait()
}

// instant reads the times of GLUE 2.0 documents; zero when there is none.
func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
