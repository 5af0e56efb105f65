package readahead

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A closed cache says so to whoever reads: what it holds is not damaged, and no fetch begins any more.
func TestClosedCache(t *testing.T) {
	f, dir := testFile(3000), t.TempDir()
	c := open(t, dir, Options{Portion: 1000, Quota: 5000, Ahead: -1})
	file := File{Name: "f", Size: 3000, From: f}
	if _, err := c.Reader(file).ReadAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	reads := f.reads.Load()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{0, 1000} {
		if _, err := c.Reader(file).ReadAt(make([]byte, 10), off); !errors.Is(err, ErrClosed) {
			t.Errorf("a read at %d of a closed cache: %v", off, err)
		}
	}
	if s := c.Stats(); s.Damaged != 0 || f.reads.Load() != reads {
		t.Errorf("%d portions are damaged, %d were fetched after the end", s.Damaged, f.reads.Load()-reads)
	}
	c = open(t, dir, Options{Portion: 1000, Quota: 5000, Ahead: -1})
	defer c.Close()
	if _, err := c.Reader(file).ReadAt(make([]byte, 10), 0); err != nil || f.reads.Load() != reads {
		t.Errorf("what was held before: %v, %d fetches", err, f.reads.Load()-reads)
	}
}

// A reader that waits no longer leaves alone what comes later. The race detector sees whether it does: nothing
// but time orders the end of its wait and that of the fetch.
func TestLeavesAlone(t *testing.T) {
	f := testFile(1000)
	f.delay = 60 * time.Millisecond
	c := open(t, t.TempDir(), Options{Portion: 1000, Quota: 5000})
	r := c.Reader(File{Name: "f", Size: 1000, From: f})
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := r.ReadAt(make([]byte, 10), 0); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(f.delay / 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if n, err := r.ReadAtContext(ctx, make([]byte, 10), 0); err != nil && n != 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	first.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
