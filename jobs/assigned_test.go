package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// treeInterface is that of the tree of these tests.
const treeInterface = "org.example.tree"

// grower is a back-end that runs no jobs and finds them places: those of system, "" for none yet.
type grower struct {
	*fake
	system string
	claims []string
	during func() // called when it has claimed
}

func (g *grower) Claim(_ context.Context, hs []plugins.Handle) []plugins.Claim {
	out := make([]plugins.Claim, len(hs))
	for i, h := range hs {
		g.claims = append(g.claims, h.ID)
		out[i].System = g.system
	}
	if g.during != nil {
		g.during()
	}
	return out
}

// growing is a job that waits in a tree, which finds places at the sites one and two.
type growing struct {
	*jobs.Controller
	tree *grower
	site *fake
	now  time.Time
	os   []*jobs.Outcome
	wait jobs.Waiting
}

func newGrowing(t *testing.T, n int) *growing {
	t.Helper()
	b, f := rig(t)
	g := &growing{Controller: b, site: f, tree: &grower{fake: &fake{dir: t.TempDir()}}, now: start}
	g.tree.status = func(h plugins.Handle) plugins.Status {
		if slices.Contains(g.tree.cancels, h.ID) {
			return plugins.Status{State: plugins.Cancelled}
		}
		return plugins.Status{State: plugins.Queued}
	}
	var err error
	b.Registry, err = plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: f},
		plugins.Opened{Backend: plugins.Backend{Interfaces: []string{treeInterface}}, Submitter: g.tree})
	if err != nil {
		t.Fatal(err)
	}
	b.Clock = clock.Set(func() time.Time { return g.now })
	b.Rules.Interfaces, b.Rules.Speaks = nil, func(string) bool { return true }
	tree := site("tree", func(r *glue.Resource) {
		r.Endpoints = []glue.Endpoint{{URL: "tree://x", Interface: treeInterface, Health: "ok", Serving: glue.Production}}
	})
	b.Ahead = func(p *broker.Plan, found []*glue.Resource) {
		for i := range p.Jobs {
			p.Jobs[i].Err, p.Jobs[i].Choices = nil, []rank.Ranked{{Candidate: rank.Candidate{Resource: found[0], Endpoint: found[0].Endpoints[0]}}}
		}
	}
	b.Origin = jobs.Origin{Sources: []string{"tree://x"}, Beyond: []string{"sites"}}
	for range n {
		g.os = append(g.os, submit(t, b, []*glue.Resource{tree}, set(stored(t, `Executable = "/bin/true"; RetryCount = 0;`)))...)
	}
	g.wait = jobs.Waiting{Discover: func(_ context.Context, from jobs.Origin) ([]*glue.Resource, error) {
		switch fmt.Sprint(from.Sources) {
		case "[tree://x]":
			return []*glue.Resource{tree}, nil
		case "[sites]":
			return []*glue.Resource{site("one"), site("two")}, nil
		}
		return nil, fmt.Errorf("asked for %v", from.Sources)
	}}
	return g
}

// step looks once, and lets a while go by.
func (g *growing) step(t *testing.T) {
	t.Helper()
	if _, err := g.Step(t.Context(), g.os, g.wait); err != nil {
		t.Fatal(err)
	}
	g.now = g.now.Add(time.Minute)
}

