package infosys

import (
	"errors"
	"fmt"
	"io"

	"gridbroker/glue"
)

// This file reads the answers to LDAP searches (RFC 4511) without building a
// tree of them: one reused buffer holds the message at hand, and an entry's
// names and values are slices of it.

// Tags of what a server sends.
const (
	tagInteger     = 0x02
	tagOctetString = 0x04
	tagEnumerated  = 0x0a
	tagSequence    = 0x30
	tagSet         = 0x31
	tagEntry       = 0x64 // SearchResultEntry
	tagDone        = 0x65 // SearchResultDone
	tagReference   = 0x73 // SearchResultReference
	tagExtended    = 0x78 // ExtendedResponse, as message 0 the notice of disconnection
	tagControls    = 0xa0
)

var (
	errBER     = errors.New("not an LDAP message")
	errTooMany = errors.New("more messages than a server has to say")
)

// berStream cuts a byte stream into LDAP messages.
type berStream struct {
	r          io.Reader
	buf        []byte
	start, end int // unread part of buf
	maxMessage int
	messages   int   // that may still be read
	left       int64 // bytes that may still be read
	account    *glue.Account
}

// next returns the content of the next message; it is valid until the next
// call.
func (s *berStream) next() ([]byte, error) {
	if err := s.need(2); err != nil {
		return nil, err
	}
	if s.messages--; s.messages < 0 {
		return nil, errTooMany
	}
	if s.buf[s.start] != tagSequence {
		return nil, fmt.Errorf("%w: it starts with %.16q", errBER, s.buf[s.start:s.end])
	}
	if n := int(s.buf[s.start+1]); n > 0x80 && n <= 0x84 {
		if err := s.need(2 + n&0x7f); err != nil {
			return nil, err
		}
	}
	size, header, err := berLength(s.buf[s.start+1 : s.end])
	if err != nil {
		return nil, err
	}
	if size > s.maxMessage {
		return nil, fmt.Errorf("message of %d bytes, more than the limit of %d", size, s.maxMessage)
	}
	if err := s.need(1 + header + size); err != nil {
		return nil, err
	}
	from := s.start + 1 + header
	s.start = from + size
	return s.buf[from:s.start], nil
}

// giveBack says that a message of so many bytes was of use.
func (s *berStream) giveBack(bytes int) {
	s.messages++
	s.left += int64(min(bytes, usefulEntry))
}

// need has at least n unread bytes in the buffer.
func (s *berStream) need(n int) error {
	if s.end-s.start >= n {
		return nil
	}
	if s.start+n > len(s.buf) {
		if n > len(s.buf) {
			size := max(2*len(s.buf), n)
			if err := s.account.Take(int64(size)); err != nil {
				return err
			}
			grown := make([]byte, size)
			copy(grown, s.buf[s.start:s.end])
			s.buf, s.start, s.end = grown, 0, s.end-s.start
		} else {
			s.end = copy(s.buf, s.buf[s.start:s.end])
			s.start = 0
		}
	}
	for s.end-s.start < n {
		got, err := s.r.Read(s.buf[s.end:])
		s.end += got
		if s.left -= int64(got); s.left < 0 {
			return errTooLong
		}
		if over := s.account.Hear(int64(got)); over != nil {
			return over
		}
		if err != nil && s.end-s.start < n {
			if errors.Is(err, io.EOF) && s.end > s.start {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// berLength decodes a definite length at the start of b; header is how many
// bytes it took.
func berLength(b []byte) (size, header int, err error) {
	if len(b) == 0 {
		return 0, 0, errBER
	}
	if b[0] < 0x80 {
		return int(b[0]), 1, nil
	}
	n := int(b[0] & 0x7f)
	if n == 0 || n > 4 || len(b) < 1+n {
		return 0, 0, errBER
	}
	for _, c := range b[1 : 1+n] {
		size = size<<8 | int(c)
	}
	return size, 1 + n, nil
}

// berTake cuts the first element off b.
func berTake(b []byte) (tag byte, value, rest []byte, err error) {
	if len(b) < 2 {
		return 0, nil, nil, errBER
	}
	size, header, err := berLength(b[1:])
	if err != nil || size > len(b)-1-header {
		return 0, nil, nil, errBER
	}
	from := 1 + header
	return b[0], b[from : from+size], b[from+size:], nil
}

// berWant is berTake for an element that must have the tag.
func berWant(b []byte, want byte) (value, rest []byte, err error) {
	tag, value, rest, err := berTake(b)
	if err == nil && tag != want {
		err = errBER
	}
	return value, rest, err
}

// berInt decodes an INTEGER or ENUMERATED of at most 8 bytes.
func berInt(b []byte) (int64, error) {
	if len(b) == 0 || len(b) > 8 {
		return 0, errBER
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	return n, nil
}

// message is one LDAPMessage taken apart.
type message struct {
	id       int64
	tag      byte
	body     []byte
	controls []byte
}

func parseMessage(b []byte) (m message, err error) {
	id, b, err := berWant(b, tagInteger)
	if err != nil {
		return m, err
	}
	if m.id, err = berInt(id); err != nil {
		return m, err
	}
	if m.tag, m.body, b, err = berTake(b); err != nil || len(b) == 0 {
		return m, err
	}
	m.controls, _, err = berWant(b, tagControls)
	return m, err
}

// parseEntry takes a SearchResultEntry apart into e, whose slices are reused.
func parseEntry(b []byte, e *glue.Entry) (err error) {
	var attrs []byte
	if e.DN, b, err = berWant(b, tagOctetString); err != nil {
		return err
	}
	if attrs, _, err = berWant(b, tagSequence); err != nil {
		return err
	}
	e.Attrs = e.Attrs[:0]
	for values := 0; len(attrs) > 0; values += len(e.Attrs[len(e.Attrs)-1].Values) {
		var attr []byte
		if attr, attrs, err = berWant(attrs, tagSequence); err != nil {
			return err
		}
		if len(e.Attrs) == maxLDAPNames {
			return fmt.Errorf("an entry of more than %d attributes", maxLDAPNames)
		}
		if err = parseAttr(attr, e, maxLDAPValues-values); err != nil {
			return err
		}
	}
	return nil
}

// parseAttr adds an attribute, of so many values at most.
func parseAttr(b []byte, e *glue.Entry, most int) error {
	name, b, err := berWant(b, tagOctetString)
	if err != nil {
		return err
	}
	set, _, err := berWant(b, tagSet)
	if err != nil {
		return err
	}
	if n := len(e.Attrs); n < cap(e.Attrs) {
		e.Attrs = e.Attrs[:n+1]
	} else {
		e.Attrs = append(e.Attrs, glue.Attr{})
	}
	a := &e.Attrs[len(e.Attrs)-1]
	a.Name, a.Values = name, a.Values[:0]
	for len(set) > 0 {
		var v []byte
		if v, set, err = berWant(set, tagOctetString); err != nil {
			return err
		}
		if len(a.Values) == most {
			return fmt.Errorf("an entry of more than %d values", maxLDAPValues)
		}
		a.Values = append(a.Values, v)
	}
	return nil
}

// result is an LDAPResult.
type result struct {
	code    int64
	message string // the server's words
}

func parseResult(b []byte) (r result, err error) {
	code, b, err := berWant(b, tagEnumerated)
	if err != nil {
		return r, err
	}
	if r.code, err = berInt(code); err != nil {
		return r, err
	}
	_, b, err = berWant(b, tagOctetString) // matched DN
	if err != nil {
		return r, err
	}
	text, _, err := berWant(b, tagOctetString)
	r.message = string(text[:min(len(text), maxLDAPWords)])
	return r, err
}
