package glue

import (
	"reflect"
	"slices"
	"testing"
)

func all(t testing.TB) []Resource {
	var rs []Resource
	for _, r := range decode(t, glue1, glue2) {
		rs = append(rs, *r)
	}
	slices.SortFunc(rs, func(a, b Resource) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return rs
}

func TestPack(t *testing.T) {
	rs := all(t)
	rs[0].Attrs = map[string][]string{"a": {"b", "c"}}
	rs[1].Views = []string{}
	data := Pack(rs)
	back, err := Unpack(data)
	if err != nil || len(back) != len(rs) {
		t.Fatalf("%d of %d, %v", len(back), len(rs), err)
	}
	for i := range rs {
		a, b := rs[i], back[i]
		if len(a.RuntimeEnvironments) > 0 && b.tags == nil {
			t.Errorf("%s: not sealed", b.ID)
		}
		a.tags, b.tags = nil, nil
		a.Created, b.Created = a.Created.UTC(), b.Created.UTC()
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("changed:\n%+v\n%+v", a, b)
		}
	}
	for i := range data {
		spoilt := slices.Clone(data)
		spoilt[i] ^= 0x55
		if _, err := Unpack(spoilt); err == nil {
			t.Fatalf("byte %d changed and not noticed", i)
		}
		if i > 300 {
			break
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	rs := all(b)
	for len(rs) < 12000 {
		rs = append(rs, rs...)
	}
	data := Pack(rs)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unpack(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data))/float64(len(rs)), "B/resource")
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		decode(b, glue1, glue2)
	}
}
