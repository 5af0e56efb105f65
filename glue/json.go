package glue

import (
	"encoding/json"
	"fmt"
	"time"
)

// MarshalJSON writes null for what was not published, durations in seconds.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	if d, ok := any(o.V).(time.Duration); ok {
		return json.Marshal(d.Seconds())
	}
	return json.Marshal(o.V)
}

// Document is what the command's JSON has of it: nothing where nothing was published.
func (o Opt[T]) Document() *T {
	if !o.OK {
		return nil
	}
	return &o.V
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (o *Opt[T]) UnmarshalJSON(text []byte) error {
	*o = Opt[T]{}
	if string(text) == "null" {
		return nil
	}
	if d, ok := any(&o.V).(*time.Duration); ok {
		secs, err := seconds(text)
		*d, o.OK = secs, err == nil
		return err
	}
	err := json.Unmarshal(text, &o.V)
	o.OK = err == nil
	return err
}

// seconds reads a JSON number of seconds.
func seconds(text []byte) (time.Duration, error) {
	var f float64
	if err := json.Unmarshal(text, &f); err != nil {
		return 0, err
	}
	if f < 0 || f > tenYears.Seconds() {
		return 0, fmt.Errorf("%g s is no duration of a grid's", f)
	}
	return time.Duration(f * float64(time.Second)), nil
}

// inSeconds is a duration that JSON has in seconds.
type inSeconds time.Duration

func (s inSeconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(s).Seconds())
}

func (s *inSeconds) UnmarshalJSON(text []byte) error {
	d, err := seconds(text)
	*s = inSeconds(d)
	return err
}

// plain is Resource without its methods.
type plain Resource

// Document is the resource as the command's JSON has it: its fields.
func (r Resource) Document() plain { return plain(r) }

// Document is the number of seconds as what it is.
func (s inSeconds) Document() time.Duration { return time.Duration(s) }

// Document is what the command's JSON has of it.
func (s SlotsFor) Document() slotsFor { return slotsFor{s.Slots, inSeconds(s.Duration)} }

// MarshalJSON writes a resource with its durations in seconds.
func (r Resource) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		*plain
		Validity inSeconds `json:"validity_seconds,omitzero"`
	}{(*plain)(&r), inSeconds(r.Validity)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Resource) UnmarshalJSON(text []byte) error {
	x := struct {
		*plain
		Validity inSeconds `json:"validity_seconds"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	r.Validity = time.Duration(x.Validity)
	r.Seal()
	return nil
}

// MarshalJSON writes the duration in seconds.
func (s SlotsFor) MarshalJSON() ([]byte, error) {
	return json.Marshal(slotsFor{s.Slots, inSeconds(s.Duration)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (s *SlotsFor) UnmarshalJSON(text []byte) error {
	var x slotsFor
	err := json.Unmarshal(text, &x)
	s.Slots, s.Duration = x.Slots, time.Duration(x.Duration)
	return err
}

type slotsFor struct {
	Slots    int64     `json:"slots"`
	Duration inSeconds `json:"duration_seconds,omitzero"`
}
