package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"

	"gridbroker/plugins"
)

// pipe is a session of SFTP.
type pipe struct {
	out io.Reader      // what the server says
	in  io.WriteCloser // what it is told
	end func() error
	cut func() // ends it, whatever the server does
}

// remoteFiles are the files of a machine over SFTP.
type remoteFiles struct {
	client   *sftp.Client
	said     *bounded
	patience time.Duration // with an answer
	end      func() error
	cut      func()
	known    sync.Map // real names of directories of jobs, by those that we have for them
}

// newRemote speaks SFTP over two pipes. The end of ctx, and closing the files, end
// the session, whatever the server does: one that stays silent, or says a byte at a
// time, keeps nobody.
func newRemote(ctx context.Context, p pipe, patience time.Duration) (Files, error) {
	answers, said := io.Pipe()
	go func() {
		_, err := io.Copy(said, p.out)
		said.CloseWithError(err)
	}()
	r := &remoteFiles{said: &bounded{in: answers}, patience: patience, cut: func() { _ = answers.Close(); p.cut() }}
	r.said.left.Store(math.MaxInt64)
	stop := context.AfterFunc(ctx, r.cut)
	err := r.within(patience, func(*time.Timer) (err error) {
		r.client, err = sftp.NewClientPipe(r.said, p.in)
		return err
	})
	if err != nil {
		stop()
		_, _, _ = answers.Close(), p.in.Close(), p.end()
		return nil, &DialError{fmt.Errorf("sftp: %w", err)}
	}
	r.end = func() error {
		stop()
		_, _ = answers.Close(), r.client.Close()
		return p.end()
	}
	return r, nil
}

// within does what waits for answers. Where they have not come in time, by a timer that
// may be set anew, the session ends.
func (r *remoteFiles) within(limit time.Duration, do func(*time.Timer) error) error {
	var late atomic.Bool
	timer := time.AfterFunc(limit, func() { late.Store(true); r.cut() })
	defer timer.Stop()
	err := do(timer)
	if err != nil && late.Load() {
		return ErrSlow
	}
	return err
}

// What a list of files may take: names of a hundred thousand with what is known of
// each, in so many directories.
const (
	maxListed = 64 << 20
	maxDirs   = 5_000
	listTime  = 20 // in the time of an answer
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
	return r.within(r.patience, func(timer *time.Timer) error {
		if err := r.mkdirs(path.Dir(name)); err != nil {
			return err
		}
		f, err := r.client.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
		if err != nil {
			return err
		}
		err = f.Chmod(mode) // before the first byte is there to be read
		if err == nil {
			_, err = f.ReadFrom(&sending{src, timer, r.patience})
		}
		return errors.Join(err, f.Close())
	})
}

// sending is a file of which the server takes each piece, of 32 KiB, in time.
type sending struct {
	io.Reader
	timer    *time.Timer
	patience time.Duration
}

func (s *sending) Read(p []byte) (int, error) {
	s.timer.Reset(s.patience)
	return s.Reader.Read(p)
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

func (r *remoteFiles) Get(dir, name string, offset int64) (src io.ReadCloser, size int64, err error) {
	err = r.within(r.patience, func(*time.Timer) error {
		jobs, err := r.jobs(dir)
		if err != nil {
			return err
		}
		at, err := within(jobs, r.client.RealPath, dir, name)
		if err != nil {
			return err
		}
		// Looked at before it is opened: the server would wait for a pipe's writer.
		info, err := r.client.Stat(at)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errOdd(path.Join(dir, name))
		}
		f, err := r.client.Open(at)
		if err != nil {
			return err
		}
		src, size, err = opened(f, info, nil, offset)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return &reading{plugins.Paced{From: src, Grace: 2 * r.patience, End: r.cut}, src, r}, size, nil
}

// jobs is the real name of the directory in which that of a job lies. The server is asked once.
func (r *remoteFiles) jobs(dir string) (string, error) {
	at := path.Dir(dir)
	if known, ok := r.known.Load(at); ok {
		return known.(string), nil
	}
	real, err := r.client.RealPath(at)
	if err == nil {
		r.known.Store(at, real)
	}
	return real, err
}

// reading is a file that is given up when it comes too slowly. It is read piece by
// piece: of pieces that are asked for at once a short one would leave a gap.
type reading struct {
	plugins.Paced
	file io.Closer
	of   *remoteFiles
}

// Close implements io.Closer.
func (f *reading) Close() error {
	return f.of.within(f.of.patience, func(*time.Timer) error { return f.file.Close() })
}

func (r *remoteFiles) List(dir string) (found []File, err error) {
	err = r.within(listTime*r.patience, func(*time.Timer) (err error) {
		found, err = r.list(dir)
		return err
	})
	return found, err
}

func (r *remoteFiles) list(dir string) ([]File, error) {
	r.said.left.Store(maxListed)
	defer r.said.left.Store(math.MaxInt64)
	var found []File
	dirs := 0
	for w := r.client.Walk(dir); w.Step(); {
		name := strings.TrimPrefix(w.Path(), dir+"/")
		if err := w.Err(); err != nil {
			switch {
			case r.said.left.Load() <= 0:
				return nil, errTooLong
			case w.Path() == dir || !ofOneFile(err):
				return nil, err
			case !errors.Is(err, fs.ErrNotExist): // else it has gone meanwhile
				found = append(found, File{Name: name, Err: err})
			}
			continue
		}
		info := w.Stat()
		if info.IsDir() {
			if dirs++; dirs > maxDirs {
				return nil, errTooLong
			}
			if w.Path() != dir && plugins.TooDeep(name) {
				found = append(found, File{Name: name, Err: errDeep(name)})
				w.SkipDir()
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
		found = append(found, fileOf(name, info))
		if len(found) > maxFiles {
			return nil, errTooLong
		}
	}
	return found, nil
}

func (r *remoteFiles) Close() error {
	return r.within(r.patience, func(*time.Timer) error { return r.end() })
}
