package local_test

import (
	"net/url"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
)

// A job starts at once while slots are free, and else when the limits of those
// before it say; one that is wider than the site never does.
func TestForecast(t *testing.T) {
	b := newBackend(t, local.Site{Name: "here", Slots: 2})
	src, err := b.Source(&url.URL{Scheme: "local"})
	if err != nil {
		t.Fatal(err)
	}
	waits := func(slots int) (time.Duration, bool) {
		t.Helper()
		rs, err := src.Resources(t.Context())
		if err != nil || len(rs) != 1 {
			t.Fatalf("%d resources: %v", len(rs), err)
		}
		fs, err := b.Forecast(t.Context(), &jdl.Job{Demand: jdl.Demand{Slots: slots, WallTime: time.Minute}}, []*glue.Resource{&rs[0]})
		if err != nil {
			t.Fatal(err)
		}
		f, ok := fs[rs[0].ID]
		return f.Median, ok
	}
	if w, ok := waits(2); !ok || w != 0 {
		t.Errorf("an idle site: %v, %v", w, ok)
	}
	long := shell("sleep 600")
	long.Demand.WallTime = time.Hour
	hs := submit(t, b, request("here", "a", long), request("here", "b", long))
	for _, h := range hs {
		wait(t, b, h, func(s plugins.State) bool { return s == plugins.Running })
	}
	if w, ok := waits(1); !ok || w < 59*time.Minute || w > time.Hour {
		t.Errorf("behind an hour: %v, %v", w, ok)
	}
	if w, ok := waits(3); ok {
		t.Errorf("three of two slots: %v", w)
	}
}
