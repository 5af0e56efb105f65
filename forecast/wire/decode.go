package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"gridbroker/foreign"
)

// Limits bound what is read.
type Limits struct {
	Bytes int64 // of the document, uncompressed
	Slots int   // put and dropped in one delta
	Jobs  int   // entries of the local schedule
	Nodes int
	Name  int // bytes of one name
	Users int
}

// DefaultLimits suit a cluster of some ten thousand nodes.
func DefaultLimits() Limits {
	return Limits{Bytes: 64 << 20, Slots: 200_000, Jobs: 200_000, Nodes: 50_000, Name: 256, Users: 100_000}
}

// FieldError is a document that holds what may not be.
type FieldError struct{ Field, Why string }

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Why }

// ErrTooLong is a document longer than its limit.
var ErrTooLong = errors.New("the document is too long")

// Packer writes one delta after another: what packing needs, most of a megabyte,
// is made once. It is for one goroutine at a time; the zero value is ready.
type Packer struct{ z *gzip.Writer }

// short is what is not gzipped, in bytes: it goes in one packet either way, and
// most deltas say only that all is as it was.
const short = 1200

// Delta writes a delta as JSON, gzipped where it is long.
func (p *Packer) Delta(d *Delta) ([]byte, error) {
	d.Schema = DeltaSchema
	plain, err := json.Marshal(d)
	if err != nil || len(plain) <= short {
		return plain, err
	}
	var b bytes.Buffer
	if p.z == nil { // the first level makes an event's delta in a third of the time, and a tenth longer
		if p.z, err = gzip.NewWriterLevel(&b, gzip.BestSpeed); err != nil {
			return nil, err
		}
	}
	p.z.Reset(&b)
	if _, err := p.z.Write(plain); err != nil {
		return nil, err
	}
	err = p.z.Close()
	return b.Bytes(), err
}

// DecodeDelta reads a delta, gzipped or plain, and checks all of it.
func DecodeDelta(text []byte, l Limits) (*Delta, error) {
	plain, err := inflate(text, l.Bytes)
	if err != nil {
		return nil, err
	}
	d := &Delta{}
	slots, rest, ok := cutSlots(plain, l.Slots)
	if !ok {
		rest = plain
	}
	if err := l.few(rest); err != nil {
		return nil, err
	}
	if err := decode(rest, DeltaSchema, d, &d.Schema); err != nil {
		return nil, err
	}
	if len(d.Put) == 0 { // else they come twice, and the last counts
		d.Put = slots
	}
	return d, d.check(l)
}

// DecodeAck reads the answer to a delta.
func DecodeAck(text []byte, l Limits) (*Ack, error) {
	if int64(len(text)) > l.Bytes {
		return nil, ErrTooLong
	}
	if err := l.few(text); err != nil {
		return nil, err
	}
	a := &Ack{}
	if err := decode(text, AckSchema, a, &a.Schema); err != nil {
		return nil, err
	}
	c := checker{l: l}
	c.id("seq", a.Seq) // the agent counts on from there
	c.digest("digest", a.Digest)
	c.count("bookings", len(a.Bookings), l.Slots)
	for i := range a.Bookings {
		c.booking(&a.Bookings[i])
	}
	return a, c.err
}

// few refuses a document with more elements in its lists than all that is bounded may
// have together: each takes up to a hundred times its bytes once it is in memory, where the
// bounds of single lists are held.
func (l Limits) few(text []byte) error {
	most := l.Slots + 2*l.Jobs // that have gone, too; of slots that come there are fewer, or they were read
	if len(text)/2 <= most {
		return nil
	}
	tooMany := func(v foreign.Values) bool { return v.Lists+v.Elements > most } // empty lists as if they had one
	if tooMany(foreign.CountValues(text, tooMany)) {
		return &FieldError{"lists", fmt.Sprintf("more than %d elements", most)}
	}
	return nil
}

// inflate undoes gzip where there is any, and reads at most limit bytes.
func inflate(text []byte, limit int64) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		if int64(len(text)) > limit {
			return nil, ErrTooLong
		}
		return text, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	z.Multistream(false) // parts without end that hold nothing would be read to no limit
	plain, err := io.ReadAll(io.LimitReader(z, limit+1))
	if err == nil && int64(len(plain)) > limit {
		err = ErrTooLong
	}
	return plain, err
}

// decode reads one JSON document that names its schema; whatever else is wrong
// with one that names another, that is what is said.
func decode(text []byte, schema string, to any, named *string) error {
	err := json.Unmarshal(text, to)
	if err == nil && *named == schema {
		return nil
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if herr := json.Unmarshal(text, &head); herr == nil && head.Schema != schema {
		return &FieldError{"schema", fmt.Sprintf("want %s, have %.40q", schema, head.Schema)}
	}
	return fmt.Errorf("not a document of schema %s: %w", schema, err)
}

// checker keeps the first thing that is wrong.
type checker struct {
	l   Limits
	err error
}

func (c *checker) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = &FieldError{field, fmt.Sprintf(format, args...)}
	}
}

func (c *checker) count(field string, n, most int) {
	if n > most {
		c.fail(field, "%d are more than %d", n, most)
	}
}

// name is one line of printable text, as long as a name may be.
func (c *checker) name(field, s string, empty bool) {
	if s == "" && !empty {
		c.fail(field, "is empty")
	}
	c.text(field, s, c.l.Name)
}

// text is one line of printable text.
func (c *checker) text(field, s string, most int) {
	switch {
	case len(s) > most:
		c.fail(field, "%d bytes are more than %d", len(s), most)
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }):
		c.fail(field, "holds a control character")
	}
}

// The earliest and latest time believed: 2001 and 2100.
const (
	minTime = 1_000_000_000
	maxTime = 4_102_444_800
	maxSpan = 10 * 365 * 86400
)

func (c *checker) time(field string, t int64, zero bool) {
	if !(t == 0 && zero) && (t < minTime || t > maxTime) {
		c.fail(field, "%d is no time of this century", t)
	}
}

func (c *checker) between(field string, v, low, high float64) {
	if math.IsNaN(v) || v < low || v > high {
		c.fail(field, "%v is not between %v and %v", v, low, high)
	}
}

// id is one that a number of JSON holds exactly.
func (c *checker) id(field string, id uint64) {
	if id >= 1<<53 {
		c.fail(field, "%d is more than 2^53", id)
	}
}

func (c *checker) way(field string, w Way) {
	if w != Plain && w != Begin && w != Partition && w != Reservation {
		c.fail(field, "%.20q is not plain, begin, partition or reservation", string(w))
	}
}

func (c *checker) digest(field, s string) {
	if len(s) != 32 || strings.Trim(s, "0123456789abcdef") != "" {
		c.fail(field, "want 32 hexadecimal digits")
	}
}

// maxAmount bounds processors and memory of one node.
const maxAmount = 1 << 40
