package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A disk is what is known of the files below one directory while programs
// work there: what they see, and what of it would be there after the power
// was lost. It is as forgetful as POSIX allows: data is on disk when the file
// was synchronised, a name when its directory was; a rename is one change.
type disk struct {
	root  string
	top   *node
	marks int // changes so far
}

// A node is a file or a directory.
type node struct {
	dir     bool
	data    []*change // of a file: what was written, in order
	entries []*change // of a directory: what was named, in order
}

// A change is one write, truncation or change of a name.
type change struct {
	offset int64
	bytes  []byte // nil: truncated to offset

	named map[*node]map[string]*node // directory, name -> what it names from now on; nil: nothing

	durable bool
}

// newDisk is the disk with the files that lie below root now, all durable.
func newDisk(t *testing.T, root string) *disk {
	d := &disk{root: root, top: &node{dir: true}}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		dir, name := d.parent(path)
		n := &node{dir: e.IsDir()}
		if !n.dir {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n.data = []*change{{bytes: b, durable: true}}
		}
		c := d.name(dir, name, n)
		c.durable = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// seen is every change: what a process sees.
func seen(*change) bool { return true }

// kept is what was synchronised: the worst that a loss of power may leave.
func kept(c *change) bool { return c.durable }

// without is everything but a file's name where nothing has synchronised it.
func without(name string) func(*change) bool {
	return func(c *change) bool {
		if c.durable {
			return true
		}
		for _, names := range c.named {
			if _, ok := names[name]; ok {
				return false
			}
		}
		return true
	}
}

// some is what was synchronised and a random part of the rest.
func some(rng *rand.Rand) func(*change) bool {
	lost := map[*change]bool{}
	return func(c *change) bool {
		if c.durable {
			return true
		}
		gone, drawn := lost[c]
		if !drawn {
			gone = rng.IntN(2) == 0
			lost[c] = gone
		}
		return !gone
	}
}

// list is what the directory names.
func (n *node) list(have func(*change) bool) map[string]*node {
	out := map[string]*node{}
	for _, c := range n.entries {
		if !have(c) {
			continue
		}
		for name, to := range c.named[n] {
			if to == nil {
				delete(out, name)
			} else {
				out[name] = to
			}
		}
	}
	return out
}

// content is what the file holds.
func (n *node) content(have func(*change) bool) []byte {
	var b []byte
	for _, c := range n.data {
		if !have(c) {
			continue
		}
		if c.bytes == nil {
			b = resized(b, c.offset)
			continue
		}
		b = resized(b, max(int64(len(b)), c.offset+int64(len(c.bytes))))
		copy(b[c.offset:], c.bytes)
	}
	return b
}

func resized(b []byte, size int64) []byte {
	if int64(len(b)) >= size {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// at is the node of a path, nil where there is none or it lies elsewhere.
func (d *disk) at(path string) *node {
	rel, ok := d.below(path)
	if !ok {
		return nil
	}
	n := d.top
	for _, part := range rel {
		if n == nil {
			return nil
		}
		n = n.list(seen)[part]
	}
	return n
}

// below are the parts of a path below the root.
func (d *disk) below(path string) ([]string, bool) {
	if path == d.root {
		return nil, true
	}
	rel, ok := strings.CutPrefix(path, d.root+"/")
	return strings.Split(filepath.Clean(rel), "/"), ok
}

// parent is the directory that names the path.
func (d *disk) parent(path string) (*node, string) {
	return d.at(filepath.Dir(path)), filepath.Base(path)
}

func (d *disk) name(dir *node, name string, to *node) *change {
	c := &change{named: map[*node]map[string]*node{dir: {name: to}}}
	dir.entries = append(dir.entries, c)
	d.marks++
	return c
}

func (d *disk) write(n *node, offset int64, b []byte) {
	n.data = append(n.data, &change{offset: offset, bytes: b})
	d.marks++
}

// rename is one change, also between two directories.
func (d *disk) rename(from, to string) {
	what := d.at(from)
	a, x := d.parent(from)
	b, y := d.parent(to)
	c := &change{named: map[*node]map[string]*node{a: {x: nil}}}
	if b != a {
		c.named[b] = map[string]*node{}
	}
	c.named[b][y] = what
	a.entries = append(a.entries, c)
	if b != a {
		b.entries = append(b.entries, c)
	}
	d.marks++
}

// sync puts a file's data, or a directory's names, on disk.
func (d *disk) sync(n *node) {
	for _, c := range slices.Concat(n.data, n.entries) {
		if !c.durable {
			c.durable = true
			d.marks++
		}
	}
}

// syncAll puts everything on disk.
func (d *disk) syncAll() {
	d.sync(d.top)
	for _, n := range d.top.list(seen) {
		d.syncBelow(n)
	}
}

func (d *disk) syncBelow(n *node) {
	d.sync(n)
	for _, m := range n.list(seen) {
		d.syncBelow(m)
	}
}

// restore makes the directory what have leaves of it.
func (d *disk) restore(t *testing.T, have func(*change) bool) {
	t.Helper()
	if err := os.RemoveAll(d.root); err != nil {
		t.Fatal(err)
	}
	restore(t, d.root, d.top, have)
}

func restore(t *testing.T, path string, n *node, have func(*change) bool) {
	t.Helper()
	var err error
	if n.dir {
		err = os.Mkdir(path, 0o700)
	} else {
		err = os.WriteFile(path, n.content(have), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range n.list(have) {
		restore(t, filepath.Join(path, name), m, have)
	}
}

// compare tells where the disk as a process sees it is not what truly lies
// there: the model would be wrong. Files that are written through memory maps
// are left out.
func (d *disk) compare(t *testing.T) {
	t.Helper()
	real := newDisk(t, d.root)
	differ(t, d.root, d.top, real.top)
}

func differ(t *testing.T, path string, a, b *node) {
	t.Helper()
	if strings.HasSuffix(path, "-shm") {
		return
	}
	if a == nil || b == nil || a.dir != b.dir || !slices.Equal(a.content(seen), b.content(seen)) {
		t.Fatalf("the model of the disk is wrong about %s", path)
	}
	x, y := a.list(seen), b.list(seen)
	for name := range x {
		differ(t, filepath.Join(path, name), x[name], y[name])
	}
	for name := range y {
		differ(t, filepath.Join(path, name), x[name], y[name])
	}
}
