package packed

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
)

// published are the resources of ten sites, in both schemas.
func published(t testing.TB) []glue.Resource {
	t.Helper()
	d := glue.NewDecoder("test")
	for _, name := range []string{"generated-10-sites.glue1.ldif.gz", "generated-10-sites.glue2.ldif.gz"} {
		f, err := os.Open("../../testdata/glue/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := glue.ReadLDIF(text, name, d.Add); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	rs := d.Resources(time.Unix(1_790_000_000, 0).UTC())
	slices.SortFunc(rs, func(a, b glue.Resource) int { return strings.Compare(a.ID, b.ID) })
	return rs
}

func TestPack(t *testing.T) {
	rs := published(t)
	rs[0].Attrs = map[string][]string{"a": {"b", "c"}}
	rs[1].Views = []string{}
	data := pack(t, rs)
	back, err := Unpack(data)
	if err != nil || len(back) != len(rs) {
		t.Fatalf("%d of %d, %v", len(back), len(rs), err)
	}
	for i := range rs {
		a, b := rs[i], back[i]
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

// pack is what Write writes.
func pack(t testing.TB, rs []glue.Resource) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, rs); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What cannot be written is told, whenever that is.
func TestWriteFails(t *testing.T) {
	rs := published(t)
	for _, room := range []int{0, 10, 20, packBuffer, 2 * packBuffer, len(pack(t, rs)) - 1} {
		if err := Write(&full{room}, rs); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
}

// full is a writer with room for so many bytes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// fill sets everything exported below v to values that differ from each other.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = time.Unix(*n, *n).UTC()
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key", *n)), elem)
	case reflect.String:
		v.SetString(fmt.Sprint("text", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	case reflect.Uint16:
		v.SetUint(uint64(*n))
	default:
		v.SetInt(*n)
	}
}

// No field is forgotten: a resource with everything set comes back.
func TestPackEveryField(t *testing.T) {
	rs := make([]glue.Resource, 3)
	n := int64(0)
	fill(reflect.ValueOf(&rs[0]).Elem(), &n)
	fill(reflect.ValueOf(&rs[1]).Elem(), &n)
	rs[1].Endpoints, rs[1].Attrs = rs[0].Endpoints, rs[0].Attrs // shared
	back, err := Unpack(pack(t, rs))
	if err != nil {
		t.Fatal(err)
	}
	glue.Seal(rs) // as Unpack does
	if !reflect.DeepEqual(rs, back) {
		t.Errorf("changed:\n%+v\n%+v", rs, back)
	}
	if &back[0].Endpoints[0] != &back[1].Endpoints[0] {
		t.Error("what resources share was written twice")
	}
}

func BenchmarkPack(b *testing.B) {
	rs := published(b)
	for len(rs) < 12000 {
		rs = append(rs, rs...)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, rs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	rs := published(b)
	for len(rs) < 12000 {
		rs = append(rs, rs...)
	}
	data := pack(b, rs)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unpack(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data))/float64(len(rs)), "B/resource")
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("x"))
	f.Add(pack(f, []glue.Resource{{ID: "a", Benchmarks: map[string]float64{"x": 1}, RuntimeEnvironments: []string{"t"}}})[codecHead:])
	f.Fuzz(func(t *testing.T, text []byte) {
		u := &unpacker{data: text}
		var r glue.Resource
		coder{u: u}.resource(&r)
	})
}
