package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gridbroker/plugins"
)

// askedSite is a site that notes what it was asked about.
type askedSite struct {
	plugins.Submitter
	list []string
}

// Status implements plugins.Submitter.
func (a *askedSite) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	line := hs[0].Interface + " " + hs[0].Endpoint + ":"
	for _, h := range hs {
		line += " " + h.ID
	}
	a.list = append(a.list, line)
	return make([]plugins.Status, len(hs))
}

// All jobs of one owner and VO at one site are asked about at once, in the order in which they came, and the
// credential is his for that VO.
func TestJobsAreAskedAboutTogether(t *testing.T) {
	store, err := OpenStore("sqlite:"+filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	site := &askedSite{}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Name: "x", Interfaces: []string{"x", "y"}}, Submitter: site})
	if err != nil {
		t.Fatal(err)
	}
	back := func(_ context.Context, owner string, _ []byte) (*plugins.Registry, func(), error) {
		site.list = append(site.list, owner)
		return reg, func() {}, nil
	}
	s := New(Config{}, store, back, time.Now, slog.New(slog.DiscardHandler))
	s.mem = &memory{jobs: map[string]*Job{}}
	for i, of := range []struct {
		owner, vo, face, at string
		state               State
	}{
		{"bob", "", "x", "site2", Running}, {"ann", "v", "x", "site1", Sent}, {"bob", "", "x", "site1", Running}, {"bob", "", "y", "site1", Running},
		{"ann", "", "x", "site1", Running}, {"bob", "", "x", "site2", Sent}, {"ann", "v", "x", "site1", Running}, {"ann", "v", "x", "site1", Booked}, {"bob", "", "x", "site1", Sent},
	} {
		id := fmt.Sprint(i + 1)
		s.mem.jobs[id] = &Job{ID: id, Seq: int64(i), Owner: of.owner, VO: of.vo, State: of.state, Booking: &Place{Cluster: of.at}, Handle: plugins.Handle{Interface: of.face, Endpoint: of.at, ID: id}}
	}
	if err := newFollower(s).round(t.Context(), nil, func(_ string, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	want := []string{"ann", "x site1: 5", "ann", "x site1: 2 7", "bob", "x site1: 3 9", "y site1: 4", "x site2: 1 6"}
	if !slices.Equal(site.list, want) {
		t.Errorf("asked\n%q\nwant\n%q", site.list, want)
	}
}
