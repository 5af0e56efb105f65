package readahead

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowFile is a file whose every read takes a while, and may fail.
type slowFile struct {
	data  []byte
	delay time.Duration
	reads atomic.Int64
	fail  func(off int64) error
}

func (f *slowFile) ReadAt(p []byte, off int64) (int, error) {
	f.reads.Add(1)
	time.Sleep(f.delay)
	if f.fail != nil {
		if err := f.fail(off); err != nil {
			return 0, err
		}
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func testFile(size int) *slowFile {
	rng := rand.New(rand.NewPCG(1, 2))
	f := &slowFile{data: make([]byte, size)}
	for i := range f.data {
		f.data[i] = byte(rng.Uint32())
	}
	return f
}

func open(t *testing.T, dir string, o Options) *Cache {
	t.Helper()
	c, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever the order of reads, evictions and restarts: what is read is what the file has.
func TestReadsEqualTheFile(t *testing.T) {
	f, dir := testFile(50_123), t.TempDir()
	for round := range 3 {
		c := open(t, dir, Options{Portion: 1000, Quota: 8000, Ahead: 2})
		var wait sync.WaitGroup
		for g := range 6 {
			wait.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				r := c.Reader(File{Name: "f", Size: int64(len(f.data)), From: f})
				for range 300 {
					off := rng.Int64N(51_000)
					buf := make([]byte, rng.IntN(4000))
					n, err := r.ReadAt(buf, off)
					want := f.data[min(off, int64(len(f.data))):min(off+int64(len(buf)), int64(len(f.data)))]
					if !bytes.Equal(buf[:n], want) || n < len(buf) && !errors.Is(err, io.EOF) || n == len(buf) && err != nil {
						t.Errorf("read of %d at %d: %d bytes, %v", len(buf), off, n, err)
					}
				}
			})
		}
		wait.Wait()
		if n := c.table.Len(); n > 8 {
			t.Errorf("%d cells in use, the quota is 8", n)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoReadersOneRequest(t *testing.T) {
	f := testFile(4000)
	f.delay = 30 * time.Millisecond
	c := open(t, t.TempDir(), Options{Portion: 1000, Ahead: -1})
	defer c.Close()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			r := c.Reader(File{Name: "f", Size: 4000, From: f})
			if _, err := r.ReadAt(make([]byte, 10), 2000); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := f.reads.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// The error of a fetch ahead goes to nobody; who needs the portion tries for himself.
func TestErrorsGoToWhoNeedsThem(t *testing.T) {
	f := testFile(4000)
	var broken atomic.Bool
	broken.Store(true)
	f.fail = func(off int64) error {
		if off >= 1000 && broken.Load() {
			return errors.New("network is down")
		}
		return nil
	}
	c := open(t, t.TempDir(), Options{Portion: 1000, Ahead: 1})
	defer c.Close()
	r := c.Reader(File{Name: "f", Size: 4000, From: f})
	if _, err := r.ReadAt(make([]byte, 1000), 0); err != nil {
		t.Fatalf("the look-ahead failed, and the read with it: %v", err)
	}
	if _, err := r.ReadAt(make([]byte, 1000), 1000); err == nil {
		t.Fatal("no error where the file cannot be read")
	}
	broken.Store(false)
	buf := make([]byte, 1000)
	if _, err := r.ReadAt(buf, 1000); err != nil || !bytes.Equal(buf, f.data[1000:2000]) {
		t.Fatalf("after the network came back: %v", err)
	}
}

// A crash can end the index anywhere, and spoil any cell: nothing wrong is ever read.
func TestCrashes(t *testing.T) {
	f, dir := testFile(10_000), t.TempDir()
	c := open(t, dir, Options{Portion: 1000, Quota: 20_000})
	file := File{Name: "f", Version: "1", Size: 10_000, From: f}
	if _, err := c.Reader(file).ReadAt(make([]byte, 10_000), 0); err != nil {
		t.Fatal(err)
	}
	c.Close()
	index, _ := os.ReadFile(filepath.Join(dir, "index"))
	cells, _ := os.ReadFile(filepath.Join(dir, "cells"))
	for cut := 0; cut <= len(index); cut += 7 {
		os.WriteFile(filepath.Join(dir, "index"), index[:cut], 0o600)
		spoilt := bytes.Clone(cells)
		spoilt[(cut*37)%len(spoilt)] ^= 1
		os.WriteFile(filepath.Join(dir, "cells"), spoilt, 0o600)
		c := open(t, dir, Options{Portion: 1000, Quota: 20_000})
		buf := make([]byte, 10_000)
		if _, err := c.Reader(file).ReadAt(buf, 0); err != nil || !bytes.Equal(buf, f.data) {
			t.Fatalf("index cut at %d: wrong data, %v", cut, err)
		}
		c.Close()
	}
	other := testFile(10_000)
	other.data[0] ^= 1
	c = open(t, dir, Options{Portion: 1000, Quota: 20_000})
	defer c.Close()
	buf := make([]byte, 10)
	c.Reader(File{Name: "f", Version: "2", Size: 10_000, From: other}).ReadAt(buf, 0)
	if !bytes.Equal(buf, other.data[:10]) {
		t.Error("another version of the file got the old one's data")
	}
}

func TestKeptOverRestarts(t *testing.T) {
	f, dir := testFile(10_000), t.TempDir()
	for range 2 {
		c := open(t, dir, Options{Portion: 1000, Quota: 20_000})
		if _, err := c.Reader(File{Name: "f", Size: 10_000, From: f}).ReadAt(make([]byte, 10_000), 0); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if n := f.reads.Load(); n != 10 {
		t.Errorf("%d requests for ten portions", n)
	}
}

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("second cache in one directory: %v", err)
	}
	c.Close()
	open(t, dir, Options{}).Close()
}

// In virtual time: a wait ends with its reader's context, not with the fetch.
func TestContextEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFile(2000)
		f.delay = 300 * time.Millisecond
		c := open(t, t.TempDir(), Options{Portion: 1000})
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := c.Reader(File{Name: "f", Size: 2000, From: f}).ReadAtContext(ctx, make([]byte, 10), 0)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// 300 reads of blocks of four files, half of which go on where the last one of
// the file ended, remote to local as 110 to 1. In virtual time only the waits
// for the source count; -v also shows what this machine takes.
func TestMeasuredCase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if ratio := measuredCase(t); ratio > 0.55 {
			t.Errorf("ratio %.3f, want at most 0.55", ratio)
		}
	})
	if testing.Verbose() {
		measuredCase(t)
	}
}

// measuredCase returns the time of the reads with both caches over that without.
func measuredCase(t *testing.T) float64 {
	const block = 4096
	params := DefaultParams()
	params.Blocks = 200
	var files [4]*slowFile
	for i := range files {
		files[i] = testFile(int(params.Blocks) * block)
		files[i].delay = 9 * time.Millisecond
	}
	system := open(t, t.TempDir(), Options{Portion: block, Fetches: 16})
	node := open(t, t.TempDir(), Options{Portion: block, Fetches: 16})
	defer system.Close()
	defer node.Close()
	run := func(cached bool) time.Duration {
		g := newProgram(&params, 1, 0)
		began, buf := time.Now(), make([]byte, block)
		for range params.Ops {
			op := g.next()
			f := files[op.file]
			var from io.ReaderAt = f
			if cached {
				size := int64(len(f.data))
				name := string(rune('a' + op.file))
				from = node.Reader(File{Name: name, Size: size, From: system.Reader(File{Name: name, Size: size, From: f})})
			}
			if _, err := from.ReadAt(buf, op.block*block); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	with, without := run(true), run(false)
	t.Logf("with %v, without %v: %.3f; %+v", with, without, float64(with)/float64(without), node.Stats())
	return float64(with) / float64(without)
}

// Demand goes before look-ahead at a narrow link: in virtual time each of two
// reads waits for the fetch under way and its own.
func TestDemandFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFile(100_000)
		f.delay = 5 * time.Millisecond
		c := open(t, t.TempDir(), Options{Portion: 1000, Ahead: 30, Fetches: 1})
		defer c.Close()
		r := c.Reader(File{Name: "f", Size: 100_000, From: f})
		r.ReadAt(make([]byte, 10), 0) // thirty fetches ahead queue up
		began := time.Now()
		r.ReadAt(make([]byte, 10), 90_000)
		r.ReadAt(make([]byte, 10), 28_000)
		if took := time.Since(began); took > 20*time.Millisecond {
			t.Errorf("two reads took %v behind look-ahead", took)
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("00000000 grid read-ahead cells 1 portion 1000\n"))
	f.Fuzz(func(t *testing.T, index []byte) {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, "index"), index, 0o600)
		c, err := Open(dir, Options{Portion: 1000, Quota: 5000})
		if err != nil {
			t.Fatal(err)
		}
		file := testFile(3000)
		buf := make([]byte, 3000)
		if _, err := c.Reader(File{Name: "f", Size: 3000, From: file}).ReadAt(buf, 0); err != nil || !bytes.Equal(buf, file.data) {
			t.Fatalf("wrong data: %v", err)
		}
		c.Close()
	})
}

