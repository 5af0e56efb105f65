package wire

import "strconv"

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
	m := Mark(markBasis)
	for i := range len(key) {
		m = m.with(key[i])
	}
	for shift := 0; shift < 64; shift += 8 {
		m = m.with(byte(to >> shift))
	}
	if running {
		return m.with(1)
	}
	return m.with(0)
}

// A mark is the FNV-1a hash of 64 bits of a booking's key, of its end in eight bytes, the lowest first, and of a byte that is 1
// where it runs.
const (
	markBasis = 14695981039346656037
	markPrime = 1099511628211
)

func (m Mark) with(b byte) Mark { return (m ^ Mark(b)) * markPrime }

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
