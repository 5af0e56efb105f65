package glue

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// captured is the time at which the captures in testdata were made.
var captured = time.Date(2026, 11, 21, 2, 46, 0, 0, time.UTC)

func decode(t testing.TB, paths ...string) map[string]*Resource {
	t.Helper()
	d := NewDecoder("test")
	for _, p := range paths {
		addFile(t, d, "../testdata/"+p)
	}
	by := map[string]*Resource{}
	rs := d.Resources(captured)
	for i := range rs {
		if by[rs[i].ID] != nil {
			t.Errorf("two resources of ID %s", rs[i].ID)
		}
		by[rs[i].ID] = &rs[i]
	}
	return by
}

func addFile(t testing.TB, d *Decoder, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		if err := ReadLDIF(f, path, d.Add); err != nil {
			t.Fatal(err)
		}
		return
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := ReadLDIF(z, path, d.Add); err != nil {
		t.Fatal(err)
	}
}

const (
	glue1 = "glue/generated-10-sites.glue1.ldif.gz"
	glue2 = "glue/generated-10-sites.glue2.ldif.gz"
)

// manifest is what the generator of the captures knows to be true.
type manifest struct {
	CEByVO map[string]int `json:"ce_by_vo"`
	Dirt   map[string]int
	Queues int
	Shares int
	Status map[string]int
}

func readManifest(t *testing.T) (m manifest) {
	t.Helper()
	text, err := os.ReadFile("../testdata/glue/generated-10-sites.manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGlue13AgainstManifest(t *testing.T) {
	m := readManifest(t)
	byVO, status := map[string]int{}, map[string]int{}
	queues, dead := 0, 0
	for _, r := range decode(t, glue1) {
		if r.ViewOf != "" {
			continue
		}
		queues++
		status[status13(r)]++
		if r.StateIsPlaceholder {
			dead++
		}
		vos := map[string]bool{}
		for _, rule := range r.Access {
			vos[VOOf(rule)] = true
		}
		for vo := range vos {
			byVO[vo]++
		}
		if r.Site == "" || r.LRMS == "" || r.CE == "" || len(r.Endpoints) != 1 {
			t.Errorf("%s: site %q, LRMS %q, CE %q, %d endpoints", r.ID, r.Site, r.LRMS, r.CE, len(r.Endpoints))
		}
	}
	if queues != m.Queues || !reflect.DeepEqual(status, m.Status) || !reflect.DeepEqual(byVO, m.CEByVO) {
		t.Errorf("%d queues %v %v\nwant %d %v %v", queues, status, byVO, m.Queues, m.Status, m.CEByVO)
	}
	if dead == 0 {
		t.Error("no dead provider seen")
	}
}

func TestGlue20AgainstManifest(t *testing.T) {
	m := readManifest(t)
	rs := decode(t, glue2)
	if len(rs) != m.Shares {
		t.Errorf("%d shares, want %d", len(rs), m.Shares)
	}
	queues := map[string]bool{}
	for _, r := range rs {
		queues[r.Name] = true
		if len(r.Access) == 0 || len(r.Endpoints) != 1 || !r.TotalSlots.OK || r.Platform == "" || r.Benchmarks["hep-spec06"] == 0 {
			t.Errorf("%s: access %v, endpoints %v, slots %v, platform %q", r.ID, r.Access, r.Endpoints, r.TotalSlots, r.Platform)
		}
	}
	if len(queues) != m.Queues {
		t.Errorf("%d queues, want %d", len(queues), m.Queues)
	}
}

func TestSnapshotJSON(t *testing.T) {
	testbed.Computes(t)
	for id, r := range decode(t, glue1, glue2) {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Resource
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v\n%s", id, err, text)
		}
		a, b := *r, back
		a.tags, b.tags = nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%s changed:\n%+v\n%+v", id, a, b)
		}
	}
}

func TestQueueInID(t *testing.T) {
	for id, want := range map[string]string{
		"h:2119/jobmanager-sge-ivy-highmem": "ivy-highmem",
		"h:8443/cream-pbs-long":             "long",
		"h:2811/nordugrid-SLURM-a-b":        "a-b",
		"h:9619/h.example.org-condor-prod":  "prod",
		"h:9619/h-condor":                   "condor",
		"h:1":                               "",
	} {
		if got := queueInID(id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		decode(b, glue1, glue2)
	}
}
