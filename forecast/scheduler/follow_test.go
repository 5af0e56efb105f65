package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
)

// askedSite is a site that notes what it was asked about.
type askedSite struct {
	plugins.Submitter
	list  []string
	state plugins.State // that all jobs have there
}

// Status implements plugins.Submitter.
func (a *askedSite) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	line := hs[0].Interface + " " + hs[0].Endpoint + ":"
	for _, h := range hs {
		line += " " + h.ID
	}
	a.list = append(a.list, line)
	all := make([]plugins.Status, len(hs))
	for i := range all {
		all[i].State = a.state
	}
	return all
}

// All jobs of one owner and VO at one site are asked about at once, in the order in which they came, and the
// credential is his for that VO.
func TestJobsAreAskedAboutTogether(t *testing.T) {
	store, err := OpenStore("sqlite:"+filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Migrate(t.Context()); err != nil {
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
	s.mem = newMemory(0)
	for i, of := range []struct {
		owner, vo, face, at string
		state               State
	}{
		{"bob", "", "x", "site2", Running}, {"ann", "v", "x", "site1", Sent}, {"bob", "", "x", "site1", Running}, {"bob", "", "y", "site1", Running},
		{"ann", "", "x", "site1", Running}, {"bob", "", "x", "site2", Sent}, {"ann", "v", "x", "site1", Running}, {"ann", "v", "x", "site1", Booked}, {"bob", "", "x", "site1", Sent},
	} {
		id := fmt.Sprint(i + 1)
		s.mem.jobs.enter(&Job{ID: id, Seq: int64(i), Owner: of.owner, VO: of.vo, State: of.state, Booking: &Place{Cluster: of.at}, Handle: plugins.Handle{Interface: of.face, Endpoint: of.at, ID: id}})
	}
	if err := newFollower(s).round(t.Context(), nil, func(_ string, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	want := []string{"ann", "x site1: 5", "ann", "x site1: 2 7", "bob", "x site1: 3 9", "y site1: 4", "x site2: 1 6"}
	if !slices.Equal(site.list, want) {
		t.Errorf("asked\n%q\nwant\n%q", site.list, want)
	}
}

// What goes wrong with one site's answer keeps no other site of the same owner from being asked.
func TestOneSiteKeepsNoOtherBack(t *testing.T) {
	store, err := OpenStore("sqlite:"+filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	site := &askedSite{state: plugins.Running} // which cannot be written, as there are no tables
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Name: "x", Interfaces: []string{"x"}}, Submitter: site})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{}, store, func(context.Context, string, []byte) (*plugins.Registry, func(), error) { return reg, func() {}, nil }, time.Now, slog.New(slog.DiscardHandler))
	var list []*placed
	for _, at := range []string{"site1", "site2"} {
		list = append(list, &placed{cluster: at, job: at, request: at, handle: plugins.Handle{Interface: "x", Endpoint: at, ID: "1"}},
			&placed{cluster: at, handle: plugins.Handle{Interface: "gone", Endpoint: at, ID: "2"}})
	}
	err = newFollower(s).ask(t.Context(), authority{}, "bob", list)
	if err == nil || !strings.Contains(err.Error(), "site1: ") || !strings.Contains(err.Error(), "site2: ") || !strings.Contains(err.Error(), "no back-end for gone") {
		t.Errorf("said: %v", err)
	}
	if want := []string{"x site1: 1", "x site2: 1"}; !slices.Equal(site.list, want) {
		t.Errorf("asked %q", site.list)
	}
}
