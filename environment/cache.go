package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/durable"
)

// A Cache is the unpacked images of a node: one tree for each digest, made once however many jobs ask at once, in a
// folder that nobody but its owner can write. Below Dir lie trees/HEX, its record trees/HEX.json, locks/HEX and tmp.
//
// A tree appears whole, by rename, after its digests were checked; who dies while unpacking leaves something in tmp
// alone, and the next one who wants that digest removes it. A Tree in use is locked shared: it is not removed.
type Cache struct {
	Dir string
	// Quota bounds the bytes of all trees together; the longest unused go first. 0: 40 GB.
	Quota int64
	// Budget bounds one image; zero: DefaultBudget.
	Budget Budget
	// Fetch opens registries, for images of docker:// references; nil: those that are not cached are ErrNoRegistry.
	Fetch Fetch
	// Codec reads layers; nil: what is not cached is not made.
	Codec Codec
	// SpotCheck is how many uses go unchecked between two looks at a tree's listing, on average, see Tree.Check. 0: 50.
	SpotCheck int
	// Rand draws for SpotCheck; nil: the process's generator.
	Rand func(n int) int
	// Now tells the time of use; nil: time.Now.
	Now func() time.Time
}

// A Tree is an unpacked image that stays until Close.
type Tree struct {
	Path   string
	Digest string
	Fresh  bool // unpacked by this call
	lock   *os.File
	cache  *Cache // nil: a folder of the node, of which nobody knows what was in it
}

// Close lets the tree be removed when space is needed.
func (t *Tree) Close() error { return t.lock.Close() }

// A DeployError is an environment that this node could not make; another node or site may.
type DeployError struct {
	Tag string
	Err error
}

func (e *DeployError) Error() string {
	return fmt.Sprintf("environment %s cannot be deployed: %v", e.Tag, e.Err)
}

// Unwrap gives the cause.
func (e *DeployError) Unwrap() error { return e.Err }

// Tree gives the unpacked image of a definition, unpacking it if no one has. The caller closes it when the job has
// ended. Errors are *DeployError.
func (c *Cache) Tree(ctx context.Context, d *Definition) (*Tree, error) {
	t, err := c.tree(ctx, d)
	if err != nil {
		return nil, &DeployError{d.Tag, err}
	}
	return t, nil
}

func (c *Cache) tree(ctx context.Context, d *Definition) (*Tree, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	for fresh := false; ; {
		lock, err := c.lock(ctx, d.Digest, unix.F_RDLCK)
		if err != nil {
			return nil, err
		}
		if c.usable(d.Digest) {
			now := c.now()
			os.Chtimes(lock.Name(), now, now) // the use, for LRU; only the owner's count
			return &Tree{Path: c.path(d.Digest), Digest: d.Digest, Fresh: fresh, lock: lock, cache: c}, nil
		}
		lock.Close()
		if fresh, err = c.make(ctx, d); err != nil {
			return nil, err
		}
	}
}

// Cached tells whether a digest is unpacked here.
func (c *Cache) Cached(digest string) bool {
	_, err := os.Stat(c.path(digest))
	return validDigest(digest) && err == nil
}

// usable tells whether the tree is there and nobody has found it changed.
func (c *Cache) usable(digest string) bool {
	if !c.Cached(digest) {
		return false
	}
	_, err := os.Stat(c.path(digest) + ".json")
	return err == nil
}

// Check looks, one time in SpotCheck, whether the tree is still what was unpacked. It reads some thousand entries and so
// is for after a job's end. A tree that was changed is a *PoisonedError, and is unpacked anew for the next job. Only the
// cache's owner looks: others may not read every folder of a system, nor take a tree out of use.
func (t *Tree) Check() error {
	var st unix.Stat_t
	if err := unix.Stat(t.Path, &st); t.cache == nil || err != nil || int(st.Uid) != os.Geteuid() {
		return nil
	}
	every := t.cache.SpotCheck
	if every == 0 {
		every = 50
	}
	draw := t.cache.Rand
	if draw == nil {
		draw = rand.IntN
	}
	if draw(every) != 0 {
		return nil
	}
	err := t.cache.Verify(t.Digest)
	if _, ok := errors.AsType[*PoisonedError](err); ok {
		return errors.Join(err, os.Remove(t.cache.path(t.Digest)+".json")) // without its record nobody uses it
	}
	return err
}

// make unpacks under the exclusive lock; fresh is false where another did it meanwhile.
func (c *Cache) make(ctx context.Context, d *Definition) (fresh bool, err error) {
	if c.Codec == nil {
		return false, errNoCodec
	}
	lock, err := c.lock(ctx, d.Digest, unix.F_WRLCK)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if c.Cached(d.Digest) {
		if c.Verify(d.Digest) == nil {
			return false, nil
		}
		if err := c.discard(d.Digest); err != nil {
			return false, err
		}
	}
	sweep(c, d.Digest)
	img, err := c.open(ctx, d)
	if err != nil {
		return false, err
	}
	img.codec = c.Codec
	if err := c.makeRoom(ctx, img); err != nil {
		return false, err
	}
	return true, c.unpack(ctx, d.Digest, img)
}

