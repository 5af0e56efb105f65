package environment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/durable"
)

// A listing is what is kept of a tree besides the tree: enough to see later that nobody changed it.
type listing struct {
	Sum     string    `json:"sum"` // sha256 over path, mode, size, times and link target of every entry
	Entries int64     `json:"entries"`
	Bytes   int64     `json:"bytes"`
	Made    time.Time `json:"made"`
}

// readListing walks a tree. The time of the last change of an inode is part of the sum: nobody sets it without rights
// over the machine.
func readListing(dir string) (listing, error) {
	sum, rec := sha256.New(), listing{}
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil {
			return &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
		target := ""
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			if target, err = os.Readlink(name); err != nil {
				return err
			}
		}
		fmt.Fprintf(sum, "%q %o %d %d %d.%d %d.%d %q\n", name[len(dir):], st.Mode, st.Uid, st.Size,
			st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec, target)
		rec.Entries++
		rec.Bytes += st.Blocks * 512
		return nil
	})
	rec.Sum = hex.EncodeToString(sum.Sum(nil))
	return rec, err
}

// A PoisonedError is a cached tree that is no longer what was unpacked.
type PoisonedError struct{ Path string }

func (e *PoisonedError) Error() string {
	return e.Path + " was changed after it had been unpacked: it is not used"
}

// Verify compares a cached tree with what was unpacked; a difference is a *PoisonedError.
func (c *Cache) Verify(digest string) error {
	want, err := c.record(digest)
	if err != nil {
		return err
	}
	got, err := readListing(c.path(digest))
	if err != nil {
		return err
	}
	if got.Sum != want.Sum {
		return &PoisonedError{c.path(digest)}
	}
	return nil
}

func (c *Cache) record(digest string) (listing, error) {
	var rec listing
	text, err := os.ReadFile(c.path(digest) + ".json")
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(text, &rec); err != nil {
		return rec, fmt.Errorf("%s.json: %w", c.path(digest), err)
	}
	return rec, nil
}

// An Entry is one cached tree.
type Entry struct {
	Digest string    `json:"digest"`
	Bytes  int64     `json:"bytes"`
	Files  int64     `json:"files"`
	Made   time.Time `json:"made"`
	Used   time.Time `json:"used"`
}

