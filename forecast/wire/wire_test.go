package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

const noon = 1_800_000_000

func someSlots(r *rand.Rand, n int) []Slot {
	list := make([]Slot, n)
	for i := range list {
		from := int64(noon + r.IntN(7200))
		list[i] = Slot{ID: uint64(i + 1), Node: "n" + string(rune('a'+r.IntN(20))), CPUs: int32(1 + r.IntN(8)), From: from,
			To: from + 600 + int64(r.IntN(7200)), Start: 0.98, Hold: 0.9}
	}
	return list
}

// Two sides that exchange deltas agree, whatever changes and however often.
func TestDeltasKeepTwoSetsEqual(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var here, there Set
		slots := someSlots(r, 100)
		for range 20 {
			next := append([]Slot(nil), slots...)
			for range r.IntN(10) {
				next[r.IntN(len(next))].To += 60
			}
			next = append(next[:r.IntN(len(next))], someSlots(r, 120)[100:]...)
			text, err := new(Packer).Delta(complete(here.Diff(next)))
			if err != nil {
				t.Fatal(err)
			}
			d, err := DecodeDelta(text, DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if err := there.Apply(d); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if there.Digest() != here.Digest() || there.Len() != here.Len() {
				t.Fatalf("seed %d: the sets have come apart", seed)
			}
		}
	}
}

// The next of a set is what Diff would make of it, by the same delta, and leaves the set as it was.
func TestNextLeavesTheSetAsItWas(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	slots := someSlots(r, 50)
	var set Set
	set.Diff(slots)
	moved := append([]Slot(nil), slots[5:]...)
	moved[3].To += 60
	for name, next := range map[string][]Slot{"the same": slots, "others": moved, "more": append(someSlots(r, 60)[50:], slots...), "none": nil} {
		was, by := set.Clone(), set.Clone()
		got, d := set.Next(next)
		want := by.Diff(next)
		if !reflect.DeepEqual(d, want) || got.Digest() != by.Digest() || !maps.Equal(got.slots, by.slots) {
			t.Errorf("%s: %d slots by %+v, want %d by %+v", name, got.Len(), d, by.Len(), want)
		}
		if set.Digest() != was.Digest() || !maps.Equal(set.slots, was.slots) {
			t.Errorf("%s: the set itself has changed", name)
			set = was
		}
	}
}

func complete(d *Delta) *Delta {
	d.Cluster, d.Made, d.TTL = "c", noon, 60
	return d
}

func TestLostDeltaIsNoticedAndChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var here, there Set
	slots := someSlots(r, 50)
	if err := there.Apply(here.Diff(slots)); err != nil {
		t.Fatal(err)
	}
	here.Diff(slots[:40]) // lost on the way
	before := there.Digest()
	err := there.Apply(here.Diff(slots[:30]))
	if e := (*Mismatch)(nil); !errors.As(err, &e) || there.Digest() != before {
		t.Fatalf("got %v", err)
	}
	if err := there.Apply(here.Whole()); err != nil || there.Digest() != here.Digest() {
		t.Fatalf("a full set does not mend it: %v", err)
	}
	wrong := complete(here.Diff(slots[:20]))
	wrong.Put = append(wrong.Put, slots[45])
	if before = there.Digest(); there.Apply(wrong) == nil || there.Digest() != before {
		t.Fatal("a delta with a wrong digest was taken, or left traces")
	}
}

