package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A taker unpacks into a sandbox what comes in pieces.
type taker struct {
	dir  string
	pipe *io.PipeWriter
	done chan error
}

// newTaker starts to unpack into a folder, files of no more bytes together than a machine can hold.
func newTaker(dir string, most int64) *taker {
	r, w := io.Pipe()
	k := &taker{dir, w, make(chan error, 1)}
	go func() {
		err := unpackSandbox(dir, most, r)
		r.CloseWithError(cmpError(err))
		k.done <- err
	}()
	return k
}

// cmpError is an error for whoever writes after the end.
func cmpError(err error) error {
	if err == nil {
		return io.ErrClosedPipe
	}
	return err
}

func unpackSandbox(dir string, most int64, r io.Reader) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := newUnpacker(root, Budget{Bytes: most, Entries: DefaultBudget.Entries})
	u.plain = true
	if err := u.apply(context.Background(), r); err != nil {
		return fmt.Errorf("the sandbox: %w", err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	return u.finish()
}

// write takes a piece; an empty one says nothing.
func (k *taker) write(piece []byte) error {
	if len(piece) == 0 {
		return nil
	}
	_, err := k.pipe.Write(piece)
	return err
}

// close waits until all is there.
func (k *taker) close() error {
	k.pipe.Close()
	return <-k.done
}

// remove takes away what a list of names in JSON has.
func (k *taker) remove(list []byte) error {
	var names []string
	if err := json.Unmarshal(list, &names); err != nil {
		return fmt.Errorf("the sandbox: %w", err)
	}
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		if name, err := entryName(name); err != nil || name == "." {
			return errors.Join(err, fmt.Errorf("the sandbox: %q is removed", name))
		}
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("the sandbox: %w", err)
		}
	}
	return nil
}

// A mark tells whether a file was touched: every change of it sets its time of change.
type mark struct {
	ino   uint64
	ctime syscall.Timespec
}

func markOf(info fs.FileInfo) mark {
	st := info.Sys().(*syscall.Stat_t)
	return mark{st.Ino, st.Ctim}
}

// marks are those of all that stands below a folder, by their path from there.
func marks(dir string) (map[string]mark, error) {
	list := map[string]mark{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		list[rel] = markOf(info)
		return err
	})
	return list, err
}
