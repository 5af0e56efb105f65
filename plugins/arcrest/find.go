package arcrest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// findChunk is how many jobs are asked for their details at once: an answer
// has some 2 kB for each.
const findChunk = 1000

// Find implements plugins.Finder: it reads the names of the user's jobs at the
// endpoint until all ids are found.
func (b *Backend) Find(ctx context.Context, endpoint glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	want := make(map[string]bool, len(ids))
	for _, id := range ids {
		want[id] = true
	}
	found := map[string]plugins.Handle{}
	err := b.eachName(ctx, endpoint, func(c *client, id, name string) bool {
		if ours := ourID(name); want[ours] {
			found[ours] = c.handle(id)
		}
		return len(found) < len(want)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Names returns the names of all jobs that the user has at the endpoint, by
// the CE's ids.
func (b *Backend) Names(ctx context.Context, endpoint glue.Endpoint) (map[string]string, error) {
	all := map[string]string{}
	err := b.eachName(ctx, endpoint, func(_ *client, id, name string) bool {
		all[id] = name
		return true
	})
	return all, err
}

// Inventory implements plugins.Inventory: every job of the user, by whatever
// client it came.
func (b *Backend) Inventory(ctx context.Context, endpoint glue.Endpoint) ([]plugins.Present, error) {
	var all []plugins.Present
	err := b.eachName(ctx, endpoint, func(c *client, id, name string) bool {
		ours := ourID(name)
		all = append(all, plugins.Present{ID: ours, Name: strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), ours)), Handle: c.handle(id)})
		return true
	})
	return all, err
}

// A-REX moves the files of a job between directories while it lists them, so
// that one look may miss a job: several count together.
const (
	looks    = 3
	lookWait = 300 * time.Millisecond
)

// eachName calls visit once for every job at the endpoint; false ends it.
func (b *Backend) eachName(ctx context.Context, endpoint glue.Endpoint, visit func(c *client, id, name string) bool) error {
	c, err := b.client(ctx, "look up jobs", endpoint.URL, "")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for look := range looks {
		if look > 0 {
			pause(ctx, lookWait)
		}
		there, err := c.list(ctx)
		if err != nil {
			return err
		}
		there = slices.DeleteFunc(there, func(id string) bool { return seen[id] })
		more, err := c.visit(ctx, there, func(id, name string) bool {
			seen[id] = true
			return visit(c, id, name)
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// visit calls do for the names of jobs; it returns whether none said false.
func (c *client) visit(ctx context.Context, ids []string, do func(id, name string) bool) (more bool, err error) {
	for chunk := range slices.Chunk(ids, findChunk) {
		if more, err := names(ctx, c, chunk, do); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// pause waits, or less when the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Names of jobs that the CE is just accepting are not there yet, nor are their
// times of submission: they are asked for again, every nameWait, at most
// nameTries times. Jobs that other clients sent may have no name at all.
const (
	nameTries = 50
	nameWait  = 100 * time.Millisecond
)

// names calls do for the names of jobs by the CE's ids, as they become known,
// until all are or it says false.
func names(ctx context.Context, c *client, ids []string, do func(id, name string) bool) (more bool, err error) {
	for range nameTries {
		items, err := c.bulk(ctx, "look up jobs", "info", scopeRead, ids)
		if err != nil {
			return false, err
		}
		ids, more = ids[:0:0], true
		for id, item := range items {
			switch {
			case item.Info.Name != "", item.Info.Submitted != "": // the whole document: the job has no other name
				more = do(id, item.Info.Name) && more
			case item.Code/100 == 2 && !stateOf(item.Info.rest()).Final():
				ids = append(ids, id)
			}
		}
		if !more || len(ids) == 0 {
			return more, nil
		}
		pause(ctx, nameWait)
	}
	return false, c.fail(plugins.Unavailable, "look up jobs", "it does not tell the names of jobs it is accepting yet", nil)
}

// list returns the ids of the user's jobs.
func (c *client) list(ctx context.Context) ([]string, error) {
	var ids []string
	ca := &call{op: "look up jobs", method: http.MethodGet, path: c.jobs(""), scope: scopeRead}
	err := c.eachJob(ctx, ca, maxListed, func(j *jobItem) {
		if validID(j.ID) {
			ids = append(ids, j.ID)
		}
	})
	return ids, err
}
