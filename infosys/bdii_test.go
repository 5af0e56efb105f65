package infosys

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/testdata/testbed"
)

// truth is what the generator of the BDII testbed knows about a queue.
type truth struct {
	ID, Site, Host, Queue, Style, Serving string
	VOs                                   []string
	Slots                                 int64
	Running, Waiting, Free, Wall          *int64
	Conflict, Views, Nodes, Stale         bool
	Tags                                  int
}

type bdii struct {
	url    string
	queues []truth
	byVO   map[string]int
	made   time.Time // of the generated grid, whose records are valid for an hour
}

func needBDII(t *testing.T) bdii {
	t.Helper()
	env := testbed.Env(t, "bdii")
	text, err := os.ReadFile(env["GRID_BDII_MANIFEST"])
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Queues []truth
		ByVO   map[string]int `json:"by_vo"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(env["GRID_BDII_MANIFEST"])
	if err != nil {
		t.Fatal(err)
	}
	return bdii{env["GRID_BDII"], m.Queues, m.ByVO, info.ModTime()}
}

func (b bdii) read(t *testing.T, base string) map[string]*glue.Resource {
	t.Helper()
	l := ldapSource(t, b.url+base)
	l.Now = func() time.Time { return b.made }
	rs, err := l.Resources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*glue.Resource{}
	for i := range rs {
		by[rs[i].ID] = &rs[i]
	}
	return by
}

func same(t *testing.T, id, field string, got glue.Opt[int64], want *int64) {
	t.Helper()
	expect := glue.Opt[int64]{}
	if want != nil {
		expect = glue.Some(*want)
	}
	if got.OK != expect.OK || got.OK && got.V != expect.V {
		t.Errorf("%s: %s %v, want %v", id, field, got, expect)
	}
}

func vosOf(r *glue.Resource) []string {
	vos := map[string]bool{}
	for _, rule := range r.Access {
		vos[glue.VOOf(rule)] = true
	}
	return slices.Sorted(maps.Keys(vos))
}

func minutes(d glue.Opt[time.Duration]) glue.Opt[int64] {
	return glue.Opt[int64]{V: int64(d.V / time.Minute), OK: d.OK}
}

// Both schemas of a real BDII, merged: every queue is as the generator made it.
func TestBDII(t *testing.T) {
	b := needBDII(t)
	by := b.read(t, "")
	for _, q := range b.queues {
		r := by[q.ID]
		if r == nil {
			t.Errorf("%s: not found", q.ID)
			continue
		}
		same(t, q.ID, "running", r.Running, q.Running)
		same(t, q.ID, "waiting", r.Waiting, q.Waiting)
		same(t, q.ID, "free", r.FreeSlots, q.Free)
		same(t, q.ID, "slots", r.TotalSlots, &q.Slots)
		wall := q.Wall
		disputed := q.Conflict && (q.Style == "ARC" || len(q.VOs) == 1) // both schemas describe the whole queue
		if disputed && !q.Stale {
			more := *wall + 30
			wall = &more
		}
		same(t, q.ID, "wall minutes", minutes(r.MaxWallTime), wall)
		if (q.Running == nil) != r.StateIsPlaceholder {
			t.Errorf("%s: StateIsPlaceholder %v", q.ID, r.StateIsPlaceholder)
		}
		slices.Sort(q.VOs)
		if got := vosOf(r); !slices.Equal(got, q.VOs) {
			t.Errorf("%s: VOs %v, want %v", q.ID, got, q.VOs)
		}
		if string(r.Serving) != q.Serving || r.Site != q.Site || r.CE != q.Host || r.Queue != q.Queue || len(r.Endpoints) == 0 {
			t.Errorf("%s: %s %s %s %s %v", q.ID, r.Serving, r.Site, r.CE, r.Queue, r.Endpoints)
		}
		if q.Nodes && len(r.RuntimeEnvironments) != q.Tags {
			t.Errorf("%s: %d tags, want %d", q.ID, len(r.RuntimeEnvironments), q.Tags)
		}
		if disputed && !slices.ContainsFunc(r.Conflicts, func(c glue.Conflict) bool { return c.Field == "MaxWallTime" }) {
			t.Errorf("%s: no conflict reported: %v", q.ID, r.Conflicts)
		}
		if q.Views || q.Style != "ARC" {
			views := slices.Sorted(slices.Values(r.Views))
			if len(q.VOs) > 1 && !slices.Equal(views, q.VOs) {
				t.Errorf("%s: views %v, want %v", q.ID, views, q.VOs)
			}
		}
	}
	for id, r := range by {
		if r.ViewOf != "" && (len(r.Access) == 0 || r.LRMS == "" || len(r.Endpoints) == 0) {
			t.Errorf("%s: access %v, LRMS %q, endpoints %v", id, r.Access, r.LRMS, r.Endpoints)
		}
	}
}

// Each schema alone has every queue.
func TestBDIIOneSchema(t *testing.T) {
	b := needBDII(t)
	for _, base := range []string{"/o=grid", "/o=glue", "/Mds-Vo-name=local,o=grid", "/GLUE2GroupID=grid,o=glue"} {
		queues := map[string]bool{}
		for _, r := range b.read(t, base) {
			queues[r.Name] = true
		}
		for _, q := range b.queues {
			if !queues[q.Host+"/"+q.Queue] {
				t.Errorf("%s: %s is missing", base, q.ID)
			}
		}
	}
}

// The VO filter is the server's work.
func TestBDIIOneVO(t *testing.T) {
	b := needBDII(t)
	l := ldapSource(t, b.url+"/o=grid")
	l.VO = "biomed"
	rs, err := l.Resources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range rs {
		if r.ViewOf == "" {
			n++
		}
		if !slices.Contains(vosOf(&r), "biomed") {
			t.Errorf("%s lets in %v", r.ID, r.Access)
		}
	}
	if n != b.byVO["biomed"] {
		t.Errorf("%d queues, want %d", n, b.byVO["biomed"])
	}
}

func TestBDIIWrongBase(t *testing.T) {
	b := needBDII(t)
	_, err := ldapSource(t, b.url+"/Mds-Vo-name=NO-SUCH,o=grid").Resources(t.Context())
	if err == nil || !strings.Contains(err.Error(), "No Such Object (LDAP result 32)") {
		t.Errorf("%v", err)
	}
}

// Pages give what one answer gives.
func TestBDIIPaged(t *testing.T) {
	b := needBDII(t)
	l := ldapSource(t, b.url)
	whole, _, err := l.ask(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	paged, _, err := l.ask(t.Context(), 7)
	if err != nil || len(paged) != len(whole) {
		t.Errorf("%d resources in pages, %d without: %v", len(paged), len(whole), err)
	}
}
