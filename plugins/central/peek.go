package central

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"gridbroker/plugins"
)

// Peek implements plugins.Peeker: a scheduler has the files of jobs that have ended.
func (b *Backend) Peek(ctx context.Context, h plugins.Handle, name string, offset int64, w io.Writer) (int64, error) {
	c, err := b.client(ctx, h.Endpoint)
	if err != nil {
		return 0, err
	}
	body, err := c.raw(ctx, question{op: "peek at " + name, method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(h.ID) + "/files/" + escaped(name), file: true})
	if errors.Is(err, errGone) {
		return 0, c.missing(ctx, h, name)
	}
	if err != nil || offset >= int64(len(body)) {
		return 0, err
	}
	n, err := w.Write(body[offset:])
	return int64(n), err
}

// missing says why a file of a job is not there.
func (c *client) missing(ctx context.Context, h plugins.Handle, name string) error {
	got, err := c.views(ctx, []plugins.Handle{h}, []int{0})
	v, known := got[h.ID]
	e := &plugins.Error{Kind: plugins.Refused, Op: "peek at " + name, Endpoint: c.endpoint}
	switch {
	case err != nil:
		return err
	case !known:
		if err := c.notOurs("peek", h); err != nil {
			return err
		}
		return c.unknown("peek")
	case !v.Plugins.Final():
		e.Said = fmt.Sprintf("the job is %s: a scheduler has its files when it has ended", v.State)
	default:
		e.Err = fmt.Errorf("the scheduler does not keep %s: %w", name, fs.ErrNotExist)
	}
	return e
}
