package desk

import (
	"errors"
	"fmt"

	"gridbroker/foreign"
)

// some are the jobs of one request, or their names.
type some[T any] []T

// errMany is that a request is about more jobs than it may be.
var errMany = fmt.Errorf("more than %d jobs in one request", maxListed)

// UnmarshalJSON implements json.Unmarshaler.
func (s *some[T]) UnmarshalJSON(text []byte) (err error) {
	if *s, err = foreign.List[T](text, maxListed); errors.Is(err, foreign.ErrMany) {
		return errMany
	}
	return err
}
