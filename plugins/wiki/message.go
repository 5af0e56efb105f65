package wiki

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"strconv"
	"time"
)

// Message is a body taken apart.
type Message struct {
	Time   time.Time // TS; zero where the body is bare
	Auth   string    // AUTH; may be empty
	Data   string    // DT, or the whole of a bare body
	Sum    string    // CK; empty where there is none
	Signed bool      // the checksum is there and right
}

// Rules say which messages are taken.
type Rules struct {
	Key    Key           // without one, unsigned and bare messages are taken
	Window time.Duration // TS may be so far off; 0: any time
	Now    func() time.Time
}

// SecurityError is a message that is not taken for its checksum or time.
type SecurityError struct {
	Code int
	Why  string
}

func (e *SecurityError) Error() string { return "wiki message: " + e.Why }

// Sign writes a body: checksum, time, name and data.
func (k Key) Sign(at time.Time, auth, data string) []byte {
	text := make([]byte, 0, len(data)+64)
	text = append(text, "CK=0000000000000000 TS="...)
	text = strconv.AppendInt(text, at.Unix(), 10)
	if auth != "" {
		text = append(text, " AUTH="...)
		text = append(text, auth...)
	}
	text = append(text, " DT="...)
	text = append(text, data...)
	copy(text[len("CK="):], k.Sum(text[len("CK=0000000000000000 "):]))
	return text
}

// Open takes a body apart and checks it.
func (r Rules) Open(body []byte) (Message, error) {
	m, err := ParseMessage(body)
	if err != nil {
		return m, err
	}
	if !r.Key.Set() {
		return m, r.fresh(m)
	}
	if m.Sum == "" {
		return m, &SecurityError{CodeBadChecksum, "no checksum"}
	}
	summed, all := checked(body)
	if !all {
		return m, &SecurityError{CodeBadChecksum, "between checksum and time stands what the checksum is not of"}
	}
	want := r.Key.Sum(summed)
	if m.Signed = subtle.ConstantTimeCompare([]byte(want), []byte(m.Sum)) == 1; !m.Signed {
		return m, &SecurityError{CodeBadChecksum, "wrong checksum: another key, or the message was changed"}
	}
	return m, r.fresh(m)
}

// checked is what the checksum of a body is of: from the time on. All tells that nothing but the checksum stands before that: of
// what somebody puts there anything could be read, and a message that he has seen would vouch for it.
func checked(body []byte) (summed []byte, all bool) {
	const blanks = " \t\n"
	rest, first := bytes.CutPrefix(bytes.TrimLeft(body, blanks), []byte("CK="))
	end := bytes.IndexAny(rest, blanks)
	if !first || end < 0 {
		return nil, false
	}
	summed = bytes.TrimLeft(rest[end:], blanks)
	return summed, bytes.HasPrefix(summed, []byte("TS="))
}

// fresh checks the time.
func (r Rules) fresh(m Message) error {
	if r.Window <= 0 || m.Time.IsZero() {
		return nil
	}
	off, way := r.Now().Sub(m.Time), "behind"
	if off.Abs() <= r.Window {
		return nil
	}
	if off < 0 {
		way = "ahead of"
	}
	return &SecurityError{CodeStale, fmt.Sprintf("the clock of who sent it is %s %s that of who refuses it, %s are allowed", off.Abs().Round(time.Second), way, r.Window)}
}

// FormatError is a body or data that cannot be read.
type FormatError struct {
	Code int
	Why  string
}

func (e *FormatError) Error() string { return "wiki: " + e.Why }

// ParseMessage takes a body apart without checking it. A body that begins
// with CMD= or SC= is bare data.
func ParseMessage(body []byte) (Message, error) {
	var m Message
	rest := body
	for {
		rest = bytes.TrimLeft(rest, " \t\n")
		name, after, ok := bytes.Cut(rest, []byte("="))
		switch {
		case !ok:
			return m, &FormatError{CodeFormat, "no DT= in the message"}
		case string(name) == "DT":
			m.Data = string(after)
			return m, nil
		case string(name) == "CMD" || string(name) == "SC":
			m.Data = string(rest)
			return m, nil
		}
		value := after
		if end := bytes.IndexAny(after, " \t\n"); end >= 0 {
			value, rest = after[:end], after[end:]
		} else {
			rest = nil
		}
		if err := m.set(string(name), string(value)); err != nil {
			return m, err
		}
	}
}

func (m *Message) set(name, value string) error {
	switch name {
	case "CK":
		m.Sum = value
	case "AUTH":
		m.Auth = value
	case "TS":
		n, err := strconv.ParseInt(value, 10, 62)
		if err != nil || n < 0 {
			return &FormatError{CodeFormat, fmt.Sprintf("TS=%.32q is not a time", value)}
		}
		m.Time = time.Unix(n, 0)
	}
	return nil
}
