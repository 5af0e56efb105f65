package glue

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// entryOf is an entry with one value for each attribute.
func entryOf(dn string, attrs ...string) *Entry {
	e := &Entry{DN: []byte(dn)}
	for i := 0; i < len(attrs); i += 2 {
		e.Attrs = append(e.Attrs, Attr{[]byte(attrs[i]), [][]byte{[]byte(attrs[i+1])}})
	}
	return e
}

func ceEntry(id, dn string) *Entry {
	return entryOf("GlueCEUniqueID="+id+","+dn, "objectClass", "GlueCE", "GlueCEUniqueID", id, "GlueCEName", "q",
		"GlueCEInfoHostName", "ce.example.org", "GlueCEAccessControlBaseRule", "VO:a")
}

func viewEntry(vo, id string) *Entry {
	return entryOf("GlueVOViewLocalID="+vo+",GlueCEUniqueID="+id+",o=grid", "objectClass", "GlueVOView", "GlueVOViewLocalID", vo,
		"GlueCEAccessControlBaseRule", "VO:"+vo, "GlueChunkKey", "GlueCEUniqueID="+id)
}

func idsOf(rs []Resource) (ids []string) {
	for i := range rs {
		ids = append(ids, rs[i].ID)
	}
	return ids
}

// A CE that is published twice, with one set of views, is no more than there is room for.
func TestCETwice(t *testing.T) {
	const id = "ce.example.org:443/nordugrid-slurm-q"
	for _, views := range []int{1, 2, maxScratch} {
		d := NewDecoder("twice")
		d.Add(ceEntry(id, "o=grid"))
		d.Add(ceEntry(id, "GlueX=again,o=grid"))
		want := []string{id}
		for i := range views {
			vo := fmt.Sprintf("vo%03d", i)
			d.Add(viewEntry(vo, id))
			want = append(want, id+"#"+vo)
		}
		if got := idsOf(d.Resources(time.Now())); !slices.Equal(got, want) {
			t.Errorf("%d views: %v, want %v", views, got, want)
		}
	}
}

// Queues with few views and with very many are the same whether they are merged
// from their entries or as resources that are all there.
func TestJoinIsMerge(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	feed := func(ds [2]*Decoder) {
		for _, n := range []int{0, 1, 3, maxScratch - 1, maxScratch, maxScratch + 7} {
			id := fmt.Sprintf("ce.example.org:443/nordugrid-slurm-q%d", n)
			ce := ceEntry(id, "o=grid")
			ce.Attrs[2].Values[0] = fmt.Appendf(nil, "q%d", n)
			ds[0].Add(ce)
			for i := range n {
				ds[0].Add(viewEntry(fmt.Sprintf("vo%03d", i), id))
			}
			for i := range n / 2 {
				share := fmt.Sprintf("share%d-%d", n, i)
				ds[1].Add(entryOf("GLUE2ShareID="+share+",o=glue", "objectClass", "GLUE2ComputingShare", "GLUE2ShareID", share,
					"GLUE2ComputingShareMappingQueue", fmt.Sprintf("q%d", n), "GLUE2ShareServiceForeignKey", "ce.example.org_service",
					"GLUE2ComputingShareRunningJobs", fmt.Sprint(i)))
				ds[1].Add(entryOf("GLUE2PolicyID=p"+share+",o=glue", "objectClass", "GLUE2MappingPolicy", "GLUE2PolicyRule", fmt.Sprintf("vo:vo%03d", i),
					"GLUE2MappingPolicyShareForeignKey", share))
			}
		}
	}
	one, apart := [2]*Decoder{NewDecoder("s"), NewDecoder("s")}, [2]*Decoder{NewDecoder("s"), NewDecoder("s")}
	feed(one)
	feed(apart)
	joined, merged := Join(now, one[0], one[1]), Merge(now, apart[0].Resources(now), apart[1].Resources(now))
	if !slices.Equal(idsOf(joined), idsOf(merged)) || len(joined) < 3*maxScratch {
		t.Fatalf("%d and %d resources", len(joined), len(merged))
	}
	for i := range joined {
		if a, b := fmt.Sprintf("%+v", untagged(joined[i])), fmt.Sprintf("%+v", untagged(merged[i])); a != b {
			t.Fatalf("joined:\n%s\nmerged:\n%s", a, b)
		}
	}
}

// untagged is a resource without what has an address.
func untagged(r Resource) Resource {
	r.tags = nil
	return r
}
