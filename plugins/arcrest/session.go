package arcrest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"gridbroker/plugins"
)

// one returns the client for a single job.
func (b *Backend) one(ctx context.Context, op string, h plugins.Handle) (*client, error) {
	if !validID(h.ID) {
		return nil, &plugins.Error{Kind: plugins.Invalid, Op: op, Endpoint: h.Endpoint, Said: "this is no job id of ARC: " + h.ID}
	}
	return b.client(ctx, op, h.Endpoint, h.Owner)
}

// Log implements plugins.Logger: why the job failed, when it did, and the grid
// manager's log of it with that of the batch system.
func (b *Backend) Log(ctx context.Context, h plugins.Handle, w io.Writer) error {
	c, err := b.one(ctx, "log", h)
	if err != nil {
		return err
	}
	failed, err := c.diagnose(ctx, "log", h.ID, "failed", maxDiag)
	if err != nil {
		return err
	}
	log, err := c.diagnose(ctx, "log", h.ID, "errors", maxAnswer)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		failed = fmt.Appendf(nil, "failed: %s\n", bytes.TrimSpace(failed))
	}
	_, err = w.Write(append(failed, log...))
	return err
}

// Peek implements plugins.Peeker with a Range request for the session file.
func (b *Backend) Peek(ctx context.Context, h plugins.Handle, name string, offset int64, w io.Writer) (int64, error) {
	c, err := b.one(ctx, "peek", h)
	if err != nil {
		return 0, err
	}
	resp, err := c.open(ctx, "peek at "+name, h.ID, name, offset, "")
	if e, ok := errors.AsType[*plugins.Error](err); ok && strings.HasPrefix(e.Said, "404 ") {
		e.Err = fs.ErrNotExist
	}
	if err != nil || resp == nil {
		return 0, err
	}
	defer resp.Body.Close()
	if offset > 0 && resp.StatusCode != http.StatusPartialContent {
		if _, err := io.CopyN(io.Discard, resp.Body, offset); err != nil {
			return 0, ignoreEOF(err)
		}
	}
	n, err := io.Copy(w, resp.Body)
	if err != nil {
		return n, c.fail(plugins.Unavailable, "peek at "+name, "", err)
	}
	return n, nil
}

// open starts to read a session file at an offset, if it is still the one with
// that validator ("": not known). A nil response means that the file has no
// more than that, any other than 206 that it comes from its beginning.
func (c *client) open(ctx context.Context, op, id, name string, offset int64, validator string) (*http.Response, error) {
	path := c.jobs("/" + id + "/session/" + escape(name))
	ca := &call{op: op, method: http.MethodGet, path: path, scope: scopeRead, header: map[string]string{"Accept": "*/*"}}
	if offset > 0 {
		ca.header["Range"] = fmt.Sprintf("bytes=%d-", offset)
		ca.also = http.StatusRequestedRangeNotSatisfiable
		if validator != "" {
			ca.header["If-Range"] = validator
		}
	}
	resp, err := c.send(ctx, ca)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return nil, resp.Body.Close()
	}
	return resp, nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
