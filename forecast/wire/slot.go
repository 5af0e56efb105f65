package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"math/bits"
)

// Slot is a stretch of time in which processors of one node are expected to be
// free, or to come free to whoever has the higher priority.
type Slot struct {
	ID     uint64 `json:"id"` // of this cluster, never given to another slot; below 2^53
	Node   string `json:"node"`
	CPUs   int32  `json:"cpus"`
	GPUs   int32  `json:"gpus,omitempty"`
	Memory int64  `json:"memory,omitempty"` // MB of the whole slot; 0: not known
	From   int64  `json:"from"`
	To     int64  `json:"to,omitempty"` // 0: no end in sight
	// Latest is when the slot begins if every job before it runs as long as it
	// may; 0: as From.
	Latest int64 `json:"latest,omitempty"`
	// Start is the chance that the slot is free when it begins, Hold that it
	// stays free for its whole length, 0 to 1.
	Start float64 `json:"start"`
	Hold  float64 `json:"hold"`
	// Priority is that of the waiting local job whose start makes the slot, and
	// Task that job. A gap that no local job is to get has neither.
	Priority float64 `json:"priority,omitempty"`
	Task     string  `json:"task,omitempty"`
}

// hash is 128 bits of SHA-256 over the slot's fields.
func (s *Slot) hash() (h hash) {
	b := make([]byte, 0, 160)
	for _, v := range []uint64{
		s.ID, uint64(s.CPUs), uint64(s.GPUs), uint64(s.Memory), uint64(s.From), uint64(s.To), uint64(s.Latest),
		math.Float64bits(s.Start), math.Float64bits(s.Hold), math.Float64bits(s.Priority), uint64(len(s.Node)),
	} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	b = append(append(b, s.Node...), s.Task...)
	sum := sha256.Sum256(b)
	return hash{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// hash is a number of 128 bits.
type hash struct{ high, low uint64 }

func (h hash) plus(o hash) hash {
	low, carry := bits.Add64(h.low, o.low, 0)
	high, _ := bits.Add64(h.high, o.high, carry)
	return hash{high, low}
}

func (h hash) minus(o hash) hash {
	low, borrow := bits.Sub64(h.low, o.low, 0)
	high, _ := bits.Sub64(h.high, o.high, borrow)
	return hash{high, low}
}

// String writes 32 hexadecimal digits.
func (h hash) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], h.high)
	binary.BigEndian.PutUint64(b[8:], h.low)
	return hex.EncodeToString(b[:])
}

// Set is all slots of a cluster as one side of a connection knows them. The
// zero Set is empty. It is not safe for concurrent use.
type Set struct {
	slots map[uint64]kept
	sum   hash
}

// kept is a slot with its hash, which is wanted again when the slot goes.
type kept struct {
	Slot
	sum hash
}

// Len is the number of slots.
func (s *Set) Len() int { return len(s.slots) }

// Digest tells sets apart: the sum modulo 2^128 of the slots' hashes, so that
// it costs a delta no more than the delta's length.
func (s *Set) Digest() string { return s.sum.String() }

// All calls f for every slot, in no order.
func (s *Set) All(f func(Slot)) {
	for _, v := range s.slots {
		f(v.Slot)
	}
}

// Slot finds a slot.
func (s *Set) Slot(id uint64) (Slot, bool) {
	v, ok := s.slots[id]
	return v.Slot, ok
}

// Put adds a slot or takes the place of the one with its ID.
func (s *Set) Put(v Slot) {
	s.Drop(v.ID)
	if s.slots == nil {
		s.slots = map[uint64]kept{}
	}
	sum := v.hash()
	s.slots[v.ID] = kept{v, sum}
	s.sum = s.sum.plus(sum)
}

// Drop takes a slot out; one that is not there is no error.
func (s *Set) Drop(id uint64) {
	if old, ok := s.slots[id]; ok {
		s.sum = s.sum.minus(old.sum)
		delete(s.slots, id)
	}
}

// Clone copies a set.
func (s *Set) Clone() Set { return Set{maps.Clone(s.slots), s.sum} }

// Clear takes all slots out.
func (s *Set) Clear() { s.slots, s.sum = nil, hash{} }