func TestDecodeRefuses(t *testing.T) {
	zero := strings.Repeat("0", 32)
	good := `"schema":"grid.slots/v1","cluster":"c","seq":1,"base":"` + zero + `","digest":"` + zero + `","made":1800000000,"ttl":60`
	for name, c := range map[string]struct{ doc, want string }{
		"nothing":        {``, "not a document"},
		"other schema":   {`{"schema":"grid.slots/v2"}`, "schema"},
		"trailing":       {`{` + good + `} {}`, "not a document"},
		"no cluster":     {`{"schema":"grid.slots/v1"}`, "cluster"},
		"negative time":  {strings.Replace(`{`+good+`}`, "1800000000", "-5", 1), "made"},
		"no ttl":         {strings.Replace(`{`+good+`}`, `"ttl":60`, `"ttl":0`, 1), "ttl"},
		"backward slot":  {`{` + good + `,"put":[{"id":1,"node":"n","cpus":1,"from":1800000100,"to":1800000000,"start":1,"hold":1}]}`, "put.to"},
		"chance above 1": {`{` + good + `,"put":[{"id":1,"node":"n","cpus":1,"from":1800000100,"start":2,"hold":1}]}`, "put.start"},
		"no processors":  {`{` + good + `,"put":[{"id":1,"node":"n","cpus":-4,"from":1800000100,"start":1,"hold":1}]}`, "put.cpus"},
		"control":        {`{` + good + `,"jobs":[{"task":"a\u0007","state":"running","procs":1}]}`, "jobs.task"},
		"chances back":   {`{` + good + `,"site":{"start":"plain","chances":[{"ahead":60,"start":1},{"ahead":60,"start":1}]}}`, "site.chances.ahead"},
		"chance above":   {`{` + good + `,"site":{"start":"plain","chances":[{"ahead":60,"start":1.5}]}}`, "site.chances.start"},
		"full, no site":  {`{` + good + `,"full":true}`, "site"},
	} {
		if _, err := DecodeDelta([]byte(c.doc), DefaultLimits()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAMillionSlotsInOneMessageAreRefused(t *testing.T) {
	testbed.Computes(t)
	var s Set
	d := complete(s.Diff(nil))
	d.Drop = make([]uint64, 1_000_000)
	text, err := new(Packer).Delta(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeDelta(text, DefaultLimits()); err == nil || !strings.Contains(err.Error(), "lists: more than 600000") {
		t.Fatalf("got %v", err)
	}
	d.Drop = d.Drop[:DefaultLimits().Slots+1]
	if text, err = new(Packer).Delta(d); err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeDelta(text, DefaultLimits()); err == nil || !strings.Contains(err.Error(), "drop") {
		t.Fatalf("got %v", err)
	}
	l := DefaultLimits()
	l.Bytes = 1000
	if _, err := DecodeDelta(text, l); !errors.Is(err, ErrTooLong) {
		t.Fatalf("a bomb: got %v", err)
	}
}

func FuzzDecodeDelta(f *testing.F) {
	var s Set
	text, _ := json.Marshal(complete(s.Diff(someSlots(rand.New(rand.NewPCG(1, 1)), 3))))
	f.Add(text)
	f.Add([]byte(`{"schema":"grid.slots/v1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := DecodeDelta(text, DefaultLimits())
		if err != nil {
			return
		}
		again, err := new(Packer).Delta(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeDelta(again, DefaultLimits()); err != nil {
			t.Fatalf("what was read and written is not read again: %v", err)
		}
		var set Set
		set.Apply(d)
	})
}

func FuzzDecodeAck(f *testing.F) {
	f.Add([]byte(`{"schema":"grid.slots-ack/v1","seq":1,"digest":"00000000000000000000000000000000"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if a, err := DecodeAck(text, DefaultLimits()); err == nil && len(a.Digest) != 32 {
			t.Fatal("an answer without a digest was taken")
		}
	})
}

func TestStartChance(t *testing.T) {
	s := &Site{Chances: []Chance{{60, 0.9}, {120, 0.8}, {180, 0.6}}}
	for ahead, want := range map[int64]float64{-5: 0.9, 0: 0.9, 60: 0.9, 90: 0.85, 120: 0.8, 150: 0.7, 180: 0.6, 999: 0.6} {
		if got := s.StartChance(ahead); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d s ahead: %v, want %v", ahead, got, want)
		}
	}
	if got := (&Site{}).StartChance(5); got != 1 {
		t.Errorf("where nothing is told: %v", got)
	}
}
