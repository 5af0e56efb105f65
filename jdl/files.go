package jdl

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// fileWait is how long a file may take: what says that it is one may be a source of the kernel's, which has nothing to say yet.
const fileWait = 10 * time.Second

var errSilent = fmt.Errorf("nothing came of it for %v", fileWait)

// opener opens a file that is to be read.
type opener func() (io.ReadCloser, error)

// fileOf is the file of a name below root.
func fileOf(root fs.FS, name string) opener {
	return func() (io.ReadCloser, error) { return root.Open(name) }
}

// readFile is the text of a file of at most 16 MB, whatever it says of its size.
func readFile(open opener) ([]byte, error) {
	text, err := readBegin(open, maxNodeFile+1)
	if err == nil && len(text) > maxNodeFile {
		err = fmt.Errorf("it is longer than %d MB", maxNodeFile>>20)
	}
	return text, err
}

// readBegin is the beginning of a file, of so many bytes at most.
func readBegin(open opener, most int64) ([]byte, error) {
	type begun struct {
		text []byte
		err  error
	}
	done := make(chan begun, 1)
	go func() {
		f, err := open()
		if err != nil {
			done <- begun{nil, cause(err)}
			return
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, most))
		done <- begun{text, cause(err)}
	}()
	select {
	case b := <-done:
		return b.text, b.err
	case <-time.After(fileWait):
		return nil, errSilent
	}
}

// Open opens a file of this machine, or one that the broker makes, and tells
// its size in bytes. The caller closes it. There is no more of it than it had when
// it was opened, however it grows. What has come to be no regular file
// since the description was read is an error: a pipe would never open, a device
// never end. So is one that says that it is empty, as files of the kernel's do, and
// has more than 16 MB, or nothing to say for ten seconds.
func (f InputFile) Open() (io.ReadCloser, int64, error) {
	if f.Text != "" {
		return io.NopCloser(strings.NewReader(f.Text)), int64(len(f.Text)), nil
	}
	in, err := os.OpenFile(f.Path(), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no regular file any more", f.Path())
	case err == nil && info.Size() == 0:
		return f.openEmpty(in)
	}
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return &opened{io.LimitedReader{R: in, N: info.Size()}, in}, info.Size(), nil
}

// openEmpty is a file that says that it is empty, and may not be.
func (f InputFile) openEmpty(in *os.File) (io.ReadCloser, int64, error) {
	text, err := readFile(func() (io.ReadCloser, error) { return in, nil })
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", f.Path(), err)
	}
	return io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
}

// opened is a file as long as it was when it was opened.
type opened struct {
	io.LimitedReader
	io.Closer
}

// WriteTo implements io.WriterTo: the system copies from file to file by itself.
func (o *opened) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, &o.LimitedReader) }
