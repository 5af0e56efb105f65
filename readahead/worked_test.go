package readahead

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gridbroker/testdata/testbed"
)

// Look-ahead that gains nothing stops after its first window and is tried again after 16, 32, 64 windows without; one
// that gains stays. A window has 48 reads; each of these waits as long as a fetch takes, or not at all.
func TestWhenLookAheadIsTried(t *testing.T) {
	for wait, want := range map[float64]string{1: "[1 19 52 117]", 0: "120 windows"} {
		b := newBenefit(0)
		b.Fetched(1)
		b.Fetched(5)
		var on []int
		for window := 1; window <= 120; window++ {
			if b.On() {
				on = append(on, window)
			}
			was := b.On()
			for read := range benefitWindow {
				if b.On() != was {
					t.Fatalf("it changes at read %d of window %d", read, window)
				}
				b.Read(wait, true)
			}
		}
		got := fmt.Sprint(on)
		if len(on) == 120 {
			got = "120 windows"
		}
		if got != want {
			t.Errorf("reads that wait %g: on in %s, want %s", wait, got, want)
		}
	}
}

// As many fetches run at once as are allowed, and no more; those ahead come after all that are wanted now.
func TestFetchesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(3)
		var running, ahead atomic.Int64
		for range 5 {
			go func() { g.enter(func() bool { return true }); running.Add(1) }()
		}
		synctest.Wait()
		if n := running.Load(); n != 3 {
			t.Errorf("%d run, want 3", n)
		}
		go func() { g.enter(func() bool { return false }); ahead.Add(1) }()
		for left := range 2 {
			g.leave()
			synctest.Wait()
			if running.Load() != int64(4+left) || ahead.Load() != 0 {
				t.Errorf("after %d: %d on demand, %d ahead", left+1, running.Load(), ahead.Load())
			}
		}
		g.leave()
		synctest.Wait()
		if ahead.Load() != 1 {
			t.Error("the one ahead does not come")
		}
	})
}

// Ten portions read one after the other, then again by another reader: without look-ahead all are missed once and
// held then; with one portion ahead only the first is missed, and all that were fetched ahead are used.
func TestCountsOfTenPortions(t *testing.T) {
	testbed.Computes(t)
	for ahead, want := range map[int]Stats{
		-1: {Hits: 10, Misses: 10, Fetched: 1000},
		1:  {Hits: 19, Misses: 1, Ahead: 9, Used: 9, Fetched: 1000, Looking: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := testFile(1000)
			c := open(t, t.TempDir(), Options{Portion: 100, Ahead: ahead})
			defer c.Close()
			for range 2 {
				r := c.Reader(File{Name: "f", Size: 1000, From: f})
				for k := range int64(10) {
					if _, err := r.ReadAt(make([]byte, 100), 100*k); err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // what is fetched ahead is there
				}
			}
			if got := c.Stats(); got != want {
				t.Errorf("%d ahead: %+v, want %+v", ahead, got, want)
			}
		})
	}
}

// A cell gives its data for the file and the portion that are in it, and for no other.
func TestWhoseCellItIs(t *testing.T) {
	s, err := openStore(t.TempDir(), 10, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.put(2, "f", 7, []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		slot    Slot
		file    string
		portion int64
		ok      bool
	}{{2, "f", 7, true}, {2, "g", 7, false}, {2, "f", 8, false}, {1, "f", 7, false}} {
		if data, ok := s.get(c.slot, c.file, c.portion); ok != c.ok || ok && string(data) != "0123456789" {
			t.Errorf("%+v: %q, %v", c, data, ok)
		}
	}
}
