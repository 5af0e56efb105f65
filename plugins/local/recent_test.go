package local_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
)

// waiting is a site of two slots whose runner starts nothing, with so many jobs
// of an hour in its queue, and the time it goes by.
func waiting(t testing.TB, n int) (b *local.Backend, dir string, now *time.Time, r *glue.Resource) {
	t.Helper()
	dir, now = t.TempDir(), new(time.Time)
	*now = time.Unix(1_700_000_000, 0).UTC()
	b, err := local.New(local.Options{
		Dir: dir, Sites: []local.Site{{Name: "here", Slots: 2}}, Helper: []string{"/bin/true"}, Now: func() time.Time { return *now }, CPUs: 2, Memory: 4096,
	})
	if err != nil {
		t.Fatal(err)
	}
	long, reqs := shell("true"), []plugins.Request{}
	long.Demand.WallTime = time.Hour
	for i := range n {
		reqs = append(reqs, request("here", fmt.Sprint("j", i), long))
	}
	for _, res := range b.Submit(t.Context(), reqs, nil) {
		if res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	src, err := b.Source(&url.URL{Scheme: "local"})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := src.Resources(t.Context())
	if err != nil || len(rs) != 1 {
		t.Fatalf("%d resources: %v", len(rs), err)
	}
	return b, dir, now, &rs[0]
}

// Jobs that name no limit are taken to run as those that ended last, and not for the year that they may; and what the same
// source counts is heard no more beside that.
func TestForecastWithoutLimits(t *testing.T) {
	b, dir, now, r := waiting(t, 0)
	var reqs []plugins.Request
	for i := range 4 {
		reqs = append(reqs, request("here", fmt.Sprint("j", i), shell("true")))
	}
	for _, res := range b.Submit(t.Context(), reqs, nil) {
		if res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	waits := func(want time.Duration) {
		t.Helper()
		*now = now.Add(time.Minute)
		fs, err := b.Forecast(t.Context(), &jdl.Job{Demand: jdl.Demand{Slots: 1}}, []*glue.Resource{r})
		if f := fs[r.ID]; err != nil || f.Median != want || f.Source != r.Source {
			t.Errorf("a wait of %v by %s, want %v by %s: %v", f.Median, f.Source, want, r.Source, err)
		}
	}
	waits(2 * time.Hour)
	for i, ran := range []time.Duration{10, 20, 30} {
		end := filepath.Join(dir, "here", "jobs", fmt.Sprint("e", i), "status.json")
		text := fmt.Sprintf(`{"state": "done", "started": "2023-11-14T22:00:00Z", "ended": "2023-11-14T22:01:00Z", "ran": %d}`, ran*time.Second)
		if err := os.MkdirAll(filepath.Dir(end), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(end, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	waits(40 * time.Second)
}

// Forecasts of one second go by one reading of the queue, and by a new one after
// that or when this process itself has changed the queue.
func TestForecastsShareAReading(t *testing.T) {
	b, dir, now, r := waiting(t, 4)
	waits := func(want time.Duration, when string) {
		t.Helper()
		fs, err := b.Forecast(t.Context(), &jdl.Job{Demand: jdl.Demand{Slots: 1, WallTime: time.Minute}}, []*glue.Resource{r})
		if f := fs[r.ID]; err != nil || f.Median != want {
			t.Errorf("%s: a wait of %v, want %v: %v", when, f.Median, want, err)
		}
	}
	waits(2*time.Hour, "four jobs of an hour on two slots")
	for _, id := range []string{"j0", "j1"} { // somebody else has taken two away
		if err := os.Remove(filepath.Join(dir, "here", "queue", id)); err != nil {
			t.Fatal(err)
		}
	}
	*now = now.Add(999 * time.Millisecond)
	waits(2*time.Hour, "within a second")
	*now = now.Add(time.Millisecond)
	waits(time.Hour, "after a second")
	b.Submit(t.Context(), []plugins.Request{request("here", "j5", shell("true")), request("here", "j6", shell("true"))}, nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { waits(2*time.Hour, "two more were submitted here") })
	}
	group.Wait()
	b.Cancel(t.Context(), []plugins.Handle{{Interface: glue.InterfaceLocal, Endpoint: local.EndpointURL("here"), ID: "j6"}})
	waits(time.Hour, "one was cancelled here")
}

// BenchmarkForecastKinds asks about 1,000 kinds of job beside 1,000 that wait.
func BenchmarkForecastKinds(b *testing.B) {
	back, _, _, r := waiting(b, 1000)
	for b.Loop() {
		for i := range 1000 {
			job := &jdl.Job{Demand: jdl.Demand{Slots: 1 + i%2, WallTime: time.Duration(i+1) * time.Minute}}
			if _, err := back.Forecast(b.Context(), job, []*glue.Resource{r}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