func (c *Cache) open(ctx context.Context, d *Definition) (*image, error) {
	ref, err := parseReference(d.Image)
	if err != nil {
		return nil, err
	}
	switch ref.scheme {
	case "tree":
		return openTree(ref.place, d.Digest), nil
	case "oci":
		return openManifest(ctx, OpenLayout(ref.place), d.Digest, runtime.GOARCH)
	}
	if c.Fetch == nil {
		return nil, ErrNoRegistry
	}
	get, err := c.Fetch(ref.place)
	if err != nil {
		return nil, err
	}
	return openManifest(ctx, get, d.Digest, runtime.GOARCH)
}

// unpack makes the tree beside its place and renames it there.
func (c *Cache) unpack(ctx context.Context, digest string, img *image) (err error) {
	tmp, err := os.MkdirTemp(filepath.Join(c.Dir, "tmp"), hexOf(digest)+".")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeTree(tmp))
		}
	}()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return err
	}
	defer root.Close()
	budget := c.Budget
	if budget == (Budget{}) {
		budget = DefaultBudget
	}
	if err := img.unpack(ctx, root, budget); err != nil {
		return err
	}
	return c.publish(tmp, digest)
}

// publish writes the tree's record and gives the tree its name, once everything is on the disk.
func (c *Cache) publish(tmp, digest string) error {
	rec, err := readListing(tmp)
	if err != nil {
		return err
	}
	rec.Made = c.now().UTC()
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Join(c.Dir, "trees"))
	if err != nil {
		return err
	}
	defer dir.Close()
	record := c.path(digest) + ".json"
	if err := errors.Join(os.WriteFile(record, text, 0o644), os.Chmod(record, 0o644)); err != nil {
		return err
	}
	if err := syncDisk(dir); err != nil {
		return err
	}
	if err := os.Rename(tmp, c.path(digest)); err != nil {
		return err
	}
	return dir.Sync()
}

// prepare makes the cache's folders and refuses a cache that others could write, or put another one in the place of.
func (c *Cache) prepare() error {
	for _, dir := range []string{c.Dir, c.sub("trees"), c.sub("locks"), c.sub("tmp")} {
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.MkdirAll(dir, 0o755)
		}
		if err == nil {
			err = os.Chmod(dir, 0o755) // whatever the mask of the job that came first: root's cache is for all to use
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := checkOwner(dir); err != nil {
			return err
		}
	}
	at, why, err := durable.OthersCanExchange(c.Dir, os.Geteuid())
	if err == nil && at != "" {
		err = fmt.Errorf("others could put another cache in the place of %s: of %s, %s: name a folder that lies in folders of yours or root's", c.Dir, at, why)
	}
	return err
}

// checkOwner accepts a folder of this user or of root that nobody else may write.
func checkOwner(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is no folder", dir)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to uid %d: a cache is taken from its own user or root alone", dir, st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("%s may be written by others (mode %04o): chmod go-w", dir, st.Mode&0o7777)
	}
	return nil
}

// lock takes the lock of a digest, shared (unix.F_RDLCK) or alone (unix.F_WRLCK); it waits for another process as long as
// ctx lives. Whoever may read the cache can share a lock; to take it alone takes the right to write, so that neighbours
// cannot keep a shared cache's jobs from starting (locks of open files, fcntl(2)).
func (c *Cache) lock(ctx context.Context, digest string, how int16) (*os.File, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		f, err := c.tryLock(digest, how)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// errLocked is a digest that another process uses or makes.
var errLocked = errors.New("in use")

func (c *Cache) tryLock(digest string, how int16) (*os.File, error) {
	if !validDigest(strings.TrimSuffix(digest, fetching)) {
		return nil, fmt.Errorf("%q is no sha256 digest", digest)
	}
	name, mode := filepath.Join(c.sub("locks"), hexOf(digest)), os.O_RDONLY
	if how == unix.F_WRLCK {
		mode = os.O_RDWR
	}
	f, err := os.OpenFile(name, mode, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(name, mode|os.O_CREATE, 0o644); err == nil {
			err = f.Chmod(0o644)
		}
	}
	if err != nil {
		return nil, err
	}
	err = lockFile(f, how)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EINTR) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

func (c *Cache) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

func (c *Cache) sub(name string) string    { return filepath.Join(c.Dir, name) }
func (c *Cache) path(digest string) string { return filepath.Join(c.Dir, "trees", hexOf(digest)) }
func hexOf(digest string) string           { return strings.TrimPrefix(digest, "sha256:") }
