package desk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// some are the jobs of one request, or their names. They are read one by one: a list of more takes a
// hundred times its bytes in memory before it can be counted.
type some[T any] []T

// errMany is that a request is about more jobs than it may be.
var errMany = fmt.Errorf("more than %d jobs in one request", maxListed)

// UnmarshalJSON implements json.Unmarshaler.
func (s *some[T]) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('[') {
		return errors.New("want a list")
	}
	for dec.More() {
		if len(*s) == maxListed {
			return errMany
		}
		var one T
		if err := dec.Decode(&one); err != nil {
			return err
		}
		*s = append(*s, one)
	}
	return nil
}
