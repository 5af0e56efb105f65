package infosys

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"time"

	"gridbroker/glue"
)

// maxCacheFile bounds what is read of one cached answer.
const maxCacheFile = 256 << 20

// Cache keeps the last good answer of each source in a directory of its own.
// Files are written whole or not at all, mode 0600; one of another version of
// the program is not read. A cache that cannot be
// read or written is as good as none: it never makes a collection fail.
type Cache struct{ dir string }

// NewCache makes a cache in dir, which is made when first written to.
func NewCache(dir string) *Cache { return &Cache{dir: dir} }

func (c *Cache) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:12])+".grid")
}

// A file is the key's length and text, the time of fetching in Unix
// nanoseconds (both little-endian), and what glue.Pack made of the resources.

func (c *Cache) load(key string) (fetched time.Time, rs []glue.Resource, ok bool) {
	f, err := os.Open(c.path(key))
	if err != nil {
		return time.Time{}, nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxCacheFile || !info.Mode().IsRegular() {
		return time.Time{}, nil, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCacheFile))
	head := cacheHead(key, time.Time{})
	if err != nil || len(data) < len(head) || string(data[:len(head)-8]) != string(head[:len(head)-8]) {
		return time.Time{}, nil, false
	}
	nanos := int64(binary.LittleEndian.Uint64(data[len(head)-8:]))
	rs, err = glue.Unpack(data[len(head):])
	return time.Unix(0, nanos), rs, err == nil
}

func (c *Cache) save(key string, fetched time.Time, rs []glue.Resource) {
	_ = writeFile(c.path(key), append(cacheHead(key, fetched), glue.Pack(rs)...))
}

func cacheHead(key string, fetched time.Time) []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(key)))
	head = append(head, key...)
	return binary.LittleEndian.AppendUint64(head, uint64(fetched.UnixNano()))
}

// writeFile replaces a file in one step, mode 0600, making its directory.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
