package jobs_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// Several processes take the same failed jobs up at once: each job is sent
// once.
func TestResubmittedTogether(t *testing.T) {
	b, f := rig(t)
	job := stored(t, `Executable = "/bin/true"; RetryCount = 5;`)
	rs := submit(t, b, []*glue.Resource{site("a")}, set(job, stored(t, `Executable = "/bin/false"; RetryCount = 5;`)))
	f.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Failed} }
	refresh(t, b, rs)
	f.status = nil
	var wg sync.WaitGroup
	for range 6 {
		other := newController(func(o *jobs.Controller) { o.Registry, o.Store = b.Registry, openStore(t, f.dir) })
		wg.Go(func() {
			mine, err := other.Store.Select(context.Background(), jobs.Query{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := other.Resubmit(context.Background(), jobs.Outcomes(mine), jobs.Anew{Discover: always(site("b"))}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sent := map[string]int{}
	for _, line := range f.accepted() {
		at, id, _ := strings.Cut(line, " ")
		sent[at+" "+jobID(id)]++
	}
	for _, r := range rs {
		if sent["https://b/arex "+r.ID] != 1 {
			t.Errorf("job %s was sent %d times: %v", r.ID, sent["https://b/arex "+r.ID], f.accepted())
		}
	}
}

// After ExpiryTime a failed job is not sent again.
func TestExpiryEndsRetries(t *testing.T) {
	b, f := rig(t)
	job := stored(t, `Executable = "/bin/true"; RetryCount = 5; ExpiryTime = 4102444800;`)
	rs := submit(t, b, []*glue.Resource{site("a"), site("b")}, set(job))
	f.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Failed, Started: start} }
	b.Clock = clock.Set(func() time.Time { return time.Unix(4102444801, 0) })
	wait(t, b, rs, site("a"), site("b"))
	if len(f.requests) != 1 {
		t.Errorf("requests %v", f.requests)
	}
}

// always discovers the same resources.
func always(rs ...*glue.Resource) jobs.Discover {
	return func(context.Context, jobs.Origin) ([]*glue.Resource, error) { return rs, nil }
}
