package managers_test

import (
	"io"
	"os"
	"testing"
)

func readFile[T any](t *testing.T, file string, read func(io.Reader) (T, error)) T {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	v, err := read(in)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}
