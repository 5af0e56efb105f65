package central

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// Fetch implements plugins.Fetcher.
func (b *Backend) Fetch(ctx context.Context, jobs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	hs := make([]plugins.Handle, len(jobs))
	for i := range jobs {
		hs[i] = jobs[i].Handle
	}
	out := make([]plugins.FetchResult, len(jobs))
	b.each(ctx, hs, func(c *client, err error, places []int) {
		var got map[string]view
		if err == nil {
			got, err = c.views(ctx, hs, places)
		}
		for _, i := range places {
			v, known := got[hs[i].ID]
			switch {
			case err != nil:
				out[i].Err = err
			case !known:
				out[i].Err = cmp.Or(c.notOurs("fetch", hs[i]), c.unknown("fetch"))
			default:
				out[i] = c.fetch(ctx, jobs[i], v)
			}
		}
	})
	return out
}

// unknown is a job that the scheduler does not have, or has of somebody else.
func (c *client) unknown(op string) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: c.endpoint, Said: "no such job"}
}

// maxOutput is how many files of a job are brought.
const maxOutput = 100_000

// fetch brings the files of one job that the scheduler has kept. A name that cannot
// be, or a file that is gone, keeps none of the others back.
func (c *client) fetch(ctx context.Context, q plugins.FetchRequest, v view) (r plugins.FetchResult) {
	if len(v.Output) > maxOutput {
		return plugins.FetchResult{Err: &plugins.Error{Kind: plugins.Refused, Op: "fetch", Endpoint: c.endpoint, Said: fmt.Sprintf("it lists %d files", len(v.Output))}}
	}
	root, err := durable.OwnRoot(q.Dir, 0o700)
	if err != nil {
		return plugins.FetchResult{Err: err}
	}
	defer root.Close()
	alone, err := durable.Alone(ctx, root)
	if err != nil {
		return plugins.FetchResult{Err: err}
	}
	defer alone.Close()
	pace := plugins.Pace{Grace: 5 * answerTime}
	for _, name := range v.Output {
		if len(q.Want) > 0 && !plugins.Wanted(name, q.Want) {
			continue
		}
		size, err := c.bring(ctx, root, q, v.ID, name)
		if late := pace.Did(plugins.Named + size); err == nil && late != nil {
			err = &plugins.Error{Kind: plugins.Unavailable, Op: "fetch", Endpoint: c.endpoint, Err: late}
		}
		if err == nil {
			r.Files = append(r.Files, name)
			continue
		}
		r.Err = cmp.Or(r.Err, err)
		if e, ok := errors.AsType[*plugins.Error](err); ctx.Err() != nil || !ok || e.Kind != plugins.Refused {
			break
		}
	}
	r.Err = cmp.Or(r.Err, durable.SyncNames(root, r.Files))
	for _, want := range q.Want {
		if r.Err == nil && !slices.ContainsFunc(r.Files, func(name string) bool { return plugins.Wanted(name, []string{want}) }) {
			r.Err = &plugins.Error{Kind: plugins.Refused, Op: "fetch " + want, Endpoint: c.endpoint, Said: "the scheduler does not keep it", Hint: "grid log tells why"}
		}
	}
	return r
}

// bring brings one file, and tells its size.
func (c *client) bring(ctx context.Context, root *os.Root, q plugins.FetchRequest, job, name string) (int64, error) {
	local, err := filepath.Localize(path.Clean(name))
	if err != nil || name == "" || local == "." {
		return 0, &plugins.Error{Kind: plugins.Refused, Op: "fetch", Endpoint: c.endpoint, Said: fmt.Sprintf("no file of a job is called %q", name)}
	}
	body, err := c.raw(ctx, question{op: "fetch " + name, method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(job) + "/files/" + escaped(name), file: true})
	if err != nil {
		return 0, err
	}
	if err := q.Room.Take(q.Dir, c.endpoint, name, int64(len(body))); err != nil {
		return 0, err
	}
	err = write(root, local, body)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EEXIST) { // the name of another one, too
		err = &plugins.Error{Kind: plugins.Refused, Op: "fetch " + name, Endpoint: c.endpoint, Err: err}
	}
	return int64(len(body)), err
}

func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// write puts a file below a directory, and never outside of it: whole, or not at all.
func write(root *os.Root, name string, body []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	part := plugins.PartName(name, ".grid-part")
	f, err := root.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		_ = root.Remove(part)
	}
	return err
}
