package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/sftp"

	"gridbroker/plugins"
)

// download brings one file under root. It grows as NAME.part beside a mark that
// says of which version of the file it is the beginning; a part of another
// version is not continued.
type download struct {
	fsys     Files
	dir      string // the job's
	name     string // of the file in it
	root     *os.Root
	file     File
	progress plugins.Progress
}

func (d *download) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := d.file.Name
	if !filepath.IsLocal(name) || strings.Contains(name, "\x00") {
		return fmt.Errorf("%w: %q", errName, name)
	}
	if err := d.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	part, mark := plugins.PartName(name, ".part"), plugins.PartName(name, ".part-of")
	dst, err := d.open(part, mark)
	if err != nil {
		return err
	}
	if err = d.copyRest(dst); err == nil {
		err = dst.Sync()
	}
	if err = errors.Join(err, dst.Close()); err != nil {
		return err
	}
	if err := d.root.Rename(part, name); err != nil {
		return err
	}
	return d.root.Remove(mark)
}

// open opens the part: at its end where it is of this version, else empty.
func (d *download) open(part, mark string) (*os.File, error) {
	version := fmt.Sprintf("%d bytes of %d ns\n", d.file.Size, d.file.Modified.UnixNano())
	flags := os.O_CREATE | os.O_WRONLY
	if have, err := d.root.ReadFile(mark); err != nil || string(have) != version {
		flags |= os.O_TRUNC
	}
	dst, err := d.root.OpenFile(part, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if flags&os.O_TRUNC != 0 { // the part is empty before the mark speaks of it
		err = d.root.WriteFile(mark, []byte(version), 0o600)
	}
	if err == nil {
		err = dst.Chmod(d.mode())
	}
	if err != nil {
		dst.Close()
		return nil, err
	}
	return dst, nil
}

// errChanged is a file that grew or shrank while it was brought.
var errChanged = errors.New("it changed meanwhile")

// errName is a name that leads out of the directory, or that no file has.
var errName = errors.New("no file of a job can have such a name")

// ofOneFile tells errors that say nothing of the job's other files.
func ofOneFile(err error) bool {
	_, odd := errors.AsType[errOdd](err)
	_, out := errors.AsType[errOut](err)
	_, deep := errors.AsType[errDeep](err)
	_, refused := errors.AsType[*sftp.StatusError](err)
	return odd || out || deep || refused || plugins.OfOneFile(err) || errors.Is(err, errChanged) || errors.Is(err, errName)
}

// mode is the file's own, as far as the user is concerned: readable and
// writable by the user, executable where it was.
func (d *download) mode() os.FileMode { return 0o600 | d.file.Mode&0o100 }

// atATime is how many bytes of a file are asked for at once: over SSH so many come for one round trip, in packets of 32 kB.
const atATime = 2 << 20

// copyRest brings what is missing. A file that does not have the listed
// length, because it grew or shrank, is an error.
func (d *download) copyRest(dst *os.File) error {
	offset, err := dst.Seek(0, io.SeekEnd)
	if err == nil && offset > d.file.Size {
		if err = dst.Truncate(0); err == nil {
			offset, err = dst.Seek(0, io.SeekStart)
		}
	}
	if err != nil {
		return err
	}
	src, size, err := d.fsys.Get(d.dir, d.name, offset)
	if err != nil {
		return err
	}
	defer src.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{dst}, io.LimitReader(src, d.file.Size-offset), make([]byte, min(atATime, max(1, d.file.Size-offset))))
	if d.progress != nil {
		d.progress.Step("fetch", offset+n, d.file.Size)
	}
	if err == nil && (offset+n != d.file.Size || size != d.file.Size) {
		err = fmt.Errorf("%s has %d bytes and was listed with %d: %w", strings.TrimSpace(d.file.Name), max(size, offset+n), d.file.Size, errChanged)
	}
	return err
}
