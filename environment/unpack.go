package environment

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// A Budget bounds what one image may unpack to. Compressed layers say nothing of their size: a gigabyte of zeros is 31
// kB of zstd.
type Budget struct {
	Bytes   int64 // of all files together, holes counted
	Entries int64 // files, folders, links
	Names   int64 // bytes of their names, with the folders that they are in; 0: as DefaultBudget has it
}

// DefaultBudget is what an image may unpack to where the site says nothing: 20 GB in a million entries. Their names are kept
// while a layer is unpacked, and may be of 250 bytes each.
var DefaultBudget = Budget{Bytes: 20e9, Entries: 1e6, Names: 250e6}

// An UnpackError is an image that is refused, with the entry that was the cause.
type UnpackError struct{ Entry, Why string }

func (e *UnpackError) Error() string {
	return fmt.Sprintf("image refused: entry %q %s", e.Entry, e.Why)
}

// maxPath bounds an entry's name in bytes, and maxDepth its parts.
const (
	maxPath  = 4096
	maxDepth = 128
)

// An unpacker writes the layers of one image, lowest first, into an empty folder. Its rules: everything belongs to the
// user who unpacks; no set-id bits, devices, FIFOs or extended attributes; folders stay writable and files readable
// for their owner until the end; every path is resolved inside the tree, links with absolute targets too.
type unpacker struct {
	root   *os.Root
	left   Budget
	heads  int64                 // bytes that may come beside what is in files, see headers
	plain  bool                  // no layer of an image: names of whiteouts are files like others
	folder map[string]folderMeta // modes and times, applied last
	below  map[string][]string   // the folders that were made in a folder, so that nobody has to look for them
	layer  map[string]bool       // what the present layer made; opaque whiteouts spare it
	bare   map[string]bool       // folders that the present layer has hidden all of already

	at     *os.Root // the folder of the last entry, open: most entries lie where the one before did
	atName string   // its path without links
	asked  string   // its path in the archive
	buffer []byte
}

// enter opens the folder of an entry, which stays open until an entry of another one comes or something is removed.
func (u *unpacker) enter(dir string) (string, error) {
	if u.at != nil && u.asked == dir {
		return u.atName, nil
	}
	u.leave()
	name, err := u.resolve(dir, true)
	if err != nil {
		return "", err
	}
	if u.at, err = u.root.OpenRoot(name); err != nil {
		u.at = nil
		return "", err
	}
	u.asked, u.atName = dir, name
	return name, nil
}

// leave forgets the open folder.
func (u *unpacker) leave() {
	if u.at != nil {
		u.at.Close()
		u.at = nil
	}
}

// in is the folder to reach a resolved path from, and the path from there.
func (u *unpacker) in(name string) (*os.Root, string) {
	if u.at != nil && path.Dir(name) == u.atName {
		return u.at, path.Base(name)
	}
	return u.root, name
}

type folderMeta struct {
	mode fs.FileMode
	time time.Time
}

func newUnpacker(root *os.Root, budget Budget) *unpacker {
	if budget.Names == 0 {
		budget.Names = DefaultBudget.Names
	}
	return &unpacker{root: root, left: budget, heads: 1<<20 + headersOfEntry*min(budget.Entries, 1<<32), folder: map[string]folderMeta{}, below: map[string][]string{}, buffer: make([]byte, 256<<10)}
}

// apply unpacks one layer's tar stream.
func (u *unpacker) apply(ctx context.Context, layer io.Reader) error {
	u.layer, u.bare = map[string]bool{}, map[string]bool{}
	defer u.leave()
	in := &headers{u, layer, 0}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("image layer: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if in.body, err = u.body(h); err != nil {
			return err
		}
		if err := u.entry(h, r); err != nil {
			return u.explain(h.Name, err)
		}
	}
}

// body counts what stands behind an entry's header, whatever becomes of it: of whiteouts, which nobody writes out, a few
// bytes of zstd make terabytes as well. Only files have bodies; what other entries say of their size is not read.
func (u *unpacker) body(h *tar.Header) (int64, error) {
	if h.Typeflag != tar.TypeReg {
		return 0, nil
	}
	if u.left.Bytes -= h.Size; h.Size < 0 || u.left.Bytes < 0 {
		return 0, &UnpackError{h.Name[:min(len(h.Name), 64)], "makes the image larger than is allowed"}
	}
	return h.Size, nil
}

// headersOfEntry is how many bytes of headers, records and padding an entry may have on the average.
const headersOfEntry = 4 << 10

// headers bounds what an archive says beside what is in its files: records and long names without an entry are in no other
// bound, and a few bytes of zstd make terabytes of them.
type headers struct {
	u    *unpacker
	r    io.Reader
	body int64 // bytes of the present file that have not come
}

var errHeaders = errors.New("there is more in its headers than its entries may have")

func (h *headers) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	of := min(h.body, int64(n))
	h.body -= of
	if h.u.heads -= int64(n) - of; h.u.heads < 0 {
		return 0, errHeaders
	}
	return n, err
}

