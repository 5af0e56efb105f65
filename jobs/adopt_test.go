package jobs_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"gridbroker/broker/brokertest"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// adoption is of all jobs at the places of resources.
func adoption(rs ...*glue.Resource) jobs.Adoption {
	var a jobs.Adoption
	for _, r := range rs {
		a.Places = append(a.Places, jobs.Place{Endpoint: r.Endpoints[0], Resource: r.ID, At: r.Name, Site: r.Site})
	}
	return a
}

func adopt(t *testing.T, c *jobs.Controller, a jobs.Adoption) *jobs.Adopted {
	t.Helper()
	got, err := jobs.Adopt(context.Background(), c, a)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range got.Errs {
		t.Error(err)
	}
	return got
}

// forgotten is a controller over the same back-end with empty records.
func forgotten(t *testing.T, b *jobs.Controller) *jobs.Controller {
	t.Helper()
	return newController(func(c *jobs.Controller) {
		c.Registry, c.Store = b.Registry, openStore(t, filepath.Join(t.TempDir(), "new"))
	})
}

// A job that failed at one place and runs at another comes back as one job with
// both attempts, under its old id, once, and is not sent again.
func TestAdoptAttempts(t *testing.T) {
	b, f := rig(t)
	one, two := site("one"), site("two")
	f.status = func(h plugins.Handle) plugins.Status {
		if h.Endpoint == one.Endpoints[0].URL {
			return plugins.Status{State: plugins.Failed, Reason: "node lost", Fault: plugins.SitesFault}
		}
		return plugins.Status{State: plugins.Running, Native: "R"}
	}
	rs := submit(t, b, []*glue.Resource{one}, set(stored(t, `Executable = "/bin/true"; RetryCount = 3;`)))
	wait := jobs.Waiting{Discover: func(context.Context, jobs.Origin) ([]*glue.Resource, error) { return []*glue.Resource{one, two}, nil }}
	if _, err := b.Step(context.Background(), rs, wait); err != nil {
		t.Fatal(err)
	}
	if n := len(f.accepted()); n != 2 {
		t.Fatalf("%d attempts, want two", n)
	}
	c := forgotten(t, b)
	a := adoption(one, two)
	a.DryRun = true
	if got := adopt(t, c, a); len(got.Jobs) != 1 {
		t.Fatalf("a dry run shows %d jobs, want 1", len(got.Jobs))
	}
	a.DryRun = false
	got := adopt(t, c, a)
	if len(got.Jobs) != 1 {
		t.Fatalf("adopted %d jobs, want 1", len(got.Jobs))
	}
	r := got.Jobs[0]
	if r.ID != rs[0].ID || r.State != plugins.Running || r.Handle != rs[0].Handle || r.Resource != "two" {
		t.Errorf("adopted as %s %s %v at %s, want %s", r.ID, r.State, r.Handle, r.Resource, rs[0].ID)
	}
	if r.Attempts != 2 || r.Spared == 0 {
		t.Errorf("%d requests were sent, of %d numbers none is used again; want 2 and some", r.Attempts, r.Spared)
	}
	if len(r.Past) != 1 || r.Past[0].State != plugins.Failed || r.Past[0].Resource != "one" {
		t.Errorf("past %+v", r.Past)
	}
	if again := adopt(t, c, a); len(again.Jobs) != 0 || again.Known != 2 {
		t.Errorf("adopted again: %d, known %d", len(again.Jobs), again.Known)
	}
	f.status = func(plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Failed, Fault: plugins.SitesFault}
	}
	if _, err := c.Step(context.Background(), got.Jobs, wait); err != nil {
		t.Fatal(err)
	}
	if n := len(f.accepted()); n != 2 || got.Jobs[0].State != plugins.Failed {
		t.Errorf("an adopted job was sent again: %d requests, %s", n, got.Jobs[0].State)
	}
}

