package environment

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// made is a fixed time for entries of test images.
var made = time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)

// entry is one entry of a test layer.
type entry struct {
	name, link, body string
	records          map[string]string // of the PAX format
	kind             byte
	mode             int64
}

func file(name, body string) entry {
	return entry{name: name, body: body, kind: tar.TypeReg, mode: 0o644}
}
func dir(name string) entry { return entry{name: name, kind: tar.TypeDir, mode: 0o755} }
func symlink(name, to string) entry {
	return entry{name: name, link: to, kind: tar.TypeSymlink, mode: 0o777}
}
func hardlink(name, to string) entry {
	return entry{name: name, link: to, kind: tar.TypeLink, mode: 0o644}
}

// tarOf packs entries into a layer.
func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: e.mode, ModTime: made, Size: int64(len(e.body)), PAXRecords: e.records}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(raw)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed are layers that zstd has packed, by their digests.
var packed sync.Map

// packedOnce is zstdOf for layers that many tests have alike: packing one takes longer than its job.
func packedOnce(t testing.TB, raw []byte) []byte {
	digest := digestOf(raw)
	if text, ok := packed.Load(digest); ok {
		return text.([]byte)
	}
	text := zstdOf(t, raw)
	packed.Store(digest, text)
	return text
}

func gzipOf(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(raw)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// layoutOf writes an OCI image layout with one image of the given layers and gives the manifest's digest.
func layoutOf(t testing.TB, dir string, compress func(testing.TB, []byte) []byte, layers ...[]byte) string {
	t.Helper()
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(text []byte) string {
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		if err := os.WriteFile(filepath.Join(blobs, sum), text, 0o644); err != nil {
			t.Fatal(err)
		}
		return "sha256:" + sum
	}
	var c config
	var m manifest
	for _, raw := range layers {
		packed := compress(t, raw)
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, digestOf(raw))
		m.Layers = append(m.Layers, descriptor{Digest: put(packed), Size: int64(len(packed))})
	}
	text, _ := json.Marshal(c)
	m.Config = descriptor{Digest: put(text), Size: int64(len(text))}
	text, _ = json.Marshal(m)
	return put(text)
}

// unpackLayers unpacks plain layers into a new folder.
func unpackLayers(t testing.TB, budget Budget, layers ...[]byte) (string, error) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := newUnpacker(root, budget)
	for _, raw := range layers {
		if err := u.apply(t.Context(), bytes.NewReader(raw)); err != nil {
			return tree, err
		}
	}
	return tree, u.finish()
}
