package glue

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

func merged(t *testing.T, rs ...Resource) map[string]Resource {
	t.Helper()
	by := map[string]Resource{}
	for _, r := range Merge(captured, rs) {
		if _, dup := by[r.ID]; dup {
			t.Errorf("two of ID %s", r.ID)
		}
		by[r.ID] = r
	}
	return by
}

func shareOf(schema, source, id string, change func(*Resource)) Resource {
	r := Resource{ID: id, CEID: id, CE: "ce.example.org", Queue: "q", Schema: schema, Source: source, Serving: Production}
	if change != nil {
		change(&r)
	}
	return r
}

func TestMergeSchemas(t *testing.T) {
	by := merged(t,
		shareOf("glue1.3", "s", "ce.example.org:2811/nordugrid-slurm-q", func(r *Resource) {
			r.MaxWallTime, r.MaxCPUTime = Some(2*time.Hour), Some(time.Hour)
			r.Endpoints = []Endpoint{{URL: "gsiftp://ce.example.org/jobs", Interface: "org.nordugrid.gridftpjob"}}
			r.Serving = Closed
		}),
		shareOf("glue2.0", "s", "ce.example.org:443/nordugrid-slurm-q", func(r *Resource) {
			r.MaxWallTime, r.FreeSlots = Some(3*time.Hour+20*time.Second), Some[int64](4)
			r.Endpoints = []Endpoint{{URL: "https://ce.example.org/arex", Interface: InterfaceARCREST}}
		}))
	r, ok := by["ce.example.org:2811/nordugrid-slurm-q"] // the published identifier
	if len(by) != 1 || !ok {
		t.Fatalf("%v", by)
	}
	if r.MaxWallTime.V != 3*time.Hour+20*time.Second || r.MaxCPUTime.V != time.Hour || r.FreeSlots.V != 4 || r.Serving != Production {
		t.Errorf("%+v", r)
	}
	if len(r.Endpoints) != 2 || r.Endpoints[0].Interface != InterfaceARCREST {
		t.Errorf("endpoints %v", r.Endpoints)
	}
	want := []Conflict{{"Serving", "production", "closed", "glue1.3"}, {"MaxWallTime", "3h0m20s", "2h0m0s", "glue1.3"}}
	if !reflect.DeepEqual(r.Conflicts, want) {
		t.Errorf("conflicts %v", r.Conflicts)
	}
}

// A record that has run out, or whose numbers are dead, is not the base.
func TestMergeBase(t *testing.T) {
	old := func(r *Resource) {
		r.Created, r.Validity, r.Waiting = captured.Add(-48*time.Hour), time.Hour, Some[int64](9)
	}
	now := func(r *Resource) { r.Waiting = Some[int64](1) }
	for name, rs := range map[string][]Resource{
		"expired": {shareOf("glue2.0", "s", "a", old), shareOf("glue1.3", "s", "a", now)},
		"dead":    {shareOf("glue2.0", "s", "a", func(r *Resource) { r.StateIsPlaceholder = true }), shareOf("glue1.3", "s", "a", now)},
		"stale":   {shareOf("glue2.0", "s", "a", func(r *Resource) { r.Stale = true; r.Waiting = Some[int64](9) }), shareOf("glue2.0", "t", "a", now)},
	} {
		if r := merged(t, rs...)["a"]; r.Waiting.V != 1 || r.StateIsPlaceholder {
			t.Errorf("%s: %d waiting, placeholder %v", name, r.Waiting.V, r.StateIsPlaceholder)
		}
	}
}

// Two computing elements on one host with a queue of one name stay two.
func TestMergeKeepsApart(t *testing.T) {
	by := merged(t,
		shareOf("glue1.3", "s", "ce.example.org:8443/cream-pbs-q", nil),
		shareOf("glue1.3", "s", "ce.example.org:2119/jobmanager-pbs-q", nil),
		shareOf("glue2.0", "s", "ce.example.org:8443/cream-pbs-q", func(r *Resource) { r.FreeSlots = Some[int64](3) }),
		Resource{ID: "x", CE: "a"}, Resource{ID: "x", CE: "b"}, Resource{ID: "x#2", CE: "c"})
	if len(by) != 5 || by["ce.example.org:8443/cream-pbs-q"].FreeSlots.V != 3 {
		t.Errorf("%v", by)
	}
}

