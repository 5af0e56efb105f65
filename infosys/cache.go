package infosys

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"gridbroker/durable"
	"gridbroker/glue"
	"gridbroker/glue/packed"
)

// maxCacheFile bounds what is read of one cached answer.
const maxCacheFile = 256 << 20

// newFile begins the names of files that are being written.
const newFile = ".new-"

// cacheKeep is for how long an answer is kept that nobody renews.
const cacheKeep = 30 * 24 * time.Hour

// Cache keeps the last good answer of each source in a directory of its own.
// Files are written whole or not at all, mode 0600; one of another version of
// the program, or in which a bit has changed, is not read. A cache that cannot be
// read or written is as good as none: it never makes a collection fail.
type Cache struct{ dir string }

// NewCache makes a cache in dir, which is made when first written to.
func NewCache(dir string) *Cache { return &Cache{dir: dir} }

func (c *Cache) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:12])+".grid")
}

// saved is an answer in the cache. err is a glue.LimitError, if any.
type saved struct {
	fetched time.Time
	rs      []glue.Resource
	err     error
}

// A file is the key's length and text, the time of fetching in Unix
// nanoseconds (both little-endian), the text of the error and its length in
// two bytes before it, the checksum of key, time and error, and what packed.Write made of the resources, with its own.

// load reads an answer that is not older than since.
func (c *Cache) load(key string, since time.Time) (a saved, ok bool) {
	f, err := durable.Open(c.path(key))
	if err != nil {
		return saved{}, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxCacheFile {
		return saved{}, false
	}
	want := cacheHead(key, time.Time{})
	head := make([]byte, len(want))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head[:len(head)-8], want[:len(want)-8]) {
		return saved{}, false
	}
	a.fetched = time.Unix(0, int64(binary.LittleEndian.Uint64(head[len(head)-8:])))
	if a.fetched.Before(since) {
		return saved{}, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCacheFile))
	if err != nil || len(data) < 2 || len(data)-2 < int(binary.LittleEndian.Uint16(data)) {
		return saved{}, false
	}
	remark, data := data[2:2+binary.LittleEndian.Uint16(data)], data[2+binary.LittleEndian.Uint16(data):]
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != sumOf(head, remark) {
		return saved{}, false
	}
	data = data[4:]
	if len(remark) > 0 {
		a.err = glue.LimitError(remark)
	}
	a.rs, err = packed.Unpack(data)
	return a, err == nil
}

// save keeps an answer, and removes what has long been of no use.
func (c *Cache) save(key string, a saved) {
	var remark string
	if a.err != nil {
		remark = a.err.Error()
		remark = remark[:min(len(remark), math.MaxUint16)]
	}
	head := cacheHead(key, a.fetched)
	sum := sumOf(head, []byte(remark))
	head = append(binary.LittleEndian.AppendUint16(head, uint16(len(remark))), remark...)
	head = binary.LittleEndian.AppendUint32(head, sum)
	err := writeFile(c.path(key), func(w io.Writer) error {
		w = &atMost{w, maxCacheFile}
		if _, err := w.Write(head); err != nil {
			return err
		}
		return packed.Write(w, a.rs)
	})
	if err != nil {
		return
	}
	durable.Sweep(c.dir, newFile)
	old, _ := durable.Named(c.dir, "*.grid")
	for _, path := range old {
		if info, err := os.Lstat(path); err == nil && a.fetched.Sub(info.ModTime()) > cacheKeep {
			_ = os.Remove(path)
		}
	}
}

func cacheHead(key string, fetched time.Time) []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(key)))
	head = append(head, key...)
	return binary.LittleEndian.AppendUint64(head, uint64(fetched.UnixNano()))
}

// sumOf is the checksum of what stands before the resources: a time that has changed on the disk would make an old answer
// a fresh one.
func sumOf(head, remark []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, remark)
}

// atMost is a writer that takes so many bytes.
type atMost struct {
	w    io.Writer
	room int
}

// Write implements io.Writer.
func (a *atMost) Write(b []byte) (int, error) {
	if a.room -= len(b); a.room < 0 {
		return 0, errTooLong
	}
	return a.w.Write(b)
}

// writeFile replaces a file in one step, mode 0600, making its directory.
func writeFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replaceFile(path, write)
}

// replaceFile is writeFile for a directory that is there.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), newFile+"*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
