package central

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// News implements plugins.Herald: of jobs that have ended. A scheduler of before holds no such questions, and refuses them.
func (b *Backend) News(ctx context.Context, endpoint, mark string) (ids []string, next string, err error) {
	c, err := b.client(ctx, endpoint)
	if err != nil {
		return nil, "", err
	}
	var out struct {
		Mark int64    `json:"mark"`
		Jobs []string `json:"jobs"`
	}
	err = c.do(ctx, "news", http.MethodGet, "/v1/jobs/news?since="+url.QueryEscape(cmp.Or(mark, "0")), nil, &out)
	ids = slices.DeleteFunc(out.Jobs, func(id string) bool { return len(id) > maxWord }) // no job's, and they are kept
	return ids, strconv.FormatInt(out.Mark, 10), err
}