// explain names the entry; a full disk stays what it is.
func (u *unpacker) explain(name string, err error) error {
	if _, ok := errors.AsType[*UnpackError](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("image entry %q: %w", name, err)
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	if u.left.Entries--; u.left.Entries < 0 {
		return &UnpackError{h.Name, "is one too many: the image has more entries than are allowed"}
	}
	name, err := entryName(h.Name)
	if err != nil {
		return err
	}
	if name == "." {
		if h.Typeflag != tar.TypeDir {
			return &UnpackError{h.Name, "would replace the tree itself"}
		}
		return nil // the top folder is ours: 0755
	}
	dir, err := u.enter(path.Dir(name))
	if err != nil {
		return err
	}
	if u.left.Names -= int64(len(dir) + 1 + len(path.Base(name))); u.left.Names < 0 {
		return &UnpackError{h.Name[:min(len(h.Name), 64)], "has one name too many: those of the image are longer together than is allowed"}
	}
	if base := path.Base(name); !u.plain && strings.HasPrefix(base, ".wh.") {
		return u.whiteout(h.Name, dir, base)
	}
	return u.make(h, r, path.Join(dir, path.Base(name)))
}

// entryName checks a name of the archive and gives its clean relative form.
func entryName(name string) (string, error) {
	switch {
	case len(name) > maxPath:
		return "", &UnpackError{name[:64] + "...", "is too long"}
	case path.IsAbs(name):
		return "", &UnpackError{name, "is absolute"}
	case strings.Count(name, "/") > maxDepth:
		return "", &UnpackError{name[:min(len(name), 64)], "is too deep"}
	case strings.ContainsRune(name, 0):
		return "", &UnpackError{name, "has a zero byte"}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", &UnpackError{name, "climbs"}
		}
	}
	return path.Clean(name), nil
}

// make creates one entry at the resolved path.
func (u *unpacker) make(h *tar.Header, r io.Reader, name string) error {
	switch h.Typeflag {
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return u.clear(name) // the launcher gives its own /dev
	case tar.TypeDir:
		return u.mkdir(h, name)
	}
	if err := u.clear(name); err != nil {
		return err
	}
	u.layer[name] = true
	switch h.Typeflag {
	case tar.TypeReg:
		return u.file(h, r, name)
	case tar.TypeSymlink:
		if len(h.Linkname) > maxPath {
			return &UnpackError{h.Name, "leads to a name that is too long"}
		}
		folder, base := u.in(name)
		return folder.Symlink(h.Linkname, base)
	case tar.TypeLink:
		return u.link(h, name)
	}
	return &UnpackError{h.Name, fmt.Sprintf("is of type %q, which images do not need", h.Typeflag)}
}

// mode is what an entry's mode is in the tree. Nobody but its owner may write there, whatever an image says: its cache may
// be one that other users of the node reach.
func (u *unpacker) mode(h *tar.Header) fs.FileMode {
	mode := h.FileInfo().Mode().Perm()
	if u.plain {
		return mode
	}
	return mode &^ 0o022
}

func (u *unpacker) mkdir(h *tar.Header, name string) error {
	folder, base := u.in(name)
	info, err := folder.Lstat(base)
	switch {
	case err == nil && !info.IsDir():
		if err := u.clear(name); err != nil {
			return err
		}
		fallthrough
	case errors.Is(err, fs.ErrNotExist):
		if err := u.root.Mkdir(name, 0o700); err != nil {
			return err
		}
		u.made(name)
	case err != nil:
		return err
	}
	u.layer[name] = true
	u.folder[name] = folderMeta{u.mode(h) | 0o700, h.ModTime}
	return nil
}

func (u *unpacker) file(h *tar.Header, r io.Reader, name string) error {
	mode := u.mode(h) | 0o400
	folder, base := u.in(name)
	f, err := folder.OpenFile(base, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, r, u.buffer)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return folder.Chtimes(base, h.ModTime, h.ModTime)
}

// link makes a hard link to a file that the image brought itself.
func (u *unpacker) link(h *tar.Header, name string) error {
	target, err := entryName(h.Linkname)
	if err != nil {
		return err
	}
	dir, err := u.resolve(path.Dir(target), false)
	if err != nil {
		return err
	}
	target = path.Join(dir, path.Base(target))
	info, err := u.root.Lstat(target)
	if err != nil || info.IsDir() {
		return &UnpackError{h.Name, fmt.Sprintf("links to %q, which is no file of the image", h.Linkname)}
	}
	return u.root.Link(target, name)
}

// clear removes what a lower layer, or an earlier entry, left at name.
func (u *unpacker) clear(name string) error {
	folder, base := u.in(name)
	info, err := folder.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		u.forget(name)
	}
	u.leave() // its folder may be what is removed
	return u.root.RemoveAll(name)
}

// made notes a new folder.
func (u *unpacker) made(folder string) {
	parent := path.Dir(folder)
	u.below[parent] = append(u.below[parent], folder)
}

// forget drops the modes kept for a folder that is removed, and for those below it.
func (u *unpacker) forget(name string) {
	list := u.below[name]
	delete(u.folder, name)
	delete(u.below, name)
	for _, folder := range list {
		u.forget(folder)
	}
}

// opaque is the whiteout that hides all that lower layers put into its folder.
const opaque = ".wh..wh..opq"

func (u *unpacker) whiteout(entry, dir, base string) error {
	if base == opaque {
		return u.empty(dir)
	}
	hidden := strings.TrimPrefix(base, ".wh.")
	if hidden == "" || hidden == "." || hidden == ".." || strings.HasPrefix(hidden, ".wh.") {
		return &UnpackError{entry, "hides no name"}
	}
	return u.hide(path.Join(dir, hidden))
}

// empty hides all that lower layers put into a folder, once: after that all that is in it is of the present layer.
func (u *unpacker) empty(dir string) error {
	if u.bare[dir] {
		return nil
	}
	u.bare[dir] = true
	list, err := fs.ReadDir(u.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := u.hide(path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// hide removes what lower layers put at a path and below. What the present layer made stays, wherever in it the whiteout
// stands, and so do the folders on the way to that (see step).
func (u *unpacker) hide(name string) error {
	if !u.layer[name] {
		return u.clear(name)
	}
	if info, err := u.root.Lstat(name); err != nil || !info.IsDir() {
		return err
	}
	return u.empty(name)
}
