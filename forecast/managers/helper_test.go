package managers_test

import (
	"fmt"
	"io"

	"gridbroker/testdata/reference"
)

func readFile[T any](file string, read func(io.Reader) (T, error)) (v T, err error) {
	in, err := reference.Open(file)
	if err != nil {
		return v, err
	}
	if v, err = read(in); err != nil {
		return v, fmt.Errorf("%s: %w", file, err)
	}
	return v, nil
}