// A directory that others can put files into is not used: what lies there would
// be believed, and a link there would be written through.
func TestCacheDirectoryOfOthers(t *testing.T) {
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(dir string) error{
		"all can write":         func(dir string) error { return os.Chmod(dir, 0o777) },
		"all can write, sticky": func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) },
		"a group can write":     func(dir string) error { return os.Chmod(dir, 0o770) },
		"another's":             func(dir string) error { return os.Chown(dir, 4711, 4711) },
	} {
		dir := t.TempDir()
		if err := open(dir); err != nil {
			t.Logf("%s: %v", name, err) // chown takes root
			continue
		}
		for _, file := range []string{"cells", "index.new", "lock"} {
			if err := os.Symlink(precious, filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := Open(dir, Options{}); err == nil {
			c.Close()
			t.Errorf("%s: used", name)
		}
		if text, _ := os.ReadFile(precious); string(text) != "precious" {
			t.Errorf("%s: the file that a link names is %q now", name, text)
		}
	}
}

// Files without end do not fill the memory, and what is held of one is found
// after others were forgotten.
func TestFilesWithoutEnd(t *testing.T) {
	c, err := Open(t.TempDir(), Options{Portion: 10, Quota: 1000, Ahead: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	kept := File{Name: "kept", Size: 10, From: strings.NewReader("0123456789")}
	b := make([]byte, 10)
	if _, err := c.Reader(kept).ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		c.Reader(File{Name: fmt.Sprint("f", i), Size: 10, From: strings.NewReader("xxxxxxxxxx")})
	}
	if len(c.files) > 5000 {
		t.Errorf("%d files are remembered, with 100 cells", len(c.files))
	}
	if _, err := c.Reader(kept).ReadAt(b, 0); err != nil || string(b) != "0123456789" || c.Stats().Hits != 1 {
		t.Errorf("%q %v %+v", b, err, c.Stats())
	}
}

// Small reads of a portion are one read of it, also where the disk is full and no
// portion can be kept: the file is fetched once and not once for each of them.
func TestSmallReadsOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	f := testFile(64_000)
	c := open(t, t.TempDir(), Options{Portion: 8000, Ahead: -1})
	defer c.Close()
	c.store.cells.Close()
	c.store.cells = full
	r, got, piece := c.Reader(File{Name: "f", Size: 64_000, From: f}), []byte(nil), make([]byte, 1000)
	for off := int64(0); off < 64_000; off += 1000 {
		n, err := r.ReadAt(piece, off)
		if err != nil {
			t.Fatal(off, err)
		}
		got = append(got, piece[:n]...)
	}
	if s := c.Stats(); !bytes.Equal(got, f.data) || s.Fetched != 64_000 || s.Unwritten == 0 {
		t.Errorf("the same: %v; %+v", bytes.Equal(got, f.data), s)
	}
}

// Readers that each read a little, as requests to a cache that is shared do, share the portions that a full
// disk does not take, the last few of them, and use those that were fetched ahead.
func TestReadersShareWhatAFullDiskDoesNotTake(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	const portion, size = 1 << 20, 20 << 20
	f := testFile(size)
	c := open(t, t.TempDir(), Options{Portion: portion, Ahead: 1})
	defer c.Close()
	c.store.cells.Close()
	c.store.cells = full
	for pass := range int64(2) {
		for off := int64(0); off < size; off += portion / 8 {
			piece := make([]byte, portion/8)
			if _, err := c.Reader(File{Name: "f", Size: size, From: f}).ReadAt(piece, off); err != nil || !bytes.Equal(piece, f.data[off:off+portion/8]) {
				t.Fatalf("at %d: %v", off, err)
			}
		}
		s := c.Stats()
		if s.Fetched > (pass+1)*size || s.Unwritten == 0 || s.Used == 0 {
			t.Errorf("%d bytes are fetched of a file of %d read %d times: %+v", s.Fetched, size, pass+1, s)
		}
		c.mu.Lock()
		if n := len(c.spill.data); n > maxSpill/portion || c.table.Len() > n+1 {
			t.Errorf("%d portions are in memory, %d in the table", n, c.table.Len())
		}
		c.mu.Unlock()
	}
}

// sizedFile has bytes wherever it is read, and counts where that was.
type sizedFile struct {
	mu    sync.Mutex
	at    map[int64]int
	start chan struct{} // closed when reads may go on
}

func (f *sizedFile) ReadAt(p []byte, off int64) (int, error) {
	<-f.start
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at[off]++
	return len(p), nil
}

// A file that says it is as large as a number can be is read to its last byte, and nothing is fetched ahead beyond that.
func TestFileAsLargeAsANumber(t *testing.T) {
	c := open(t, t.TempDir(), Options{Portion: 1 << 18, Quota: 1 << 22, Ahead: 3})
	f := &sizedFile{at: map[int64]int{}, start: make(chan struct{})}
	close(f.start)
	r := c.Reader(File{Name: "f", Size: math.MaxInt64, From: f})
	for _, off := range []int64{0, math.MaxInt64 - 1<<18, math.MaxInt64 - 10, math.MaxInt64} {
		n, err := r.ReadAt(make([]byte, 100), off)
		if want := min(100, int(min(math.MaxInt64-off, 100))); n != want || err != nil && err != io.EOF {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for off := range f.at {
		if off < 0 {
			t.Errorf("read at %d", off)
		}
	}
}

// What was to be fetched ahead and has lost its cell to others before its turn came is not fetched.
func TestEvictedIsNotFetched(t *testing.T) {
	c := open(t, t.TempDir(), Options{Portion: 100, Quota: 400, Ahead: 3, Fetches: 1})
	f := &sizedFile{at: map[int64]int{}, start: make(chan struct{})}
	r := c.Reader(File{Name: "f", Size: 1 << 30, From: f})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, portion := range []int64{0, 1000, 2000, 3000} {
		if _, err := r.ReadAtContext(ctx, make([]byte, 10), portion*100); err == nil {
			t.Fatal("read while the source gives nothing")
		}
	}
	close(f.start)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		f.mu.Lock()
		n := len(f.at)
		f.mu.Unlock()
		if n >= 4 || time.Now().After(end) {
			break
		}
	}
	time.Sleep(50 * time.Millisecond)
	c.Close()
	if len(f.at) > 4+3+1 { // the first may have begun
		t.Errorf("of 4 portions demanded and a cache of 4 cells %d were fetched: %v", len(f.at), f.at)
	}
}
