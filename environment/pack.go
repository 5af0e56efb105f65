package environment

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// packer writes a folder as a tar archive.
type packer struct {
	root *os.Root
	w    *tar.Writer
	want func(name string, info fs.FileInfo) bool
	seen map[inode]string // names of files with several links
}

type inode struct{ dev, ino uint64 }

// writeTar writes what stands below dir, in the order of names, owned by root. Nothing is followed out of it.
func writeTar(ctx context.Context, w io.Writer, dir string) error {
	return writeSome(ctx, w, dir, func(string, fs.FileInfo) bool { return true })
}

// writeSome writes those entries below dir that are wanted.
func writeSome(ctx context.Context, w io.Writer, dir string, want func(name string, info fs.FileInfo) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	p := &packer{root: root, want: want, w: tar.NewWriter(w), seen: map[inode]string{}}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil || name == "." {
			return err
		}
		return p.entry(name)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return p.w.Close()
}

func (p *packer) entry(name string) error {
	info, err := p.root.Lstat(name)
	if err != nil {
		return err
	}
	if !p.want(name, info) {
		return nil
	}
	link := ""
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		if link, err = p.root.Readlink(name); err != nil {
			return err
		}
	case 0, fs.ModeDir:
	default:
		return nil // devices, pipes, sockets
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.Format = name, 0, 0, "", "", tar.FormatPAX
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{} // they change without the content
	if info.IsDir() {
		h.Name += "/"
	}
	first := p.linked(name, info)
	if first != "" {
		h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
	}
	if err := p.w.WriteHeader(h); err != nil {
		return err
	}
	if first != "" || !info.Mode().IsRegular() {
		return nil
	}
	return p.body(name)
}

// linked gives the name under which a file with several links was written already.
func (p *packer) linked(name string, info fs.FileInfo) string {
	var st unix.Stat_t
	if !info.Mode().IsRegular() || p.stat(name, &st) != nil || st.Nlink < 2 {
		return ""
	}
	id := inode{uint64(st.Dev), st.Ino}
	if first := p.seen[id]; first != "" {
		return first
	}
	p.seen[id] = name
	return ""
}

func (p *packer) stat(name string, st *unix.Stat_t) error {
	dir, err := p.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Fstatat(int(dir.Fd()), path.Base(name), st, unix.AT_SYMLINK_NOFOLLOW)
}

func (p *packer) body(name string) error {
	f, err := p.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(p.w, f)
	return err
}
