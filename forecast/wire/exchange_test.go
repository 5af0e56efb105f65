package wire

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"testing"
)

// FuzzExchange: whatever an agent says one after the other, a delta that is refused leaves
// a set as it was, one that is taken leads to the set that it names, and the sum that is
// kept on the way is that of what is there.
func FuzzExchange(f *testing.F) {
	var s Set
	rng := rand.New(rand.NewPCG(1, 1))
	first := complete(s.Diff(someSlots(rng, 3)))
	whole := complete(s.Whole())
	second := complete(s.Diff(someSlots(rng, 4)))
	for _, pair := range [][2]*Delta{{first, second}, {whole, second}, {second, first}} {
		one, _ := json.Marshal(pair[0])
		two, _ := json.Marshal(pair[1])
		f.Add(one, two, false)
		f.Add(two, one, true)
	}
	packed, _ := new(Packer).Delta(first)
	beat, _ := json.Marshal(Beat{Schema: BeatSchema, Cluster: "c", Seq: 1, Digest: s.Digest(), Made: 1_800_000_000, TTL: 60, Booked: "0"})
	f.Add(packed, beat, true)
	f.Fuzz(func(t *testing.T, one, two []byte, trust bool) {
		var set Set
		for _, text := range [][]byte{one, two, one} {
			if b, err := DecodeBeat(text, DefaultLimits()); err == nil && (b.TTL < 1 || b.Cluster == "") {
				t.Fatalf("a beat: %+v", b)
			}
			d, err := DecodeDelta(text, DefaultLimits())
			if err != nil {
				continue
			}
			if trust { // what the digests keep out is tried, too
				d.Base, d.Digest = set.Digest(), after(set.Clone(), d)
			}
			exchange(t, &set, d)
		}
	})
}

// after is the digest of a set once a delta was applied.
func after(s Set, d *Delta) string {
	if d.Full {
		s.Clear()
	}
	s.changes(d)
	return s.Digest()
}

// exchange applies a delta and holds the set against what it was, or is to be.
func exchange(t *testing.T, set *Set, d *Delta) {
	was := set.Clone()
	if err := set.Apply(d); err != nil {
		if set.Digest() != was.Digest() || !maps.Equal(set.slots, was.slots) {
			t.Fatalf("%v, but the set has changed", err)
		}
		return
	}
	var again Set
	set.All(again.Put)
	if set.Digest() != d.Digest || again.Digest() != d.Digest {
		t.Fatalf("the digest is %s, of what is there %s, and the delta says %s", set.Digest(), again.Digest(), d.Digest)
	}
	next := again.Clone()
	var list []Slot
	set.All(func(v Slot) { list = append(list, v) })
	if back := was.Diff(list); was.Digest() != d.Digest || len(back.Put) > len(list) {
		t.Fatal("what leads from the one set to the other does not")
	}
	full := complete(next.Whole())
	full.Site = &Site{Start: Plain}
	if text, err := new(Packer).Delta(full); err != nil {
		t.Fatal(err)
	} else if whole, err := DecodeDelta(text, DefaultLimits()); err != nil {
		t.Fatalf("what was taken is not read again: %v", err)
	} else if _, err := whole.Set(); err != nil {
		t.Fatal(err)
	}
}
