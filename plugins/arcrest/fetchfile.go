package arcrest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"

	"gridbroker/plugins"
)

// fetchAttempts is how often a file is begun, or gone on with, when the
// connection breaks.
const fetchAttempts = 3

// file brings one file to name below the root, going on where an earlier
// attempt ended.
func (d *download) file(ctx context.Context, name string, f remote) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return d.local(err)
	}
	out, err := d.root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return d.local(err)
	}
	for range fetchAttempts {
		if err = d.rest(ctx, out, f); err == nil || ctx.Err() != nil {
			break
		}
		if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind != plugins.Unavailable {
			break
		}
	}
	return errors.Join(err, d.local(out.Close()))
}

// rest appends what is missing.
func (d *download) rest(ctx context.Context, out *os.File, f remote) error {
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return d.local(err)
	}
	if have > f.Size { // another file than the one begun
		if have, err = 0, out.Truncate(0); err != nil {
			return d.local(err)
		}
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			return d.local(err)
		}
	}
	if have == f.Size {
		d.meter.step(f.Size)
		return nil
	}
	return d.get(ctx, out, f, have)
}

func (d *download) get(ctx context.Context, out *os.File, f remote, have int64) error {
	op := "download " + f.Name
	resp, err := d.c.open(ctx, op, d.id, f.Name, have)
	if err != nil || resp == nil {
		return err
	}
	defer resp.Body.Close()
	d.meter.step(have)
	n, err := io.Copy(&counted{out, d.meter}, resp.Body)
	if err != nil {
		d.meter.step(-have - n) // counted again when it is gone on with
		return d.c.fail(plugins.Unavailable, op, "", err)
	}
	if whole := resp.ContentLength; have+n < f.Size && resp.StatusCode != http.StatusOK || whole >= 0 && n < whole {
		d.meter.step(-have - n)
		return d.c.fail(plugins.Unavailable, op, fmt.Sprintf("ended after %d of %d bytes", have+n, f.Size), io.ErrUnexpectedEOF)
	}
	return nil
}

// counted tells the meter of every write.
type counted struct {
	w io.Writer
	m *meter
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.m.step(int64(n))
	return n, err
}
