package managers_test

import (
	"fmt"
	"io"
	"os"
)

func readFile[T any](file string, read func(io.Reader) (T, error)) (v T, err error) {
	in, err := os.Open(file)
	if err != nil {
		return v, err
	}
	defer in.Close()
	if v, err = read(in); err != nil {
		return v, fmt.Errorf("%s: %w", file, err)
	}
	return v, nil
}
