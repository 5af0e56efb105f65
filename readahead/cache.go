package readahead

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Options says how a Cache works. Zero values mean what is written.
type Options struct {
	Portion int64            // bytes of a portion; 0: 256 KiB
	Quota   int64            // bytes of all cells; 0: 1 GiB
	Ahead   int              // portions fetched ahead of a read; 0: 1; negative: none
	Fetches int              // fetches at once; 0: 4
	Now     func() time.Time // nil: time.Now
}

// File is a file to be read through a cache. Name and Version together name its
// content: another version of it shares nothing.
type File struct {
	Name    string
	Version string
	Size    int64
	From    io.ReaderAt
}

// Stats counts what a cache has done.
type Stats struct {
	Hits, Late, Misses int64 // reads of a portion: held; on its way; fetched for this read
	Ahead, Used        int64 // portions fetched ahead, and of these read since
	Fetched            int64 // bytes that came from files
	Damaged            int64 // cells whose data was not what had been written
	Unwritten          int64 // portions that could not be kept: disk full or broken
	Looking            bool  // look-ahead is on
}

// Cache keeps portions of files in a directory. It is safe for many goroutines;
// a directory belongs to one process at a time.
type Cache struct {
	options Options
	gate    *gate
	life    context.Context
	end     context.CancelFunc
	ahead   sync.WaitGroup

	mu      sync.Mutex
	store   *store
	table   *Table
	spill   spill
	flights map[Slot]*flight
	files   map[string]int // number by name and version
	next    int            // the next file's number
	benefit *Benefit
	stats   Stats
}

// flight is a portion on its way.
type flight struct {
	done     chan struct{}
	data     []byte
	err      error
	demanded bool // guarded by the cache's mutex
}

// ErrClosed says that the cache was closed.
var ErrClosed = errors.New("the cache is closed")

// Open opens or makes the cache in a directory. What a crash left half written is dropped.
func Open(dir string, o Options) (*Cache, error) {
	o = o.withDefaults()
	cells := int(min(o.Quota/o.Portion, 1<<22))
	if cells < 1 {
		return nil, fmt.Errorf("quota %d: less than one portion of %d bytes", o.Quota, o.Portion)
	}
	st, err := openStore(dir, o.Portion, cells)
	if err != nil {
		return nil, fmt.Errorf("read-ahead cache: %w", err)
	}
	c := &Cache{
		options: o, gate: newGate(o.Fetches), store: st, table: newTable(cells), flights: map[Slot]*flight{},
		files: map[string]int{}, benefit: newBenefit(0),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.adopt()
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Portion <= 0 {
		o.Portion = 256 << 10
	}
	if o.Quota <= 0 {
		o.Quota = 1 << 30
	}
	if o.Ahead == 0 {
		o.Ahead = 1
	}
	if o.Fetches <= 0 {
		o.Fetches = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// adopt gives the entries of the index their cells in the table.
func (c *Cache) adopt() {
	c.table.Restore(func(s Slot) (Portion, bool) {
		e, ok := c.store.live[s]
		if !ok {
			return Portion{}, false
		}
		return Portion{File: c.number(e.File), Index: e.Portion}, true
	})
}

// number returns the number of a file's name and version.
func (c *Cache) number(name string) int {
	n, ok := c.files[name]
	if !ok {
		if len(c.files) > 2*c.table.room+4096 {
			c.forgetFiles()
		}
		n = c.next
		c.files[name], c.next = n, n+1
	}
	return n
}

// forgetFiles forgets the numbers of files of which nothing is held: whoever
// names files without end does not fill the memory. One that comes again gets
// another number.
func (c *Cache) forgetFiles() {
	held := map[int]bool{}
	for p := range c.table.where {
		held[p.File] = true
	}
	for name, n := range c.files {
		if !held[n] {
			delete(c.files, name)
		}
	}
}

// Close waits for fetches under way and gives the directory free.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.end() // nobody begins a fetch after that
	c.mu.Unlock()
	c.ahead.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.close()
}

// Stats returns what the cache has done so far.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Looking = c.options.Ahead > 0 && c.benefit.On()
	return s
}

// Reader returns a reader of a file through the cache. It needs no closing.
func (c *Cache) Reader(f File) *Reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := f.Name + "\x00" + f.Version
	return &Reader{cache: c, file: f, name: name, number: c.number(name)}
}

// Reader reads one file through a cache.
type Reader struct {
	cache  *Cache
	file   File
	name   string
	number int
	last   atomic.Pointer[piece] // what was read last: small reads of a portion are one read of it
}

// piece is a portion in memory.
type piece struct {
	index int64
	data  []byte
}

// Size returns the size of the file.
func (r *Reader) Size() int64 { return r.file.Size }

// ReadAt reads as io.ReaderAt asks.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	return r.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that stops waiting when the context ends.
func (r *Reader) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("%s: offset %d", r.file.Name, off)
	}
	size := r.cache.options.Portion
	for n < len(p) {
		at := off + int64(n)
		if at >= r.file.Size {
			return n, io.EOF
		}
		data, err := r.portion(ctx, at/size)
		if err != nil {
			return n, err
		}
		if at%size >= int64(len(data)) {
			return n, io.ErrUnexpectedEOF
		}
		n += copy(p[n:], data[at%size:])
	}
	return n, nil
}

// portion returns a portion: the one read last, or through the cache.
func (r *Reader) portion(ctx context.Context, index int64) ([]byte, error) {
	if p := r.last.Load(); p != nil && p.index == index && r.cache.life.Err() == nil {
		return p.data, ctx.Err()
	}
	data, err := r.cache.read(ctx, r, index)
	if err == nil {
		r.last.Store(&piece{index, data})
	}
	return data, err
}

// length returns how many bytes a portion has.
func (r *Reader) length(index int64) int {
	size := r.cache.options.Portion
	return int(min(size, r.file.Size-index*size))
}
