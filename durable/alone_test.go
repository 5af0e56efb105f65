package durable_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
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

// TestLock: who waits for the lock of a file goes on when nobody wants it any more, and is told what ended the wait.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "lock")
		var files [2]*os.File
		for i := range files {
			f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			files[i] = f
		}
		if err := durable.Lock(t.Context(), files[0]); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := durable.Lock(ctx, files[1]); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := durable.Lock(t.Context(), files[1]); err == nil || errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 30*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
