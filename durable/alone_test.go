package durable_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"gridbroker/durable"
)

// TestAlone: the second waits for the first, and gives up when nobody wants it any more.
func TestAlone(t *testing.T) {
	dir := t.TempDir()
	var roots [2]*os.Root
	for i := range roots {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		roots[i] = root
	}
	first, err := durable.Alone(t.Context(), roots[0])
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := durable.Alone(ctx, roots[1]); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("beside the first: %v", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { first.Close() })
	second, err := durable.Alone(t.Context(), roots[1])
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
}