// A job that waits in a tree of managers goes to the site where it has got a place, and to no other, as the next attempt; while it is
// there the place is asked for on and on, and when it has ended it is given back, once.
func TestAssignedJobsGoOn(t *testing.T) {
	g := newGrowing(t, 1)
	o := g.os[0]
	g.step(t)
	if o.State != plugins.Queued || o.At != "tree" || len(g.site.accepted()) > 0 {
		t.Fatalf("without a place it is %s at %s", o.State, o.At)
	}
	g.tree.system = "two"
	g.step(t)
	if o.State != plugins.Accepted || o.At != "two" || o.Handle.ID != "their-"+o.ID+"-2" || len(o.Past) != 1 || o.Past[0].Assigned != "two" || o.Past[0].At != "tree" {
		t.Fatalf("%s at %s as %s after %+v", o.State, o.At, o.Handle.ID, o.Past)
	}
	asked := len(g.tree.claims)
	g.step(t)
	if len(g.tree.claims) != asked+1 || len(g.tree.cancels) > 0 || len(g.site.accepted()) != 1 {
		t.Errorf("while it runs the tree heard of it %d times, and %v; sent %v", len(g.tree.claims)-asked, g.tree.cancels, g.site.accepted())
	}
	g.site.status = func(plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	g.step(t)
	g.step(t)
	if o.State != plugins.Done || fmt.Sprint(g.tree.cancels) != "[their-"+o.ID+"]" {
		t.Errorf("%s, given back: %v", o.State, g.tree.cancels)
	}
	if got := actions(t, g.Controller, o.ID); got != "intend send accepted queued assigned send accepted running done vacated" {
		t.Error(got)
	}
}

// anew is another process that follows.
func (g *growing) anew(t *testing.T) {
	t.Helper()
	rs, err := g.Store.Select(t.Context(), jobs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	g.os = jobs.Outcomes(rs)
}

// Who follows ends after the place is claimed, or after that is recorded and before the job is sent: the next one goes on, and the
// job is sent once, to its place.
func TestClaimsOutliveTheirProcess(t *testing.T) {
	for name, recorded := range map[string]bool{"claimed": false, "recorded": true} {
		t.Run(name, func(t *testing.T) {
			g := newGrowing(t, 1)
			g.step(t)
			g.tree.system = "one"
			g.tree.Claim(t.Context(), []plugins.Handle{g.os[0].Handle})
			if discover := g.wait.Discover; recorded {
				g.wait.Discover = func(context.Context, jobs.Origin) ([]*glue.Resource, error) { return nil, errors.New("interrupted") }
				if _, err := g.Step(t.Context(), g.os, g.wait); err == nil {
					t.Fatal("it was not interrupted")
				}
				g.wait.Discover = discover
			}
			g.anew(t)
			g.Rules.Sites = []string{"two"} // as who follows now wishes for other jobs
			if o := g.os[0]; recorded != (o.State == plugins.Intended) {
				t.Fatalf("it is %s", o.State)
			}
			g.step(t)
			g.step(t)
			if o := g.os[0]; o.At != "one" || o.State != plugins.Running || fmt.Sprint(g.site.accepted()) != "["+site("one").Endpoints[0].URL+" "+o.ID+"-2]" || len(g.tree.accepted()) != 1 {
				t.Errorf("%s at %s: sent %v, and to the tree %v", o.State, o.At, g.site.accepted(), g.tree.accepted())
			}
		})
	}
}

// A site that does not take the job which has a place there gives it back: the tree is asked for another place, with a pause, and
// after five in vain the job fails. Each place is given back.
func TestPlacesThatAreRefused(t *testing.T) {
	for name, system := range map[string]string{"refused": "one", "not known": "three"} {
		t.Run(name, func(t *testing.T) {
			g := newGrowing(t, 1)
			g.tree.system = system
			g.site.answer = func(string, string) error { return fault(plugins.Refused, "full") }
			for range 20 {
				g.step(t)
			}
			o := g.os[0]
			back := slices.Compact(slices.Clone(g.tree.cancels)) // again where nobody has seen it done
			if o.State != plugins.Failed || len(g.tree.accepted()) != 5 || len(back) != 5 || system == "one" && len(g.site.requests) != 5 || !strings.Contains(o.Reason, system+", where tree had a place for it, did not take it") {
				t.Errorf("%s (%s); to the tree %v, given back %v", o.State, o.Reason, g.tree.accepted(), g.tree.cancels)
			}
			if want := slices.DeleteFunc(slices.Clone(back), func(id string) bool { return id == back[4] }); !slices.Equal(g.tree.came, want) || len(g.site.came) > 0 {
				t.Errorf("it came back for %v, not for %v, and to its site for %v", g.tree.came, want, g.site.came)
			}
			for _, p := range o.Past {
				if p.Holding != "" {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// A job that is cancelled while it waits in a tree is withdrawn there and goes nowhere, also where its place came meanwhile; one that
// is cancelled at its site gives its place back. Records of a copy claim nothing.
func TestWithdrawnFromTheTree(t *testing.T) {
	g := newGrowing(t, 2)
	waits, runs := g.os[0], g.os[1]
	g.step(t)
	g.tree.system = "one"
	if _, err := g.Step(t.Context(), g.os[1:], g.wait); err != nil || runs.At != "one" {
		t.Fatal(runs.At, err)
	}
	if err := g.Cancel(t.Context(), []*jobs.Outcome{waits}); err != nil || waits.Err != nil {
		t.Fatal(err, waits.Err)
	}
	g.step(t)
	if waits.State != plugins.Cancelled || len(g.site.accepted()) != 1 || !slices.Contains(g.tree.cancels, "their-"+waits.ID) {
		t.Errorf("%s; sent %v; withdrawn %v", waits.State, g.site.accepted(), g.tree.cancels)
	}
	g.site.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Cancelled} }
	if err := g.Cancel(t.Context(), []*jobs.Outcome{runs}); err != nil || runs.State != plugins.Cancelled || !slices.Contains(g.tree.cancels, "their-"+runs.ID) {
		t.Errorf("%v: %s, given back %v", err, runs.State, g.tree.cancels)
	}
}

// A job that its user has cancelled goes to no place, whether the tree could be told of it or not, and also where that comes while its
// place is being claimed.
func TestCancelledBesideAClaim(t *testing.T) {
	g := newGrowing(t, 1)
	g.step(t)
	g.tree.system, g.tree.cancelErr = "one", fault(plugins.Unavailable, "away")
	asked := len(g.tree.claims)
	if err := g.Cancel(t.Context(), g.os); err != nil || g.os[0].Err == nil {
		t.Fatal(err, g.os[0].Err)
	}
	g.tree.status = nil
	g.step(t)
	if len(g.tree.claims) != asked || len(g.site.accepted()) > 0 {
		t.Errorf("claimed %v, sent %v", g.tree.claims, g.site.accepted())
	}

	g = newGrowing(t, 1)
	g.step(t)
	g.tree.system = "one"
	g.tree.during = func() {
		g.tree.during = nil
		rs, err := g.Store.Select(t.Context(), jobs.Query{}) // as another process
		if err != nil || g.Cancel(t.Context(), jobs.Outcomes(rs)) != nil {
			t.Error(err)
		}
	}
	g.tree.status = func(plugins.Handle) plugins.Status { return plugins.Status{State: plugins.Queued} } // it takes its time
	g.step(t)
	g.step(t)
	if o := g.os[0]; o.State != plugins.Queued || o.Cancelled.IsZero() || len(g.site.accepted()) > 0 {
		t.Errorf("%s, sent %v", o.State, g.site.accepted())
	}
}
