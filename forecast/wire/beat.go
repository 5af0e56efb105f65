package wire

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
)

// The schema of a Beat.
const BeatSchema = "grid.beat/v1"

// Beat says that a cluster's schedule, as a delta told it last, holds from a later
// time on: nothing else is new. It is answered with an Ack.
type Beat struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	// Seq and Digest are those of the last delta.
	Seq    uint64 `json:"seq"`
	Digest string `json:"digest"`
	Made   int64  `json:"made"`
	TTL    int64  `json:"ttl"`
	// Booked is the Mark of the bookings that the agent knows.
	Booked string `json:"booked"`
}

// DecodeBeat reads a beat and checks all of it.
func DecodeBeat(text []byte, l Limits) (*Beat, error) {
	if int64(len(text)) > l.Bytes {
		return nil, ErrTooLong
	}
	if err := l.few(text); err != nil {
		return nil, err
	}
	b := &Beat{}
	if err := decode(text, BeatSchema, b, &b.Schema); err != nil {
		return nil, err
	}
	c := checker{l: l}
	c.name("cluster", b.Cluster, false)
	c.id("seq", b.Seq)
	c.digest("digest", b.Digest)
	c.time("made", b.Made, false)
	c.between("ttl", float64(b.TTL), 1, maxSpan)
	c.name("booked", b.Booked, false)
	return b, c.err
}

// Mark tells lists of bookings apart, as the two sides have them at a time: by which
// of them are not over, and whether they run. Their order makes no difference.
type Mark uint64

// Add takes in a booking, unless it is over.
func (m *Mark) Add(key string, to int64, running bool, now int64) {
	if to > now {
		*m += MarkOne(key, to, running)
	}
}

// MarkOne is the mark of one booking: that of several is their sum.
func MarkOne(key string, to int64, running bool) Mark {
	h := fnv.New64a()
	h.Write([]byte(key))
	var rest [9]byte
	binary.LittleEndian.PutUint64(rest[:], uint64(to))
	if running {
		rest[8] = 1
	}
	h.Write(rest[:])
	return Mark(h.Sum64())
}

// String is how a mark is written.
func (m Mark) String() string { return strconv.FormatUint(uint64(m), 16) }

// MarkOf is that of a list.
func MarkOf(list []Booking, now int64) Mark {
	var m Mark
	for i := range list {
		m.Add(list[i].Key, list[i].To, list[i].Running, now)
	}
	return m
}
