package infosys

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"gridbroker/glue"
)

// maxCacheFile bounds what is read of one cached answer, unpacked.
const maxCacheFile = 512 << 20

// cacheVersion is part of the file names: a program with another form of
// glue.Resource does not read what this one wrote.
const cacheVersion = "1"

// Cache keeps the last good answer of each source in a directory of its own.
// Files are written whole or not at all, mode 0600. A cache that cannot be
// read or written is as good as none: it never makes a collection fail.
type Cache struct{ dir string }

// NewCache makes a cache in dir, which is made when first written to.
func NewCache(dir string) *Cache { return &Cache{dir: dir} }

type cacheFile struct {
	Source    string
	Fetched   time.Time
	Resources []glue.Resource
}

func (c *Cache) path(source string) string {
	sum := sha256.Sum256([]byte(source))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:8])+".v"+cacheVersion)
}

func (c *Cache) load(source string) (fetched time.Time, rs []glue.Resource, ok bool) {
	f, err := os.Open(c.path(source))
	if err != nil {
		return time.Time{}, nil, false
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return time.Time{}, nil, false
	}
	var x cacheFile
	if json.NewDecoder(io.LimitReader(z, maxCacheFile)).Decode(&x) != nil || x.Source != source {
		return time.Time{}, nil, false
	}
	return x.Fetched, x.Resources, true
}

func (c *Cache) save(source string, fetched time.Time, rs []glue.Resource) {
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if json.NewEncoder(z).Encode(cacheFile{source, fetched, rs}) != nil || z.Close() != nil {
		return
	}
	_ = writeFile(c.path(source), buf.Bytes())
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
