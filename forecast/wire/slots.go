package wire

import (
	"bytes"
	"strconv"
)

// cutSlots takes the slots out of a delta as Packer writes it: a full set is
// little else, and reading it so takes a fifth of what encoding/json does. rest is
// the document without them. It is false, and all is encoding/json's, where the
// text is not exactly so, or has more of them than that.
func cutSlots(text []byte, most int) (list []Slot, rest []byte, ok bool) {
	const put = `,"put":[`
	at := bytes.Index(text, []byte(put))
	if at < 1 || bytes.ContainsAny(text[1:at], "{[") { // not one of the delta's own fields
		return nil, nil, false
	}
	c := &cursor{text: text[at+len(put):], names: map[string]string{}}
	for !c.bad {
		if len(list) > most {
			return nil, nil, false
		}
		var s Slot
		c.slot(&s)
		if list = append(list, s); !c.has(",") {
			break
		}
	}
	if c.need("]"); c.bad {
		return nil, nil, false
	}
	return list, append(text[:at:at], c.text...), true
}

// cursor reads from the beginning of a text.
type cursor struct {
	text  []byte
	bad   bool              // it is not as we write it
	names map[string]string // kept once, however often they come
}

// slot reads one with its fields in their order.
func (c *cursor) slot(s *Slot) {
	c.need(`{"id":`)
	s.ID = uint64(c.int(63))
	c.need(`,"node":`)
	s.Node = c.string()
	c.need(`,"cpus":`)
	s.CPUs = int32(c.int(31))
	if c.has(`,"gpus":`) {
		s.GPUs = int32(c.int(31))
	}
	if c.has(`,"memory":`) {
		s.Memory = c.int(63)
	}
	c.need(`,"from":`)
	s.From = c.int(63)
	if c.has(`,"to":`) {
		s.To = c.int(63)
	}
	if c.has(`,"latest":`) {
		s.Latest = c.int(63)
	}
	c.need(`,"start":`)
	s.Start = c.float()
	c.need(`,"hold":`)
	s.Hold = c.float()
	if c.has(`,"priority":`) {
		s.Priority = c.float()
	}
	if c.has(`,"task":`) {
		s.Task = c.string()
	}
	c.need("}")
}

func (c *cursor) has(what string) bool {
	if len(c.text) < len(what) || string(c.text[:len(what)]) != what {
		return false
	}
	c.text = c.text[len(what):]
	return true
}

func (c *cursor) need(what string) {
	if !c.has(what) {
		c.bad = true
	}
}

// digits is how many digits follow from a place on.
func (c *cursor) digits(from int) int {
	n := from
	for n < len(c.text) && c.text[n] >= '0' && c.text[n] <= '9' {
		n++
	}
	return n - from
}

// int reads a number that is not negative and has at most so many bits.
func (c *cursor) int(bits int) int64 {
	n := c.digits(0)
	v, err := strconv.ParseInt(string(c.text[:n]), 10, bits+1)
	if err != nil || n > 1 && c.text[0] == '0' {
		c.bad = true
	}
	c.text = c.text[n:]
	return v
}

// float reads a number without an exponent.
func (c *cursor) float() float64 {
	sign := 0
	if len(c.text) > 0 && c.text[0] == '-' {
		sign = 1
	}
	whole := c.digits(sign)
	n := sign + whole
	if n < len(c.text) && c.text[n] == '.' {
		more := c.digits(n + 1)
		if n += 1 + more; more == 0 {
			c.bad = true
		}
	}
	v, err := strconv.ParseFloat(string(c.text[:n]), 64)
	if err != nil || whole == 0 || whole > 1 && c.text[sign] == '0' {
		c.bad = true
	}
	c.text = c.text[n:]
	return v
}

// string reads one of plain characters.
func (c *cursor) string() string {
	c.need(`"`)
	for i, b := range c.text {
		switch {
		case b == '"':
			s, known := c.names[string(c.text[:i])]
			if !known {
				s = string(c.text[:i])
				c.names[s] = s
			}
			c.text = c.text[i+1:]
			return s
		case b < ' ' || b == '\\' || b > '~':
			c.bad = true
			return ""
		}
	}
	c.bad = true
	return ""
}