// What others have sent is left alone, or gets an id that is always the same.
func TestAdoptForeign(t *testing.T) {
	b, f := rig(t)
	one := site("one")
	for _, id := range []string{"mysimulation", "1m81663kaachcvy-x", "0000"} {
		if err := f.accept(plugins.Request{ID: id, Endpoint: one.Endpoints[0]}); err != nil {
			t.Fatal(err)
		}
	}
	a := adoption(one)
	if got := adopt(t, b, a); len(got.Jobs) != 0 || got.Foreign != 3 {
		t.Fatalf("adopted %d, foreign %d", len(got.Jobs), got.Foreign)
	}
	a.Foreign = true
	first, second := adopt(t, b, a), adopt(t, forgotten(t, b), a)
	if len(first.Jobs) != 3 || len(second.Jobs) != 3 {
		t.Fatalf("adopted %d and %d, want 3", len(first.Jobs), len(second.Jobs))
	}
	for i := range first.Jobs {
		if first.Jobs[i].ID != second.Jobs[i].ID {
			t.Errorf("ids %s and %s of the same job", first.Jobs[i].ID, second.Jobs[i].ID)
		}
	}
	f.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Failed} }
	if err := b.Resubmit(context.Background(), first.Jobs[:1], jobs.Anew{Done: true, Discover: always(one)}); err != nil {
		t.Fatal(err)
	}
	if first.Jobs[0].Err == nil {
		t.Error("a job without a description was sent again")
	}
}

// What a back-end says of an adopted job decides no file of this machine: such a
// job is not sent again. One without such files is.
func TestAdoptedDescriptions(t *testing.T) {
	one := site("one")
	for text, sent := range map[string]bool{
		`Executable = "/bin/cat"; Arguments = "hostname"; InputSandbox = {"/etc/hostname"};`: false,
		`Executable = "/bin/cat"; InputSandbox = {"FILE:///etc/passwd"};`:                    false,
		`Executable = "/bin/cat"; InputSandbox = {"https://example.org/data"};`:              true,
		`Executable = "/bin/true";`: true,
	} {
		b, f := rig(t)
		f.described = stored(t, text)
		f.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Failed} }
		if err := f.accept(plugins.Request{ID: "theirs", Endpoint: one.Endpoints[0]}); err != nil {
			t.Fatal(err)
		}
		a := adoption(one)
		a.Foreign = true
		got := adopt(t, b, a)
		if err := b.Resubmit(context.Background(), got.Jobs, jobs.Anew{Discover: always(site("two"))}); err != nil {
			t.Fatal(err)
		}
		if n := len(f.accepted()) - 1; n != 0 != sent || got.Jobs[0].Err == nil != sent {
			t.Errorf("%s: sent %d times, %v; want sent %v", text, n, got.Jobs[0].Err, sent)
		}
	}
}

// Processes that adopt at once record each job once.
func TestAdoptTogether(t *testing.T) {
	b, _ := rig(t)
	one := site("one")
	for range 20 {
		submit(t, b, []*glue.Resource{one}, set(stored(t, `Executable = "/bin/true";`)))
	}
	c := forgotten(t, b)
	var wg sync.WaitGroup
	counts := make([]int, 4)
	for i := range counts {
		wg.Go(func() {
			got, err := jobs.Adopt(context.Background(), c, adoption(one))
			if err != nil {
				t.Error(err)
				return
			}
			counts[i] = len(got.Jobs)
		})
	}
	wg.Wait()
	if n := counts[0] + counts[1] + counts[2] + counts[3]; n != 20 {
		t.Errorf("adopted %v, want 20 in all", counts)
	}
	if rs, err := c.Store.Select(context.Background(), jobs.Query{}); err != nil || len(rs) != 20 {
		t.Errorf("%d records, %v", len(rs), err)
	}
}

// A place that cannot be asked is an error of its own, and stops no other.
func TestAdoptUnreachable(t *testing.T) {
	b, f := rig(t)
	f.findErr = errors.New("connection refused")
	got, err := jobs.Adopt(context.Background(), b, adoption(site("one"), brokertest.Site("two")))
	if err != nil || len(got.Errs) != 2 {
		t.Errorf("%v, errors %v", err, got.Errs)
	}
}

// A place that says a job's attempt has the greatest number there is does not
// make the next one the first again, whose name has been used.
func TestAdoptNumbersWithoutEnd(t *testing.T) {
	b, f := rig(t)
	one := site("one")
	rs := submit(t, b, []*glue.Resource{one}, set(stored(t, `Executable = "/bin/true";`)))
	for _, number := range []string{"9223372036854775807", "9223372036854775800", "1000001", "1000000"} {
		if err := f.accept(plugins.Request{ID: rs[0].ID + "-" + number, Endpoint: one.Endpoints[0]}); err != nil {
			t.Fatal(err)
		}
	}
	got := adopt(t, forgotten(t, b), adoption(one))
	if len(got.Jobs) != 1 || got.Foreign != 3 {
		t.Fatalf("adopted %d, foreign %d", len(got.Jobs), got.Foreign)
	}
	if r := got.Jobs[0]; r.Attempts != 1_000_000 || r.Attempts+r.Spared < r.Attempts {
		t.Errorf("%d attempts, %d spared", r.Attempts, r.Spared)
	}
}
