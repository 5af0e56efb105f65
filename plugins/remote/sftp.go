package remote

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"github.com/pkg/sftp"
)

// remoteFiles are the files of a machine over SFTP.
type remoteFiles struct {
	client *sftp.Client
	said   *bounded
	end    func() error
}

// What a list of files may take: names of a hundred thousand with what is known of
// each, in so many directories.
const (
	maxListed = 64 << 20
	maxDirs   = 5_000
)

// bounded is what a server says; it is told to be quiet when that is too much.
type bounded struct {
	in   io.Reader
	left atomic.Int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left.Load() <= 0 {
		return 0, errTooLong
	}
	n, err := b.in.Read(p)
	b.left.Add(int64(-n))
	return n, err
}

func (r *remoteFiles) Put(name string, mode fs.FileMode, src io.Reader) error {
	if err := r.mkdirs(path.Dir(name)); err != nil {
		return err
	}
	f, err := r.client.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return err
	}
	err = f.Chmod(mode) // before the first byte is there to be read
	if err == nil {
		_, err = f.ReadFrom(src)
	}
	return errors.Join(err, f.Close())
}

// mkdirs makes missing directories, closed to others.
func (r *remoteFiles) mkdirs(dir string) error {
	info, err := r.client.Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if parent := path.Dir(dir); parent != dir {
		if err := r.mkdirs(parent); err != nil {
			return err
		}
	}
	if err := r.client.Mkdir(dir); err != nil {
		if info, serr := r.client.Stat(dir); serr == nil && info.IsDir() {
			return nil // somebody else was faster
		}
		return err
	}
	return r.client.Chmod(dir, 0o700)
}

func (r *remoteFiles) Get(name string, offset int64) (io.ReadCloser, int64, error) {
	// Looked at before it is opened: the server would wait for a pipe's writer.
	info, err := r.client.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errOdd(name)
	}
	f, err := r.client.Open(name)
	if err != nil {
		return nil, 0, err
	}
	return opened(f, info, nil, offset)
}

func (r *remoteFiles) List(dir string) ([]File, error) {
	r.said.left.Store(maxListed)
	defer r.said.left.Store(math.MaxInt64)
	var found []File
	dirs := 0
	for w := r.client.Walk(dir); w.Step(); {
		if err := w.Err(); errors.Is(err, fs.ErrPermission) && w.Path() != dir { // told when it is to be brought
			found = append(found, File{Name: strings.TrimPrefix(w.Path(), dir+"/")})
			continue
		} else if err != nil {
			if r.said.left.Load() <= 0 {
				err = errTooLong
			}
			return nil, err
		}
		info := w.Stat()
		if info.IsDir() {
			if dirs++; dirs > maxDirs {
				return nil, errTooLong
			}
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			var err error
			if info, err = r.client.Stat(w.Path()); err != nil {
				continue // a link to nothing
			}
		}
		if !info.Mode().IsRegular() {
			continue
		}
		found = append(found, fileOf(strings.TrimPrefix(w.Path(), dir+"/"), info))
		if len(found) > maxFiles {
			return nil, errTooLong
		}
	}
	return found, nil
}

func (r *remoteFiles) Close() error { return r.end() }