// List gives the cached trees, the longest unused first.
func (c *Cache) List() ([]Entry, error) {
	names, err := os.ReadDir(c.sub("trees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []Entry
	for _, n := range names {
		digest := "sha256:" + n.Name()
		if !n.IsDir() || !validDigest(digest) {
			continue
		}
		rec, err := c.record(digest)
		if err != nil {
			rec = listing{} // counts as nothing, and is looked at when it is used
		}
		e := Entry{Digest: digest, Bytes: rec.Bytes, Files: rec.Entries, Made: rec.Made, Used: rec.Made}
		if used, err := lastUse(c, digest); err == nil {
			e.Used = used
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(a.Used.Compare(b.Used), strings.Compare(a.Digest, b.Digest))
	})
	return list, nil
}

// Surplus are the trees that would go so that all together have at most keep bytes: first those that unwanted tells of
// (nil: none), then the longest unused. Trees in use are not among them.
func (c *Cache) Surplus(keep int64, unwanted func(Entry) bool) (surplus []Entry, err error) {
	list, err := c.List()
	if err != nil {
		return nil, err
	}
	var sum int64
	var rest []Entry
	for _, e := range list {
		sum += e.Bytes
	}
	take := func(e Entry) error {
		lock, err := c.tryLock(e.Digest, unix.F_WRLCK)
		if errors.Is(err, errLocked) {
			return nil
		}
		if err != nil {
			return err
		}
		if used, err := lastUse(c, e.Digest); err == nil {
			e.Used = used // of a lock that was just made, too
		}
		sum, surplus = sum-e.Bytes, append(surplus, e)
		return lock.Close()
	}
	for _, e := range list {
		if unwanted == nil || !unwanted(e) {
			rest = append(rest, e)
		} else if err := take(e); err != nil {
			return nil, err
		}
	}
	for _, e := range rest {
		if sum <= keep {
			break
		}
		if err := take(e); err != nil {
			return nil, err
		}
	}
	return surplus, nil
}

// Remove takes trees away; those that somebody uses, or has used since they were listed, stay.
func (c *Cache) Remove(list []Entry) (removed []Entry, err error) {
	for _, e := range list {
		if used, err := lastUse(c, e.Digest); err == nil && used.After(e.Used) {
			continue
		}
		ok, err := c.remove(e.Digest)
		if err != nil {
			return removed, err
		}
		if ok {
			removed = append(removed, e)
		}
	}
	return removed, nil
}

// lastUse is when a job last took a tree.
func lastUse(c *Cache, digest string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(c.sub("locks"), hexOf(digest)))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Shrink removes the longest unused trees until all together have at most keep bytes. Trees in use stay.
func (c *Cache) Shrink(keep int64) (removed []Entry, err error) {
	list, err := c.Surplus(keep, nil)
	if err != nil {
		return nil, err
	}
	return c.Remove(list)
}

// remove takes a tree away unless somebody uses or makes it.
func (c *Cache) remove(digest string) (bool, error) {
	f, err := c.tryLock(digest, unix.F_WRLCK)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return true, c.discard(digest)
}

// discard removes a tree under its exclusive lock: first its name, then its files.
func (c *Cache) discard(digest string) error {
	gone := filepath.Join(c.sub("tmp"), fmt.Sprintf("%s.gone%d", hexOf(digest), os.Getpid()))
	if err := os.Rename(c.path(digest), gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	os.Remove(c.path(digest) + ".json")
	return removeTree(gone)
}

// sweep removes what unpackings of this digest that died left over; the caller has its exclusive lock.
func sweep(c *Cache, digest string) {
	left, _ := durable.Named(c.sub("tmp"), hexOf(digest)+".*")
	for _, dir := range left {
		removeTree(dir)
	}
}

// Sweep removes what unpackings and removals that died left over. Those that somebody is about stay.
func (c *Cache) Sweep() {
	left, _ := os.ReadDir(c.sub("tmp"))
	for _, e := range left {
		hex, _, _ := strings.Cut(e.Name(), ".")
		lock, err := c.tryLock("sha256:"+hex, unix.F_WRLCK)
		if err != nil {
			continue
		}
		removeTree(filepath.Join(c.sub("tmp"), e.Name()))
		lock.Close()
	}
}

// removeTree removes a tree whose folders may have lost their write permission.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// expansion is how much larger than its compressed layers a tree is taken to be before it is unpacked.
const expansion = 4

// A SpaceError is a disk without room for an image.
type SpaceError struct {
	Dir        string
	Need, Free int64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s has %d MB free, the image takes about %d MB", e.Dir, e.Free/1e6, e.Need/1e6)
}

// makeRoom shrinks the cache to its quota and to what the disk has, before anything is written.
func (c *Cache) makeRoom(ctx context.Context, img *image) error {
	need := img.unpacked()
	if _, err := c.Shrink(max(c.Bound()-need, 0)); err != nil {
		return err
	}
	free, err := freeBytes(c.Dir)
	if err == nil && free < need {
		c.Sweep()
		free, err = freeBytes(c.Dir)
	}
	for err == nil && free < need && ctx.Err() == nil {
		removed, shrinkErr := removeOne(c)
		if shrinkErr != nil {
			return shrinkErr
		}
		if !removed {
			return &SpaceError{c.Dir, need, free}
		}
		free, err = freeBytes(c.Dir)
	}
	return err
}

// removeOne removes the longest unused tree that nobody uses.
func removeOne(c *Cache) (bool, error) {
	list, err := c.List()
	if err != nil {
		return false, err
	}
	for _, e := range list {
		if ok, err := c.remove(e.Digest); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
