package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Errors of List.
var (
	ErrNoList = errors.New("want a list")
	ErrMany   = errors.New("the list is too long")
)

// List reads a list of JSON of at most so many elements, one by one: one of more takes a hundred times
// its bytes in memory before it can be counted. The error is ErrNoList, ErrMany or an element's.
func List[T any](text []byte, most int) (list []T, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('[') {
		return nil, ErrNoList
	}
	for dec.More() {
		if len(list) == most {
			return nil, ErrMany
		}
		var one T
		if err := dec.Decode(&one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
