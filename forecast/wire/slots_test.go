package wire

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// slow reads a delta with encoding/json alone.
func slow(text []byte) (*Delta, error) {
	d := &Delta{}
	if err := decode(text, DeltaSchema, d, &d.Schema); err != nil {
		return nil, err
	}
	return d, d.check(DefaultLimits())
}

// TestSlotsAreCut: what an agent writes is read without encoding/json's help for
// the slots; so that a full set is read fast this must not silently end.
func TestSlotsAreCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var set Set
	set.Diff(someSlots(r, 500))
	d := set.Whole()
	d.Schema, d.Cluster, d.Site = DeltaSchema, "c", &Site{Start: Begin}
	for name, d := range map[string]*Delta{"of an agent": d, "all fields": whole()} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		list, rest, ok := cutSlots(text, DefaultLimits().Slots)
		if !ok || !reflect.DeepEqual(list, d.Put) || bytes.Contains(rest, []byte(`"cpus":1,"from"`)) {
			t.Errorf("%s: %v, %d of %d slots", name, ok, len(list), len(d.Put))
		}
	}
}

// FuzzSlots: what is read fast is what encoding/json reads, and it refuses what
// encoding/json refuses.
func FuzzSlots(f *testing.F) {
	text, err := json.Marshal(whole())
	if err != nil {
		f.Fatal(err)
	}
	good := string(text)
	for _, c := range [][2]string{
		{"", ""}, {`"id":1,`, `"id":01,`}, {`"id":1,`, `"id":-1,`}, {`"id":1,`, `"id":1e3,`}, {`"id":1,`, `"id":9223372036854775808,`},
		{`"cpus":4`, `"cpus":2147483648`}, {`"start":0.5`, `"start":.5`}, {`"start":0.5`, `"start":0.`}, {`"start":0.5`, `"start":00.5`},
		{`"start":0.5`, `"start":5e-1`}, {`"priority":-3`, `"priority":-`}, {`"priority":-3`, `"priority":-0`}, {`"node":"n1"`, `"node":"n\u00e9"`},
		{`"node":"n1"`, "\"node\":\"n\x01\""}, {`"node":"n1"`, "\"node\":\"n\xff\""}, {`"node":"n1"`, `"node":"n1`}, {`"put":[`, `"put":[],"put":[`},
		{`"cluster":"c"`, `"cluster":"c,"put":[{"`}, {`"cluster":"c"`, `"cluster":{"a":1,"put":[]}`}, {`"put":[`, `"put":[,`}, {`"t"}]`, `"t"},]`}, {`"t"}]`, `"t"}`},
	} {
		f.Add(strings.Replace(good, c[0], c[1], 1))
	}
	f.Add(`,"put":[`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(strings.ToLower(text), `put"`) > 1 { // the last counts, however it is written
			return
		}
		got, gotErr := DecodeDelta([]byte(text), DefaultLimits())
		want, wantErr := slow([]byte(text))
		if (gotErr == nil) != (wantErr == nil) || gotErr == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\ngot  %+v, %v\nwant %+v, %v", text, got, gotErr, want, wantErr)
		}
	})
}

// BenchmarkDecode reads a full set of 2,000 slots, with and without help.
func BenchmarkDecode(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var set Set
	set.Diff(someSlots(r, 2000))
	d := set.Whole()
	d.Schema, d.Cluster, d.Seq, d.Made, d.TTL, d.Site = DeltaSchema, "c", 1, noon, 60, &Site{Start: Begin}
	text, err := json.Marshal(d)
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func([]byte) (*Delta, error){"plain": slow, "cut": func(text []byte) (*Delta, error) { return DecodeDelta(text, DefaultLimits()) }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := read(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