// Back-ends that describe themselves are not published by anybody else.
func TestMergeSelf(t *testing.T) {
	self := func(source, id string) Resource {
		return Resource{ID: id, CE: "localhost", Queue: "q", Schema: "self", Source: source}
	}
	by := merged(t, self("local:", "local:q"), self("local:q", "local:q"), self("slurm:", "slurm:/q"),
		Resource{ID: "localhost:1/x-pbs-q", CE: "localhost", Queue: "q", Schema: "glue1.3"})
	if len(by) != 3 {
		t.Errorf("%v", by)
	}
}

// TestOwnWordCounts: of what two sources say of a computing element in one schema its own counts, however young the other says that it
// is; and nothing is made at a time that is still to come.
func TestOwnWordCounts(t *testing.T) {
	const id = "ce.example.org:443/nordugrid-slurm-q"
	told := func(source string, free int64, age time.Duration) Resource {
		return shareOf("glue2.0", source, id, func(r *Resource) { r.FreeSlots, r.Created = Some(free), captured.Add(-age) })
	}
	for name, c := range map[string]struct{ first, other Resource }{
		"its own word":           {told("https://ce.example.org:443/arex", 1, time.Minute), told("ldap://bdii.example.net:2170", 99, 0)},
		"the younger of others":  {told("ldap://bdii.example.net", 1, 0), told("https://ce.example.org.rogue.test/arex", 99, time.Minute)},
		"not one of next year's": {told("ldap://bdii.example.net", 1, time.Minute), told("ldap://rogue.test", 99, -365*24*time.Hour)},
	} {
		for _, rs := range [][]Resource{{c.first, c.other}, {c.other, c.first}} {
			if by := merged(t, rs...); len(by) != 1 || by[id].FreeSlots.V != 1 {
				t.Errorf("%s: %d resources, %d slots are free", name, len(by), by[id].FreeSlots.V)
			}
		}
	}
}

func TestMergeViews(t *testing.T) {
	by := merged(t,
		shareOf("glue1.3", "s", "ce.example.org/id", func(r *Resource) { r.LRMS = "pbs" }),
		shareOf("glue1.3", "s", "ce.example.org/id#atlas", func(r *Resource) { r.CEID, r.ViewOf, r.Access = "ce.example.org/id", "atlas", []string{"VO:atlas"} }),
		shareOf("glue1.3", "s", "ce.example.org/id#cms", func(r *Resource) {
			r.CEID, r.ViewOf, r.Access = "ce.example.org/id", "cms", []string{"VOMS:/cms/Role=production"}
		}),
		shareOf("glue2.0", "s", "q_atlas", func(r *Resource) {
			r.CEID, r.ViewOf, r.Access, r.MainMemory = "ce.example.org/id", "atlas", []string{"VO:atlas"}, Some[int64](9)
		}))
	if len(by) != 3 {
		t.Fatalf("%v", by)
	}
	// Members of cms without the role have only the whole.
	if whole := by["ce.example.org/id"]; !slices.Equal(whole.Views, []string{"atlas"}) || whole.MainMemory.V != 9 {
		t.Errorf("%+v", whole)
	}
	if v := by["ce.example.org/id#atlas"]; v.LRMS != "pbs" || v.MainMemory.V != 9 || v.Schema != "glue2.0" {
		t.Errorf("%+v", v)
	}
}

// Nonsense in quantity is merged in reasonable time: a source must not be able
// to hold up the others.
func TestMergeNonsense(t *testing.T) {
	testbed.Computes(t)
	var rs []Resource
	for i := range 20000 {
		r := shareOf("glue1.3", "s", "same", nil)
		if i%2 == 0 {
			r.ID, r.CEID = strconv.Itoa(i), strconv.Itoa(i)
		}
		if i%3 == 0 {
			r.ViewOf, r.Access = strconv.Itoa(i), []string{"VO:" + strconv.Itoa(i)}
		}
		rs = append(rs, r)
	}
	if by := merged(t, rs...); len(by) == 0 {
		t.Error("nothing left")
	}
}
