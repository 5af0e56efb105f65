package wire

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// Slots that each overlap with the end of every booking are not cut into as many parts as there are pairs: nothing is
// left of their node, and what other nodes have stays.
func TestSlotsAtTheEndsOfBookings(t *testing.T) {
	testbed.Computes(t)
	var slots []Slot
	for i := range uint64(30_000) {
		slots = append(slots, Slot{ID: i, Node: "a", CPUs: 1 << 20, From: noon - 50, To: noon + 50})
	}
	slots = append(slots, Slot{ID: 1 << 20, Node: "b", CPUs: 4, From: noon, To: noon + 1000})
	busy := map[string][]Use{"b": {{Slot: 1 << 20, From: noon, To: noon + 1000, CPUs: 1}}}
	for range 200 {
		busy["a"] = append(busy["a"], Use{Slot: 7 << 20, From: noon, To: noon + 100, CPUs: 1})
	}
	testbed.Within(t, 4*time.Second, 300<<20, func() {
		if left := Subtract(slots, busy); len(left) != 1 || left[0].Node != "b" || left[0].CPUs != 3 {
			t.Errorf("%d slots are left", len(left))
		}
	})
}

// Slots that come one after the other are not each cut into ten.
func TestDeepenIsBounded(t *testing.T) {
	var slots []Slot
	for i := range int64(60_000) {
		slots = append(slots, Slot{ID: uint64(i), Node: "a", CPUs: 100, From: noon + i, To: noon + i + 1})
	}
	list, cpus := Deepen(slots, nil, noon, 100), int64(0)
	for i := range list {
		cpus += int64(list[i].CPUs)
	}
	if len(list) > len(slots)+maxDeepened+tenths || cpus != 100*int64(len(slots)) {
		t.Errorf("%d parts of %d slots, with %d processors", len(list), len(slots), cpus)
	}
}

// A number behind which none can come is no delta's: an agent that went on from one would be refused by every
// database from then on.
func TestNumbersAtTheirEnd(t *testing.T) {
	digest := (&Set{}).Digest()
	for _, seq := range []uint64{1 << 53, math.MaxInt64, math.MaxUint64} {
		ack, err := json.Marshal(Ack{Schema: AckSchema, Seq: seq, Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		beat, err := json.Marshal(Beat{Schema: BeatSchema, Cluster: "c", Seq: seq, Digest: digest, Made: noon, TTL: 60, Booked: "0"})
		if err != nil {
			t.Fatal(err)
		}
		delta, err := new(Packer).Delta(&Delta{Cluster: "c", Seq: seq, Digest: digest, Base: digest, Made: noon, TTL: 60})
		if err != nil {
			t.Fatal(err)
		}
		_, ackErr := DecodeAck(ack, DefaultLimits())
		_, beatErr := DecodeBeat(beat, DefaultLimits())
		_, deltaErr := DecodeDelta(delta, DefaultLimits())
		for what, err := range map[string]error{"an answer": ackErr, "a beat": beatErr, "a delta": deltaErr} {
			if e, ok := errors.AsType[*FieldError](err); !ok || e.Field != "seq" {
				t.Errorf("%s with number %d: %v", what, seq, err)
			}
		}
	}
}
