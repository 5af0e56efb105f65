package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/plugins"
)

// plain is a site of a batch system that does as little as it can.
type plain struct {
	*Site
	sweeps [][]int // the indices of each status question
}

func (p *plain) Group(string, []plugins.Request, []int) ([]*Group, map[int]error) { return nil, nil }

func (p *plain) Handle(lrmsID string, _ int, id string) plugins.Handle {
	return plugins.Handle{Endpoint: p.URL, ID: lrmsID + "/" + id}
}

func (p *plain) Refusal(string) plugins.Kind { return plugins.Refused }

func (p *plain) Lookup(context.Context, []string) (map[string]string, error) { return nil, nil }

func (p *plain) Resources(context.Context) ([]glue.Resource, error) {
	return []glue.Resource{{ID: p.URL}}, nil
}

func (p *plain) Status(_ context.Context, out []plugins.Status, at []int) {
	p.sweeps = append(p.sweeps, at)
	for _, i := range at {
		out[i].State = plugins.Running
	}
}

// plainSites opens sites of URLs that begin with "plain:", and counts how often.
func plainSites(t *testing.T) (*Sites[*plain], *int) {
	opts := Options{Home: t.TempDir()}.Defaults()
	opened := 0
	b := NewSites("0123456789", func(raw string) (*plain, error) {
		if !strings.HasPrefix(raw, "plain:") {
			return nil, errors.New("no such scheme")
		}
		opened++
		s, err := Open(&opts, &System{Name: "Plain", Interface: "org.example.plain"}, raw, Target{Base: t.TempDir()})
		return &plain{Site: s}, err
	})
	t.Cleanup(func() { b.Close() })
	return b, &opened
}

// TestSitesOfHandles: each site is opened once and asked once for all of its jobs; a handle that was never given out is a lost job's, one
// of an endpoint that cannot be one tells why, and neither is in the way of the others.
func TestSitesOfHandles(t *testing.T) {
	b, opened := plainSites(t)
	hs := []plugins.Handle{
		{Endpoint: "plain:a", ID: "1/one"}, {Endpoint: "plain:b", ID: "2/two"}, {Endpoint: "plain:a", ID: "../x"}, {Endpoint: "other:", ID: "3/three"},
		{Endpoint: "plain:a", ID: "4/four"}, {Endpoint: "plain:a", ID: "5"}, {Endpoint: "plain:b", ID: "6/../six"}, {Endpoint: "plain:b", ID: "x/seven"}, {},
	}
	var got []string
	for i, st := range b.Status(t.Context(), hs) {
		if st.Handle != hs[i] || (st.Err == nil) != (st.State == plugins.Running) {
			t.Errorf("%v: %+v", hs[i], st)
		}
		got = append(got, string(st.State))
	}
	want := []string{"running", "running", "lost", "unknown", "running", "lost", "lost", "lost", "unknown"}
	if !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	a, err := b.At("plain:a")
	if err != nil || *opened != 2 || len(a.sweeps) != 1 || !slices.Equal(a.sweeps[0], []int{0, 4}) {
		t.Errorf("%v; %d opened, asked %v", err, *opened, a.sweeps)
	}
	b.Close()
	if again, err := b.At("plain:a"); err != nil || again == a || *opened != 3 {
		t.Errorf("after closing: %v, %d opened", err, *opened)
	}
}

// TestSourcesOfSites: a site is the source of its own very URL and interface alone, and a resource leads to a site only where that site has
// described it itself.
func TestSourcesOfSites(t *testing.T) {
	b, opened := plainSites(t)
	u, err := url.Parse("plain:a")
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Source(u)
	if err != nil || s.Name() != "plain:a" {
		t.Fatal(err)
	}
	if rs, err := s.Resources(t.Context()); err != nil || len(rs) != 1 || rs[0].ID != "plain:a" {
		t.Errorf("%v %v", rs, err)
	}
	for _, c := range []struct {
		iface, url string
		owned      bool
	}{{"org.example.plain", "plain:a", true}, {"org.example.plain", "plain:b", false}, {"org.example.other", "plain:a", false}, {"", "", false}} {
		if got := s.(infosys.Owner).Owns(glue.Endpoint{Interface: c.iface, URL: c.url}); got != c.owned {
			t.Errorf("%s at %s is owned: %v", c.iface, c.url, got)
		}
	}
	if _, err := b.Source(&url.URL{Scheme: "other"}); err == nil {
		t.Error("a source of another scheme")
	}
	self := glue.Resource{Schema: "self", Source: "plain:a", Endpoints: []glue.Endpoint{{Interface: "org.example.plain", URL: "plain:a"}}}
	for name, change := range map[string]func(*glue.Resource){
		"another source's": func(r *glue.Resource) { r.Source = "ldap://bdii.example.org" },
		"another schema's": func(r *glue.Resource) { r.Schema = "glue2.0" },
		"another interface's": func(r *glue.Resource) {
			r.Endpoints = []glue.Endpoint{{Interface: "org.example.other", URL: "plain:a"}}
		},
		"another endpoint's": func(r *glue.Resource) {
			r.Endpoints = []glue.Endpoint{{Interface: "org.example.plain", URL: "plain:b"}}
		},
		"nobody's": func(r *glue.Resource) { r.Endpoints = nil },
		"one that cannot be": func(r *glue.Resource) {
			r.Source, r.Endpoints = "other:", []glue.Endpoint{{Interface: "org.example.plain", URL: "other:"}}
		},
	} {
		r := self
		if change(&r); b.Direct(&r, "org.example.plain") != nil {
			t.Errorf("%s resource leads to a site", name)
		}
	}
	if at := b.Direct(&self, "org.example.more", "org.example.plain"); at == nil || at.URL != "plain:a" || *opened != 1 {
		t.Errorf("its own resource leads to %v; %d opened", at, *opened)
	}
}

// TestGroupBy: jobs that say the same go together in their order, no more than may; one that cannot be told of has its own error and is in
// no group.
func TestGroupBy(t *testing.T) {
	words := map[int]string{3: "a", 5: "b", 7: "a", 8: "", 9: "a", 11: "a", 12: "b", 13: "a"}
	jobs := []int{3, 5, 7, 8, 9, 11, 12, 13}
	for most, want := range map[int]string{
		9: "g0 a [3 7 9 11 13]; g1 b [5 12]; ", 2: "g0 a [3 7]; g1 b [5 12]; g2 a [9 11]; g3 a [13]; ", 1: "g0 a [3]; g1 b [5]; g2 a [7]; g3 a [9]; g4 a [11]; g5 b [12]; g6 a [13]; ",
	} {
		groups, errs := GroupBy(jobs, most, func(i int) (string, error) {
			if words[i] == "" {
				return "", fmt.Errorf("job %d has no words", i)
			}
			return words[i], nil
		})
		got := ""
		for _, g := range groups {
			got += fmt.Sprintf("%s %s %v; ", g.Name, g.Shared, g.Jobs)
		}
		if got != want || len(errs) != 1 || errs[8] == nil {
			t.Errorf("at most %d: %s %v; want %s", most, got, errs, want)
		}
	}
	if groups, errs := GroupBy(nil, 5, func(int) (string, error) { return "", nil }); len(groups)+len(errs) > 0 {
		t.Errorf("of none: %v %v", groups, errs)
	}
}
